"""A database that runs the queries of learned rules."""

from __future__ import annotations

import sqlite3
from typing import Any

from formulakern import RuleEnsemble, RuleList, RuleSet, Table


def answers(ensemble: RuleEnsemble | RuleList | RuleSet, table: Any) -> list[Any]:
    """Return SQLite's result of ``ensemble.to_sql()`` on a table, with NULL for missing entries."""
    columns = Table.of(table).columns
    base = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    base.execute(f"CREATE TABLE data ({names})")
    plain = [[None if x is None or x != x else x for x in c.tolist()] for c in columns.values()]
    marks = ", ".join("?" * len(columns))
    base.executemany(f"INSERT INTO data VALUES ({marks})", zip(*plain, strict=True))
    found = [row[-1] for row in base.execute(ensemble.to_sql(dialect="sqlite", types=table))]
    base.close()
    return found
