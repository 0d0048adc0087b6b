"""Databases that run queries, each filled with a table of typed columns."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: The type of a column in each engine.
TYPES: dict[str, dict[str, str]] = {
    "sqlite": {"boolean": "BOOLEAN", "integer": "INTEGER", "number": "REAL", "text": "TEXT"},
    "duckdb": {"boolean": "BOOLEAN", "integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR"},
    "postgres": {
        "boolean": "BOOLEAN",
        "integer": "BIGINT",
        "number": "DOUBLE PRECISION",
        "text": "TEXT",
    },
}
DATES = {
    "date": "DATE",
    "stamp": "TIMESTAMP",
    "instant": "TIMESTAMPTZ",
    "time": "TIME",
    "duration": "INTERVAL",
}
for name, types_there in TYPES.items():
    types_there |= DATES if name != "sqlite" else dict.fromkeys(DATES, "TEXT")
#: How a value stands for a parameter in each.
MARKS = {"sqlite": "?", "duckdb": "?", "postgres": "%s"}

Answer = Callable[..., list[Any]]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def filled(
    execute: Callable[..., Any],
    engine: str,
    table: str,
    columns: Mapping[str, Sequence[Any]],
    types: Mapping[str, str],
) -> None:
    """Create a table with these columns, None being NULL."""
    defined = ", ".join(f"{quoted(name)} {TYPES[engine][types[name]]}" for name in columns)
    execute(f"DROP TABLE IF EXISTS {table}")
    execute(f"CREATE TABLE {table} ({defined})")
    marks = ", ".join([MARKS[engine]] * len(columns))
    rows = list(zip(*columns.values(), strict=True))
    if rows:
        values = [_stored(value) if engine == "sqlite" else value for row in rows for value in row]
        execute(f"INSERT INTO {table} VALUES {', '.join([f'({marks})'] * len(rows))}", values)


def _stored(value: Any) -> Any:
    """Dates and times as text, in all the forms that ISO 8601 has."""
    if isinstance(value, datetime.datetime):
        sign, short = "T "[value.day % 2], value.minute % 2 == 0 and not value.second
        return value.isoformat(sign, "auto" if not short or value.microsecond else "minutes")
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value


@contextmanager
def sqlite() -> Iterator[Callable[..., list[Any]]]:
    base = sqlite3.connect(":memory:")
    yield lambda query, row=(): list(base.execute(query, row))
    base.close()


@contextmanager
def duckdb() -> Iterator[Callable[..., list[Any]]]:
    import duckdb as library

    base = library.connect(":memory:", config={"threads": 1})
    yield lambda query, row=(): base.execute(query, list(row)).fetchall()
    base.close()


def why_no_postgres() -> str:
    """Return the reason why no PostgreSQL server can be started; empty if one can."""
    missing = [name for name in ("initdb", "postgres") if not shutil.which(name)]
    if missing:
        return f"{missing[0]} is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if os.name != "posix":
        return "no POSIX system"
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        return "PostgreSQL does not run as root, and there is no setpriv"
    return ""


@contextmanager
def postgres() -> Iterator[Callable[..., list[Any]]]:
    """A server of its own, without network, in a folder that goes with it."""
    import psycopg

    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    runner = other if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o777)
        data = f"{home}/data"
        environment = {**os.environ, "HOME": home, "LC_ALL": "C.UTF-8"}
        made = ["initdb", "-D", data, "-U", "me", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([*runner, *made], env=environment, check=True, capture_output=True)
        settings = ["listen_addresses=", "fsync=off", "shared_buffers=16MB", "max_connections=5"]
        options = [part for setting in settings for part in ("-c", setting)]
        server = subprocess.Popen(
            [*runner, "postgres", "-D", data, "-k", home, *options],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            base = _connected(psycopg, home, server)
            yield lambda query, row=(): _fetched(base, query, row)
            base.close()
        finally:
            server.send_signal(signal.SIGINT)  # at once, whoever is connected
            server.wait()


def _connected(psycopg: Any, home: str, server: subprocess.Popen[bytes]) -> Any:
    import time

    while server.poll() is None:
        try:
            return psycopg.connect(
                host=home, user="me", dbname="postgres", autocommit=True, prepare_threshold=None
            )
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise RuntimeError("the server did not start")


def _fetched(base: Any, query: str, row: Sequence[Any]) -> list[Any]:
    cursor = base.execute(query.encode(), row or None)
    return cursor.fetchall() if cursor.description else []


ENGINES = {"sqlite": sqlite, "duckdb": duckdb, "postgres": postgres}
