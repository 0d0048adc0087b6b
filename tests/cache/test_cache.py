"""Machine code on disk: read only if this library wrote it for this user and this source."""

import errno
import os
import pickle
import random
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import formulakern as fk
from formulakern import cache
from formulakern.cli import main
from formulakern.compilation import compiled

DIGEST, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
CODE = b"machine code" * 100
STRANGER = 12_345

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")
root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root may give files away"
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return the place of the cache next to a home folder; neither exists yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "home"))
    monkeypatch.setenv("FORMULAKERN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(cache, "_warned", set())
    return tmp_path / "cache"


def kept(folder: Path, digest: str = DIGEST) -> Path:
    cache.save(digest, CODE)
    assert cache.load(digest) == CODE
    return folder / f"{digest}.code"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def plus_two(number):
    return number + 2


def called(n_read: int) -> None:
    """Call a new function, which is compiled or read from disk."""
    function = compiled("int64(int64)")(plus_two)
    assert function(3) == 5
    (made,) = function._code.values()
    assert sum(made.stats.cache_hits.values()) == n_read


# -- what is kept ----------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_folders_and_files_are_of_this_user_alone(folder, mask):
    usual = os.umask(mask)
    try:
        entry = kept(folder)
    finally:
        os.umask(usual)
    assert [path for path in folder.parent.rglob("*") if path.is_file()] == [entry]
    assert (mode(entry), mode(folder)) == (0o600, 0o700)


@posix
@pytest.mark.parametrize("mask", [0, 0o022])
def test_the_usual_folder_is_in_the_users_cache(folder, monkeypatch, mask):
    monkeypatch.delenv("FORMULAKERN_CACHE_DIR")
    home = folder.parent / "home"
    assert fk.cache.location().name == "formulakern"
    assert fk.cache.location().is_relative_to(home)
    usual = os.umask(mask)
    try:
        kept(fk.cache.location())
    finally:
        os.umask(usual)
    assert {mode(path) for path in [home, *home.rglob("*")] if path.is_dir()} == {0o700}


def test_a_function_is_read_back(folder):
    called(n_read=0)
    called(n_read=1)
    (entry,) = folder.iterdir()
    assert entry.suffix == ".code"
    assert cache.is_stored(entry.stem)


def test_what_lies_there_is_told_and_cleared(folder):
    assert (fk.cache.location(), fk.cache.clear()) == (folder, 0)
    assert fk.cache.info() == fk.cache.CacheInfo(folder, 0, 0)
    entry = kept(folder)
    kept(folder, OTHER)
    (folder / f"{OTHER}.code.abc_1234.part").write_bytes(b"of a killed process")
    (folder / "mine.txt").write_text("not of this library")
    (folder / f"{'7' * 32}.code").mkdir()
    size = 2 * entry.stat().st_size
    assert fk.cache.info() == fk.cache.CacheInfo(folder, 2, size)
    assert str(fk.cache.info()) == f"2 compiled functions, 0.0 MB, in {folder}"
    assert fk.cache.clear() == 2
    assert sorted(path.name for path in folder.iterdir()) == [f"{'7' * 32}.code", "mine.txt"]
    kept(folder)


def test_without_a_home_there_is_no_place(folder, monkeypatch):
    kept(folder)
    monkeypatch.delenv("FORMULAKERN_CACHE_DIR")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: Path("~/.cache"))
    assert fk.cache.location() is None
    assert "no home folder" in fk.cache.info().problem
    cache.save(OTHER, CODE)
    assert cache.load(OTHER) is None
    assert not cache.is_stored(OTHER)
    assert fk.cache.clear() == 0


# -- damage ----------------------------------------------------------------------------------------


def test_damage_is_found_and_dropped(folder):
    """Cut short anywhere, with any bit changed, or longer."""
    random.seed(0)
    entry = kept(folder)
    whole = entry.read_bytes()
    cuts = {0, 1, cache.HASH_BYTES, cache.HASH_BYTES + 1, len(whole) - 1}
    for size in cuts | set(random.sample(range(len(whole)), 20)):
        entry.write_bytes(whole[:size])
        assert cache.load(DIGEST) is None
        assert not entry.exists()
    for bit in random.sample(range(8 * len(whole)), 100):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        entry.write_bytes(changed)
        assert cache.load(DIGEST) is None
        assert not entry.exists()
    entry.write_bytes(whole + b"\0")
    assert cache.load(DIGEST) is None
    entry.write_bytes(whole)
    assert cache.load(DIGEST) == CODE
    entry.rename(folder / f"{OTHER}.code")
    assert cache.load(OTHER) is None, "an entry under another name"


def test_a_damaged_function_is_compiled_again(folder):
    called(n_read=0)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2]):
        entry.write_bytes(damaged)
        called(n_read=0)
        called(n_read=1)
        assert cache.load(entry.stem) is not None


def test_what_is_of_no_use_is_compiled_again(folder):
    """An entry of this library's own that cannot be unpickled, or holds something else."""
    called(n_read=0)
    (entry,) = folder.iterdir()
    for content in (b"no pickle", pickle.dumps(("too", "few"))):
        cache.save(entry.stem, content)
        called(n_read=0)
        called(n_read=1)


def test_a_huge_file_is_not_read_whole(folder, monkeypatch):
    entry = kept(folder)
    monkeypatch.setattr(cache, "MAX_BYTES", len(CODE) - 1)
    assert cache.load(DIGEST) is None
    cache.save(DIGEST, CODE)
    assert not entry.exists()


# -- what a stranger plants ------------------------------------------------------------------------


class Planted:
    """Unpickled, it makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_nothing_planted_runs(folder, tmp_path):
    """Neither a pickle without our hash, nor files that other libraries would read or import."""
    mark = tmp_path / "mark"
    planted = pickle.dumps(Planted(mark))
    pickle.loads(planted)
    assert mark.exists()
    mark.unlink()
    called(n_read=0)
    (entry,) = folder.iterdir()
    cache.save(OTHER, planted)
    of_another_name = (folder / f"{OTHER}.code").read_bytes()
    (folder / f"{OTHER}.code").unlink()
    for content in (planted, bytes(cache.HASH_BYTES) + planted, of_another_name):
        entry.write_bytes(content)
        called(n_read=0)
        assert not mark.exists()
    for name in ("nbi", "1.nbc", "py", "pyc"):
        for place in (folder, folder / "__pycache__", folder / entry.stem / "__pycache__"):
            place.mkdir(parents=True, exist_ok=True)
            (place / f"formulakern_plus_two.{name}").write_bytes(planted)
    called(n_read=1)
    assert not mark.exists()


@posix
@pytest.mark.parametrize(
    "change",
    [
        lambda folder, entry: entry.chmod(0o666),
        lambda folder, entry: folder.chmod(0o777),
        lambda folder, entry: linked(entry),
        lambda folder, entry: linked(folder),
        pytest.param(lambda folder, entry: given_away(entry), marks=root),
        pytest.param(lambda folder, entry: given_away(folder), marks=root),
    ],
)
def test_what_another_user_may_have_planted_does_not_run(folder, tmp_path, change):
    """The file has our format and the right name, so only owner, mode and kind differ."""
    mark = tmp_path / "mark"
    called(n_read=0)
    (entry,) = folder.iterdir()
    cache.save(entry.stem, pickle.dumps(Planted(mark)))
    change(folder, entry)
    with pytest.warns(cache.CacheWarning):
        called(n_read=0)
    assert not mark.exists()


@posix
@pytest.mark.parametrize("kind", ["group writes", "all write", "link", "pipe", "stranger's"])
def test_files_that_are_not_ours_alone_are_refused_once(folder, tmp_path, kind):
    if kind == "stranger's" and os.geteuid() != 0:
        pytest.skip("only root may give files away")
    entry = kept(folder)
    if kind in ("link", "pipe"):
        entry.rename(tmp_path / "moved")
        entry.symlink_to(tmp_path / "moved") if kind == "link" else os.mkfifo(entry)
    elif kind == "stranger's":
        os.chown(entry, STRANGER, STRANGER)
    else:
        entry.chmod(0o620 if kind == "group writes" else 0o602)
    with pytest.warns(cache.CacheWarning, match=entry.name):
        assert cache.load(DIGEST) is None
    assert cache.load(DIGEST) is None  # without a second warning
    kept(folder)
    assert mode(entry) == 0o600


def open_folder(path: Path) -> None:
    path.chmod(0o777)


def given_away(path: Path) -> None:
    os.chown(path, STRANGER, STRANGER)


def linked(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


FOLDERS = [
    open_folder,
    lambda path: path.chmod(0o1777),
    lambda path: path.chmod(0o702),
    lambda path: path.chmod(0o770),
    linked,
    pytest.param(given_away, marks=root),
]


@posix
@pytest.mark.parametrize("change", FOLDERS)
def test_folders_that_are_not_ours_alone_are_refused_once(folder, tmp_path, change):
    """Neither read nor written; the code works all the same."""
    kept(folder)
    change(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.warns(cache.CacheWarning, match="FORMULAKERN_CACHE_DIR") as said:
        assert cache.load(DIGEST) is None
    assert fk.cache.info().problem in str(said[0].message)
    cache.save(OTHER, CODE)  # without a second warning
    assert cache.load(DIGEST) is None
    assert not cache.is_stored(DIGEST)
    assert sorted(tmp_path.rglob("*")) == before


@posix
@root
def test_root_leaves_a_users_home_alone(folder, tmp_path, monkeypatch):
    """With ``sudo``, root runs no file of the user, and leaves no file of its own there."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    monkeypatch.delenv("FORMULAKERN_CACHE_DIR")
    with pytest.warns(cache.CacheWarning, match="belongs to another user"):
        cache.save(DIGEST, CODE)
    assert list(home.iterdir()) == []


@posix
def test_usual_folders_are_used(folder, tmp_path, monkeypatch):
    """Below a folder that all may write and nobody may rename in; by way of links of one's own."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    (tmp_path / "a").symlink_to("b/../tmp")
    (tmp_path / "b").symlink_to(tmp_path / "c")
    (tmp_path / "c").mkdir(mode=0o755)
    monkeypatch.setenv("FORMULAKERN_CACHE_DIR", str(tmp_path / "a" / "new" / "cache"))
    kept(tmp_path / "tmp" / "new" / "cache")
    assert fk.cache.info().problem == ""


# -- where nothing can be written ------------------------------------------------------------------


@posix
def test_a_full_disk_is_said_once_and_leaves_nothing(folder):
    """A limit on the size of files, with the errors of a full disk."""
    import resource

    kept(folder, OTHER)
    (entry,) = folder.iterdir()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, usual[1]))
    try:
        with pytest.warns(cache.CacheWarning, match="cannot be written"):
            called(n_read=0)
        called(n_read=0)  # without a second warning
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list(folder.iterdir()) == [entry]
    called(n_read=0)
    called(n_read=1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("failing", ["open", "replace", "mkdir"])
def test_whatever_fails_in_writing_costs_nothing_else(folder, monkeypatch, number, failing):
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    if failing != "mkdir":
        kept(folder, OTHER)
    before = sorted(folder.parent.rglob("*"))
    with monkeypatch.context() as there:
        there.setattr(os, failing, fail)
        if number == errno.EROFS:
            cache.save(DIGEST, CODE)  # in silence
        else:
            with pytest.warns(cache.CacheWarning, match=os.strerror(number)):
                cache.save(DIGEST, CODE)
        assert cache.load(DIGEST) is None
    assert sorted(folder.parent.rglob("*")) == before
    kept(folder)


def test_a_file_in_place_of_the_folder_is_done_without(folder):
    folder.write_text("not a directory")
    called(n_read=0)
    assert folder.read_text() == "not a directory"
    assert "directory" in fk.cache.info().problem


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_read(folder):
    entry = kept(folder)
    folder.chmod(0o500)
    assert cache.load(DIGEST) == CODE
    assert cache.is_stored(DIGEST)
    assert fk.cache.info().problem == f"{folder} may not be written"
    entry.write_bytes(b"damaged")
    assert cache.load(DIGEST) is None
    cache.save(DIGEST, CODE)
    folder.chmod(0o000)
    assert cache.load(DIGEST) is None
    assert str(fk.cache.info()).endswith(f"; but {folder} may not be written")
    folder.chmod(0o700)


def test_parts_are_never_read_as_wholes(folder):
    """Many write and read one entry at once; each finds all of it, or nothing."""
    wrong: list[object] = []

    def work(seed: int) -> None:
        for turn in range(30):
            cache.save(DIGEST, CODE)
            if (found := cache.load(DIGEST)) not in (None, CODE):
                wrong.append(found)
            if turn % 10 == seed:
                fk.cache.clear()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kept(folder)
    assert [path.name for path in folder.iterdir()] == [f"{DIGEST}.code"]


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line_tells_and_clears(folder, capsys):
    kept(folder)
    assert main(["cache"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"1 compiled function, 0.0 MB, in {folder}\n", "")
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr() == (f"{out}deleted\n", "")
    assert fk.cache.info().entries == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_output_that_cannot_be_written_is_said():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "formulakern", "cache"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )
    assert done.stderr == "formulakern: no space left on device.\n"
    assert done.returncode == 1


def test_an_error_without_a_file_names_none(monkeypatch, capsys):
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("formulakern.cli.kernels.kernel_of", fail)
    assert main(["inspect", "a"]) == 1
    assert capsys.readouterr().err == "formulakern: no space left on device.\n"
