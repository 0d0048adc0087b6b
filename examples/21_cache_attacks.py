"""Attacks on the cache of machine code: other users, damage and full disks
========================================================================

Every line of the table is a fresh process that computes a Gram matrix after a change to the cache.
Planted code creates a file when it runs.  "ran" shows whether that file exists, and "right" whether
the matrix equals that of the exact interpreter.  "compiled" is the number of functions that were
not read from disk, and "warned" the number of warnings.  ``formulakern/cache.py`` lists the checks.

In a shell::

    python examples/21_cache_attacks.py             two minutes; root has more lines: it can
                                                    give files away and mount small disks
    python examples/21_cache_attacks.py --fuzz 200  more processes, after random damage
    python examples/21_cache_attacks.py --quick     a small function instead of a kernel
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import py_compile
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

import formulakern as fk
from formulakern import cache
from formulakern.compilation import compiled

FORMULA = "(a & ~b) | c"
STRANGER = 12_345
ROOT = os.name == "posix" and os.geteuid() == 0


def values(backend: str) -> str:
    """Return a digest of a Gram matrix."""
    X = np.random.default_rng(0).integers(0, 2, (60, 40), dtype=np.uint8)
    gram = np.asarray(fk.kernel(FORMULA, backend=backend)(X), dtype=float)
    return hashlib.sha256(gram.tobytes()).hexdigest()


def double(n: int) -> int:
    return 2 * n


def victim(quick: bool) -> None:
    """Compute; print the values and the number of functions that were not read from disk."""
    load, missed = cache.load, 0

    def counted(digest: str) -> bytes | None:
        nonlocal missed
        content = load(digest)
        missed += content is None
        return content

    cache.load = counted
    found = compiled("int64(int64)")(double)(21) if quick else values("numba")
    print(found, missed, flush=True)


# -- the scene -------------------------------------------------------------------------------------


class Planted:
    """An object that creates a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch '{self.mark}'",)


@dataclass
class Scene:
    """A home folder, and a cache two folders below another."""

    base: Path
    quick: bool

    def __post_init__(self) -> None:
        self.mark, self.above = self.base / "ran", self.base / "above"
        self.cache = self.above / "cache"
        self.above.mkdir(parents=True)
        (self.base / "home").mkdir()
        self.environment = os.environ | {
            "HOME": str(self.base / "home"),
            "FORMULAKERN_CACHE_DIR": str(self.cache),
            "PYTHONWARNINGS": "always",
        }
        self.environment.pop("XDG_CACHE_HOME", None)
        self.planted = pickle.dumps(Planted(self.mark))

    def entries(self) -> list[Path]:
        return sorted(self.cache.glob("*.code"))

    def run(self, **more: str) -> tuple[str, int, int]:
        """Return the values, compiled functions and warnings of a fresh process."""
        out, err, code = (forked if self.quick else started)(self.environment | more)
        if code:
            raise SystemExit(f"the process failed:\n{err}")
        found, missed = out.split()
        return found, int(missed), err.count("Warning:")


def started(environment: dict[str, str]) -> tuple[str, str, int]:
    done = subprocess.run(
        [sys.executable, __file__, "--victim"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def forked(environment: dict[str, str]) -> tuple[str, str, int]:
    """The same in a fork of this process, which has the libraries and has not used the cache."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            with suppress(BaseException):
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.environ.clear()
                os.environ.update(environment)
                warnings.simplefilter("always")
                victim(quick=True)
                sys.stderr.flush()
                code = 0
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), code


# -- what is done to it ----------------------------------------------------------------------------


def hashed(scene: Scene, name: str) -> bytes:
    """Return a pickle of ours in the format of the library, which is public."""
    return hashlib.sha256(name.encode() + b"\0" + scene.planted).digest() + scene.planted


def replaced(make: Callable[[Scene, Path], bytes]) -> Callable[[Scene], None]:
    def attack(scene: Scene) -> None:
        for path in scene.cache.rglob("*"):
            if path.is_file():
                path.write_bytes(make(scene, path))

    return attack


def swapped(scene: Scene) -> None:
    first, *others = scene.entries()
    for path in others:
        path.write_bytes(first.read_bytes())
    first.write_bytes(hashed(scene, "another name"))


def numba_index(scene: Scene) -> None:
    names = [path.stem for path in scene.entries()]
    for place in (".", "__pycache__", *names, *(f"{name}/__pycache__" for name in names)):
        (scene.cache / place).mkdir(parents=True, exist_ok=True)
        for function in ("fill_block", "entry", "double"):
            for ending in (".nbi", ".1.nbc"):
                name = f"formulakern_{function}.{function}-1.py311{ending}"
                (scene.cache / place / name).write_bytes(scene.planted)


def modules(scene: Scene) -> None:
    source = f"import pathlib\npathlib.Path({str(scene.mark)!r}).touch()\n"
    names = [f"formulakern_{path.stem}" for path in scene.entries()]
    for name in (*names, "formulakern_entry", "numba", "pickle", "sitecustomize", "conftest"):
        path = scene.cache / f"{name}.py"
        path.write_text(source)
        py_compile.compile(str(path), doraise=True)
        py_compile.compile(str(path), str(path.with_suffix(".pyc")), doraise=True)


def each(change: Callable[[Scene, Path], None]) -> Callable[[Scene], None]:
    """Return a change to every entry, after its content was planted in the right format."""

    def attack(scene: Scene) -> None:
        for path in scene.entries():
            path.write_bytes(hashed(scene, path.stem))
            change(scene, path)

    return attack


def to_link(scene: Scene, path: Path) -> None:
    path.rename(scene.base / path.name)
    path.symlink_to(scene.base / path.name)


def to_pipe(_: Scene, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def to_folder(scene: Scene, path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "code").write_bytes(scene.planted)


def to_hole(_: Scene, path: Path) -> None:
    os.truncate(path, 1 << 40)


def elsewhere(scene: Scene) -> None:
    """Put a link in place of the folder, as anyone can who may write the parent folder."""
    scene.cache.rename(scene.above / "real")
    scene.cache.symlink_to("real")


def planted(scene: Scene) -> None:
    each(lambda *_: None)(scene)


def then(*changes: Callable[[Scene], object]) -> Callable[[Scene], None]:
    def attack(scene: Scene) -> None:
        for change in changes:
            change(scene)

    return attack


def cut(share: float) -> Callable[[Scene, Path], bytes]:
    return lambda _, path: path.read_bytes()[: int(share * path.stat().st_size)]


def flipped(_: Scene, path: Path) -> bytes:
    content = bytearray(path.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(content)


ATTACKS: list[tuple[str, Callable[[Scene], object]]] = [
    ("nothing", lambda _: None),
    ("all deleted", lambda scene: shutil.rmtree(scene.cache)),
    ("every file a pickle", replaced(lambda scene, _: scene.planted)),
    ("every file with another name's hash", replaced(lambda scene, _: hashed(scene, "another"))),
    ("every file with a hash of zeros", replaced(lambda scene, _: bytes(32) + scene.planted)),
    ("entries under each other's names", swapped),
    ("numba's .nbi and .nbc added", numba_index),
    (".py and .pyc added", modules),
    ("files cut to half", replaced(cut(0.5))),
    ("files empty", replaced(cut(0.0))),
    ("one bit of each file flipped", replaced(flipped)),
]
POSIX: list[tuple[str, Callable[[Scene], object]]] = [
    ("files that the group may write", each(lambda _, path: path.chmod(0o660))),
    ("files that all may write", each(lambda _, path: path.chmod(0o666))),
    ("files are links", each(to_link)),
    ("files are pipes", each(to_pipe)),
    ("files are folders", each(to_folder)),
    ("files of a terabyte", each(to_hole)),
    ("folder that all may write", then(planted, lambda scene: scene.cache.chmod(0o777))),
    ("the same, sticky", then(planted, lambda scene: scene.cache.chmod(0o1777))),
    ("folder is a link", then(planted, elsewhere)),
]
FOR_ROOT: list[tuple[str, Callable[[Scene], object]]] = [
    ("files of another user", each(lambda _, path: os.chown(path, STRANGER, STRANGER))),
    (
        "folder of another user",
        then(planted, lambda scene: os.chown(scene.cache, STRANGER, STRANGER)),
    ),
]


# -- disks -----------------------------------------------------------------------------------------


@contextmanager
def small_disk(scene: Scene, size: str):
    """Mount a disk of this many bytes in place of the cache's folder."""
    shutil.rmtree(scene.cache)
    scene.cache.mkdir()
    options = f"size={size},mode=0700"
    mounted = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(scene.cache)]
    subprocess.run(mounted, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(scene.cache)], check=True)


def disks(scene: Scene, row: Callable[..., None]) -> None:
    """Try full and read-only disks."""
    with small_disk(scene, "1m"):
        (scene.cache / "ballast").write_bytes(bytes((1 << 20) - 8192))
        row("a full disk", scene)
        left = [path.name for path in scene.cache.iterdir()]
        print(f"  left on it: {', '.join(left)}")
        (scene.cache / "ballast").unlink()
        row("the same with room again", scene)
        subprocess.run(["mount", "-o", "remount,ro", str(scene.cache)], check=True)
        row("the same, read-only", scene)
    with small_disk(scene, "1m"):
        subprocess.run(["mount", "-o", "remount,ro", str(scene.cache)], check=True)
        row("an empty one, read-only", scene)


def limited(scene: Scene, row: Callable[..., None]) -> None:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    shutil.rmtree(scene.cache)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))
    try:
        row("files of 4 kB at most", scene)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


# -- the table -------------------------------------------------------------------------------------


def damaged(scene: Scene, generator: random.Random) -> str:
    """Make one random change to one random file."""
    files = [path for path in scene.base.rglob("*") if path.is_file() and path != scene.mark]
    path = generator.choice(files)
    content = bytearray(path.read_bytes())
    where = generator.randrange(len(content) + 1)
    match generator.choice(["cut", "flip", "insert", "zero", "move", "copy", "delete"]):
        case "cut":
            content = content[:where]
        case "flip":
            for _ in range(generator.choice([1, 1, 8, 100])):
                content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        case "insert":
            content[where:where] = generator.randbytes(generator.choice([1, 4096]))
        case "zero":
            content[where : where + 4096] = bytes(len(content[where : where + 4096]))
        case "move":
            path.rename(generator.choice(files))
            return "moved"
        case "copy":
            path = generator.choice(files)
        case "delete":
            path.unlink()
            return "deleted"
    path.write_bytes(content)
    return "changed"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N")
    parser.add_argument("--victim", action="store_true")
    options = parser.parse_args()
    if options.victim:
        victim(quick=False)
        return
    random.seed(0)
    expected = "42" if options.quick else values("interpreter")
    if options.quick:  # load the compiler's libraries, which all forks of this process then have
        njit("int64(int64)")(double)
    print(f"{'change':36}{'ran':>6}{'right':>8}{'compiled':>10}{'warned':>8}")
    n_ran = n_wrong = 0

    def row(what: str, scene: Scene, shown: bool = True) -> None:
        nonlocal n_ran, n_wrong
        found, missed, warned = scene.run()
        ran, right = scene.mark.exists(), found == expected
        n_ran, n_wrong = n_ran + ran, n_wrong + (not right)
        if shown:
            words = ["no", "yes"]
            print(f"{what:36}{words[ran]:>6}{words[right]:>8}{missed:>10}{warned:>8}")

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        Scene(source, options.quick).run()

        def fresh(name: str) -> Scene:
            """Return a home and a valid cache."""
            scene = Scene(Path(folder) / name, options.quick)
            shutil.copytree(source, scene.base, dirs_exist_ok=True)
            return scene

        attacks = ATTACKS + POSIX * (os.name == "posix") + FOR_ROOT * ROOT
        for number, (what, attack) in enumerate(attacks):
            scene = fresh(str(number))
            attack(scene)
            row(what, scene)
        n_attacks = len(attacks)
        if os.name == "posix":
            limited(fresh("limited"), row)
            n_attacks += 1
        if ROOT:
            try:
                disks(fresh("disks"), row)
                n_attacks += 4
            except subprocess.CalledProcessError:
                print("(disks cannot be mounted in this environment)")
        generator = random.Random(0)
        scene = fresh("fuzz")
        for _ in range(options.fuzz):
            damaged(scene, generator)
            row("", scene, shown=False)
        if options.fuzz:
            print(f"{options.fuzz} processes, one after the other, after random damage to any file")
    print(f"\nplanted code ran in {n_ran} of {n_attacks + options.fuzz} processes;", end=" ")
    print(f"{n_wrong} had a wrong result")
    if n_ran or n_wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
