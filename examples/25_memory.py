"""Peak memory and time against the length of a formula, for every connective and reading
======================================================================================

Every cell is a process of its own with a limit of memory.  It makes a chain of n literals x1, ~x2,
x3, … of one connective, prints and pickles it, rewrites and lowers it, and computes the kernel of
four rows of forty columns at scale="probability".  Refused formulas raise an error, listed below
the table.  A process that is killed, or ends with an error of another library, is called a fault.

In a shell::

    python examples/25_memory.py                  10² to 10⁶ literals: an hour or two
    python examples/25_memory.py --most 10000     up to this many literals: some minutes
    python examples/25_memory.py --connectives iff nand --readings free --least 100000
    python examples/25_memory.py --quick          seconds
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
import time

import numpy as np

import formulakern as fk
from formulakern.syntax.connectives import CONNECTIVES, connective
from formulakern.syntax.formula import Formula, Operation, Variable

GIGABYTE = 1 << 30
#: The limits of a process: addressable memory and CPU seconds.
MEMORY, SECONDS = 4 * GIGABYTE, 900


def chain(name: str, n: int) -> Formula:
    """Return n literals: one chain if the connective is associative, else nested to the right."""
    row = connective(name)
    whole: Formula = Variable("x0")
    if row.arity == 1:
        for _ in range(n):
            whole = ~whole
        return whole
    parts = [~Variable(f"x{i}") if i % 2 else Variable(f"x{i}") for i in range(n)]
    if row.chain == "flat":
        return Operation(row, parts)
    for part in parts[1:]:
        whole = Operation(row, (part, whole))
    return whole


def peak() -> int:
    """Return the largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def cell(name: str, reading: str, n: int) -> None:
    """Do the work of a cell; print megabytes, seconds and the result, as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    X = (np.random.default_rng(0).random((4, 40)) < 0.5).astype(np.uint8)
    fk.kernel("a | b")(X)
    before, begin, said = peak(), time.process_time(), ""
    try:
        formula = chain(name, n)
        str(formula)
        pickle.loads(pickle.dumps(formula))
        fk.kernel(formula, reading, scale="probability")(X)
    except fk.FormulaKernError as refusal:
        said = f"refused: {refusal}"
    except (MemoryError, RecursionError) as fault:
        said = f"FAULT: {type(fault).__name__}"
    print(json.dumps([peak() - before, time.process_time() - begin, said]))


def measured(name: str, reading: str, n: int) -> tuple[str, str]:
    """Return the text of a cell, and the message of a refusal."""
    command = [sys.executable, __file__, "--cell", name, reading, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        return f"FAULT: ended by {done.returncode}", ""
    megabytes, seconds, said = json.loads(done.stdout)
    sign = " refused" if said.startswith("refused") else f" {said}" if said else ""
    return f"{megabytes:,} MB, {seconds:.1f} s{sign}", said


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--most", type=int, default=10**6)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--readings", nargs="*", default=["bound", "free", "distinct"])
    parser.add_argument("--connectives", nargs="*", default=[row.name for row in CONNECTIVES])
    parser.add_argument("--cell", nargs=3)
    options = parser.parse_args()
    if options.cell:
        cell(options.cell[0], options.cell[1], int(options.cell[2]))
        return
    lengths = [n for n in (10**k for k in range(2, 7)) if options.least <= n <= options.most]
    names = options.connectives
    if options.quick:
        lengths, names = [100], ["or"]
    sentences: dict[str, None] = {}
    print("| connective | reading | " + " | ".join(f"{n:,}" for n in lengths) + " |")
    print("|---|---|" + "---:|" * len(lengths))
    for name in names:
        for reading in options.readings:
            cells = []
            for n in lengths:
                text, said = measured(name, reading, n)
                cells.append(text)
                if said:
                    sentences.setdefault(said)
            print(f"| {name} | {reading} | " + " | ".join(cells) + " |", flush=True)
    print("\nRefused:\n")
    for sentence in sentences:
        print(f"* {sentence}")


if __name__ == "__main__":
    main()
