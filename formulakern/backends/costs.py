"""What each backend costs on a task, in seconds of one processor: a model with measured constants.

``tests/benchmarks/test_auto.py`` compares what is chosen by it with the fastest, and prints
the seconds next to those of the model.  Differences of a factor of two between processors do not
change much: what the model has to tell apart mostly differs by more.
"""

from __future__ import annotations

import sys
from math import log2

import numpy as np

from formulakern.backends.base import Task
from formulakern.backends.interpreter import exact_dtype
from formulakern.backends.lookup import count_entries
from formulakern.backends.loops import fill_block, look_up, look_up_domains
from formulakern.backends.numba_cpu import loop_of_task
from formulakern.compilation import IMPORTING, READING
from formulakern.program.staging import stages

__all__ = [
    "at_least_tabulating",
    "compiling",
    "exact_everywhere",
    "interpreting",
    "running",
    "tabulating",
]

NANOSECOND = 1e-9
#: Counting in NumPy: per pair, and per word of it; an operation on int64, on Python's integers.
NUMPY_PAIR, NUMPY_WORD, OPERATION, LONG_OPERATION = 3.0, 3.0, 1.1, 60.0
#: Beside that of Python's integers, for each of their words; with exponents of any size.
LONG_WORD, EXTENDED_OPERATION = 1.0, 100.0
#: Counting in the compiled loop, and storing; per word; an operation of an emitted formula.
LOOP_PAIR, LOOP_WORD, LOOP_OPERATION = 0.5, 0.1, 0.022
#: Looking up per doubling of a table beyond so many numbers; beyond NumPy's counting, in NumPy.
LOOK_UP, NEAR, NUMPY_LOOK_UP = 0.18, 4096, 9.0
#: Building a table, per entry; an operation for each, in int64 and in Python's integers.
ENTRY, ENTRY_OPERATION = 45.0, 1.4
#: Seconds: to begin interpreting, with tables, with emitted code.
INTERPRETER, TABLES, EMITTED = 3e-4, 7e-4, 4e-4
#: Seconds: to compile the loop over blocks, a formula, an operation of it.
COMPILING_LOOP, COMPILING, COMPILING_OPERATION = 1.5, 0.35, 0.005


def exact_everywhere(task: Task) -> bool:
    """Whether all backends give the same values to the last bit: integers that float64 holds."""
    return task.scale == "count" and task.bound < 2**53


def interpreting(task: Task) -> float:
    """Seconds of the interpreter."""
    each = _operation(task, OPERATION)
    numbers = NUMPY_PAIR + NUMPY_WORD * _words(task) + each * len(task.program.kernel_nodes)
    return INTERPRETER + task.n_pairs * numbers * NANOSECOND


def at_least_tabulating(task: Task) -> float:
    """Fewer seconds than lookup tables take, whatever the numbers of ones are."""
    return TABLES + task.n_pairs * (LOOP_PAIR + LOOP_WORD * _words(task)) * NANOSECOND


def tabulating(task: Task) -> float:
    """Seconds of lookup tables: to build them, and to look up."""
    entries, words = count_entries(task.tables), _words(task)
    each = _operation(task, ENTRY_OPERATION)
    build = entries * (ENTRY + each * len(task.program.kernel_nodes))
    finish = look_up if len(task.tables.sizes) == 1 else look_up_domains
    table = LOOK_UP * log2(1 + entries / NEAR)
    if finish.would_pay(task.n_pairs * (words + len(task.tables.sizes) + 1)):
        # what loading the loop costs, ``pays`` weighs against all that was asked for
        pair = LOOP_PAIR + LOOP_WORD * words + table
        begin = 0.0 if "numba" in sys.modules else IMPORTING
    else:
        pair, begin = NUMPY_PAIR + NUMPY_WORD * words + NUMPY_LOOK_UP, 0.0
    return TABLES + begin + (build + task.n_pairs * pair) * NANOSECOND


def running(task: Task) -> float:
    """Seconds of the compiled formula, once it is compiled."""
    operations = len(stages(task.program).pair)
    pair = LOOP_PAIR + LOOP_WORD * _words(task) + LOOP_OPERATION * operations
    return EMITTED + task.n_pairs * pair * NANOSECOND


def compiling(task: Task) -> float:
    """Seconds until the formula is compiled: none, or those of reading it from disk, or all.

    Where values may differ between backends, as if nothing had been compiled ever.
    """
    long = COMPILING + COMPILING_OPERATION * len(stages(task.program).pair)
    if not exact_everywhere(task):
        return long
    loop = loop_of_task(task)
    if loop.made:
        return 0.0
    if "numba" not in sys.modules:  # whether it is on disk, numba says
        return _loading() + long
    return _loading() + (READING if loop.stored else long)


def _loading() -> float:
    """Seconds until the loop over blocks is there."""
    if fill_block.made:
        return 0.0
    if "numba" not in sys.modules:
        return IMPORTING
    return READING if fill_block.stored else COMPILING_LOOP


def _operation(task: Task, short: float) -> float:
    """Nanoseconds of an operation on exact integers, or with exponents of any size."""
    if exact_dtype(task) is np.int64:
        return short
    return LONG_OPERATION + (LONG_WORD * task.bits / 64 if task.exact else EXTENDED_OPERATION)


def _words(task: Task) -> int:
    return int(task.tables.spans[-1])
