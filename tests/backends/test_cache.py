"""The disk cache: processes, threads and workers that share it agree, and none needs it."""

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
from formulakern.backends import cache

CODE = """
import hashlib, numpy as np, formulakern as fk
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
        assert not err


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


def test_a_changed_file_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMULAKERN_CACHE_DIR", str(tmp_path))
    source = "VALUE = 42\n"
    assert cache.load(source).VALUE == 42
    (path,) = tmp_path.rglob("*.py")
    path.write_text("VALUE = 43\n")
    monkeypatch.setattr(cache, "_loaded", {})
    assert cache.load(source).VALUE == 42


def test_a_module_is_loaded_once(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMULAKERN_CACHE_DIR", str(tmp_path))
    assert cache.load("VALUE = 1\n") is cache.load("VALUE = 1\n")
    assert cache.load("VALUE = 1\n") is not cache.load("VALUE = 2\n")


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
