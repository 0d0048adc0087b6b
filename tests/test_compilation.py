"""Machine code and its cache: processes, threads and workers agree, and none needs the cache."""

import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern.backends import numba_cpu
from formulakern.backends.loops import vectorized
from formulakern.compilation import NOTICE, compiled

CODE = """
import hashlib, numpy as np, formulakern as fk
from formulakern.compilation import CompiledFunction
CompiledFunction.pays = lambda loop, n_numbers: True
X = np.random.default_rng(0).integers(0, 2, (150, 70), dtype=np.uint8)
for backend in ("numba", "lookup"):
    K = fk.kernel("(a & ~b) | c", backend=backend)(X)
    print(hashlib.sha256(K.tobytes()).hexdigest())
"""


def start(directory: Path) -> subprocess.Popen:
    environment = {**os.environ, "FORMULAKERN_CACHE_DIR": str(directory)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CODE],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def expected() -> list[str]:
    X = np.random.default_rng(0).integers(0, 2, (150, 70), dtype=np.uint8)
    K = fk.kernel("(a & ~b) | c", backend="interpreter")(X)
    return [hashlib.sha256(K.tobytes()).hexdigest()] * 2


def check(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert out.split() == expected()
        assert not err.removeprefix(f"{NOTICE}\n")


def python(code: str, directory: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "FORMULAKERN_CACHE_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def entries(directory: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file()}


def test_processes_that_meet_an_empty_cache_agree_and_leave_it_warm(tmp_path):
    check([start(tmp_path) for _ in range(4)])
    before = entries(tmp_path)
    assert any(path.suffix == ".nbc" for path in before)
    assert not [path for path in before if path.suffix == ".tmp"]
    check([start(tmp_path)])
    assert entries(tmp_path) == before, "a second process compiled again"


@pytest.mark.parametrize("place", ["a file", "a directory without permission"])
def test_an_unwritable_cache_is_done_without(tmp_path, place):
    directory = tmp_path / "cache"
    if place == "a file":
        directory.write_text("not a directory")
    else:
        directory.mkdir(mode=0o500)
        if os.access(directory, os.W_OK):
            pytest.skip("this user may write everywhere")
    check([start(directory)])


LOOPS = """
from formulakern.compilation import compiled
from helpers import FACTOR, scaled

@compiled("float64(float64)")
def total(x):
    return FACTOR + scaled(x)
"""
HELPERS = """
from formulakern.compilation import compiled

FACTOR = 100
TENTH = 10

@compiled()
def scaled(x):
    return inner(x) / TENTH

@compiled()
def inner(x):
    return 2 * x
"""
CALL = "import sys; sys.path.insert(0, {folder!r}); import loops; print(loops.total(5.0))"


def test_whatever_is_inlined_decides_what_is_read_from_the_cache(tmp_path):
    """Functions and constants, in this file and others; a file that says the same is not read."""
    folder, cache = tmp_path / "code", tmp_path / "cache"
    folder.mkdir()
    seen = []
    changes = [
        (HELPERS, LOOPS, 101.0),
        (HELPERS.replace("2 * x", "4 * x"), LOOPS, 102.0),
        (HELPERS.replace("TENTH = 10", "TENTH = 5"), LOOPS, 102.0),
        (HELPERS, LOOPS.replace("+ scaled", "- scaled"), 99.0),
        ("# more\n\n" + HELPERS, "# more\n\n" + LOOPS, 101.0),  # nothing new
    ]
    for helpers, loops, result in changes:
        (folder / "helpers.py").write_text(helpers)
        (folder / "loops.py").write_text(loops)
        assert float(python(CALL.format(folder=str(folder)), cache).stdout) == result
        seen.append(len(list(cache.rglob("*.nbc"))))
    assert seen == [1, 2, 3, 4, 4]


@pytest.mark.parametrize("damage", ["a changed file", "lost code", "half the code"])
def test_a_damaged_cache_is_done_without(tmp_path, damage):
    code = "from formulakern.solvers.hierarchical.loops import *\nimport numpy as np\n" + (
        "x, out = np.ones((2, 3), np.uint8), np.empty(3)\n"
        "sum_columns(x, np.ones(2), out); print(out.sum())"
    )
    assert python(code, tmp_path).stdout == "6.0\n"
    (index,) = tmp_path.rglob("*.nbi")
    (machine_code,) = tmp_path.rglob("*.nbc")
    if damage == "a changed file":
        next(tmp_path.rglob("*.py")).write_text("raise SystemExit('run')")
    elif damage == "lost code":
        machine_code.unlink()
    else:
        machine_code.write_bytes(machine_code.read_bytes()[:1000])
        index.touch()
    assert python(code, tmp_path).stdout == "6.0\n"


SLOW = """
import sys, numpy as np
from formulakern import compilation
compilation.PATIENCE = {patience}
import formulakern as fk
for text in ("a & b", "a | ~b"):
    fk.kernel(text, backend="numba")(np.eye(3))
"""


def test_a_long_compilation_is_announced_once_and_reading_the_cache_never(tmp_path):
    assert python(SLOW.format(patience=1e6), tmp_path / "quiet").stderr == ""
    assert python(SLOW.format(patience=0), tmp_path / "told").stderr == f"{NOTICE}\n"
    assert python(SLOW.format(patience=0), tmp_path / "told").stderr == ""


def test_small_work_compiles_nothing(tmp_path):
    code = """
import sys, numpy as np, formulakern as fk
X = np.random.default_rng(0).integers(0, 2, (40, 20))
fk.kernel("(a & ~b) | c")(X), fk.boolean.tanimoto()(X), fk.boolean.all_subsets()(X)
assert "numba" not in sys.modules
"""
    python(code, tmp_path)
    assert not list(tmp_path.iterdir())


def test_equal_programs_share_their_code():
    one, other = (fk.kernel(text, backend="numba").source for text in ("a & ~b", "~y & x"))
    assert numba_cpu._loop(one) is numba_cpu._loop(other)
    assert numba_cpu._loop(one) is not numba_cpu._loop(fk.kernel("a | b").source)


def test_what_cannot_be_digested_is_refused():
    def outer(n: int):
        @compiled("int64(int64)")
        def inner(x):
            return x + n

        return inner

    with pytest.raises(TypeError, match="closure"):
        outer(1)(2)


def test_intrinsics_are_not_called_from_python():
    with pytest.raises(TypeError, match="compiled functions only"):
        vectorized()


def gram(seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).integers(0, 2, (300, 70), dtype=np.uint8)
    return np.asarray(fk.kernel("(a & b) | (~a & c)", backend="numba")(X))


def test_threads_agree():
    found: dict[int, np.ndarray] = {}

    def work(seed: int) -> None:
        found[seed] = gram(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(8):
        assert np.array_equal(found[seed], gram(seed))


def test_joblib_workers_agree():
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(gram)(seed) for seed in range(4))
    assert all(np.array_equal(K, gram(seed)) for seed, K in enumerate(found))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_agrees():
    here = gram(3)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for there in pool.map(gram, [3, 3]):
            assert np.array_equal(here, there)
