"""Rules as SQL in real databases: every row of thousands of generated tables against ``predict``
==============================================================================================

The tables have columns named like injections, reserved words and the names that queries add.  Their
entries are NULL, NaN, infinite, dates and times, and texts that differ in case, blanks and
backslashes.  The rules are lists, sets, ensembles of two and three classes, of levels and of
numbers, and single rules.  Every third table has columns of dates, time stamps, times of day and
durations.

In a shell::

    python examples/23_sql.py [--quick] [--tables 2000]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.engines import ENGINES, why_no_postgres
from tests.sql_tables import differing, random_case

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true", help="20 tables")
parser.add_argument("--tables", type=int, default=2000, help="number of tables for each engine")
options = parser.parse_args()
n_tables = 20 if options.quick else options.tables

print("| engine | tables | rows | differences |")
print("|---|---:|---:|---:|")
for name, started in ENGINES.items():
    if (name == "postgres" and why_no_postgres()) or (options.quick and name != "sqlite"):
        continue
    generator = np.random.default_rng(1)
    rows = differences = 0
    with started() as execute:
        for number in range(n_tables):
            case = random_case(generator, name, dates=number % 3 == 2)
            rows += len(next(iter(case.columns.values())))
            differences += len(differing(case, name, execute))
    print(f"| {name} | {n_tables:,} | {rows:,} | {differences:,} |")
