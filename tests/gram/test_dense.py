"""Assembling a matrix from blocks: every entry once, symmetric as full, failures reported."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import formulakern as fk
from formulakern.gram import matrix
from formulakern.gram.matrix import fill_matrix, n_threads, output

FORMULA = "(a & ~b) | c"


def numbered(shape: tuple[int, int]) -> np.ndarray:
    return np.arange(shape[0] * shape[1], dtype=float).reshape(shape)


def assemble(shape, symmetric, fill, progress=None):
    return fill_matrix(output(shape, None), symmetric, fill, progress)


def fill_from(source: np.ndarray):
    def fill(rows, columns, block):
        assert columns.start % 16 == 0
        block[...] = source[rows, columns]

    return fill


@pytest.mark.parametrize("rows", [0, 1, 3, 15, 16, 17, 255, 256, 257, 1030])
@pytest.mark.parametrize("columns", [0, 1, 17, 400])
def test_every_entry_is_filled(rows, columns):
    source = numbered((rows, columns))
    assert np.array_equal(assemble(source.shape, False, fill_from(source)), source)


@pytest.mark.parametrize("n", [0, 1, 3, 15, 16, 17, 127, 128, 129, 255, 256, 257, 511, 513, 1030])
def test_symmetric_from_its_upper_triangle(n):
    source = numbered((n, n))
    source = np.triu(source) + np.triu(source, 1).T
    upper = np.where(np.arange(n)[:, None] // 128 > np.arange(n) // 128, np.nan, source)
    assert np.array_equal(assemble((n, n), True, fill_from(upper)), source)


@pytest.mark.parametrize("rows", [1, 17, 257, 700])
@pytest.mark.parametrize("columns", [3, 64, 130])
def test_kernel_of_a_table_with_itself(rows, columns):
    X = (np.random.default_rng(rows).random((rows, columns)) < 0.5).astype(float)
    for backend in ("numba", "lookup"):
        k = fk.kernel(FORMULA, backend=backend)
        K = k(X)
        assert np.array_equal(K, K.T)
        assert np.array_equal(K, k(X, X.copy()))


def test_progress_rises_to_one_in_the_calling_thread():
    seen, threads = [], set()

    def progress(share):
        seen.append(share)
        threads.add(threading.get_ident())

    assemble((1030, 400), False, fill_from(numbered((1030, 400))), progress)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert seen.count(1.0) == 1
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_failing_block_stops_the_rest(symmetric):
    filled = []

    def fill(rows, columns, block):
        filled.append(rows)
        raise ArithmeticError("no value")

    before = threading.active_count()
    with pytest.raises(ArithmeticError, match="no value"):
        assemble((1030, 1030), symmetric, fill)
    assert len(filled) <= n_threads()
    assert threading.active_count() == before


def test_a_failure_in_another_thread_is_raised(monkeypatch):
    monkeypatch.setattr(matrix, "n_threads", lambda: 3)
    here = threading.get_ident()

    def fill(rows, columns, block):
        if threading.get_ident() != here:
            raise ArithmeticError("elsewhere")
        time.sleep(0.01)

    with pytest.raises(ArithmeticError, match="elsewhere"):
        assemble((1030, 1030), False, fill)


def test_a_matrix_beyond_memory_is_refused():
    with pytest.raises(fk.GramSizeError, match="Nystroem"):
        assemble((1 << 24, 1 << 24), False, fill_from(numbered((1, 1))))


def test_threads_are_limited_by_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_an_interrupt_stops_a_large_matrix():
    code = """
import numpy as np, os, signal, threading, time, formulakern as fk
X = np.random.default_rng(0).integers(0, 2, (300, 6000), dtype=np.uint8)
k = fk.kernel("(a & ~b) | c", backend="numba"); k(X)
X = np.tile(X, (40, 1))
begun = []
def interrupt():
    begun.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer(0.5, interrupt)
timer.start()
try:
    for _ in range(1000):
        k(X)
except KeyboardInterrupt:
    seconds = time.process_time() - begun[0]  # of the processor, whatever else it does
    timer.join()
    print("interrupted", threading.active_count(), seconds < 3.0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted 1 True\n"


def test_nothing_else_runs_while_the_first_block_may_compile(monkeypatch):
    """Else an interrupted compilation could leave a lock for which a helper waits for ever."""
    monkeypatch.setattr(matrix, "n_threads", lambda: 3)
    begun = []

    def one(rows, columns):
        begun.append(threading.get_ident())
        if len(begun) == 1:
            assert {*threading.enumerate()} == before

    before = {*threading.enumerate()}
    matrix.work_off([(slice(0, 300), slice(0, 300))] * 6, one)
    assert begun[0] == threading.get_ident()
    assert len(begun) == 6
