"""Files in blocks of rows: larger than memory, each column of one kind in all of them."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from numpy.typing import NDArray

from formulakern.datasets.parquet import ParquetBlocks, is_parquet
from formulakern.datasets.reader import (
    ENCODING,
    GZIP_MAGIC,
    check_format,
    cleaned_values,
    dates_of,
    delimiter_of,
    header_of,
)
from formulakern.encoding.columns import numbers_in, text_column
from formulakern.encoding.table import Table
from formulakern.errors import DataError

__all__ = ["CsvBlocks", "blocks_of"]

#: Rows of a block.
ROWS = 50_000


def blocks_of(
    path: str | os.PathLike[str], encoding: str | None = None, delimiter: str | None = None
) -> CsvBlocks | ParquetBlocks:
    """The rows of a file in blocks.

    Parameters
    ----------
    path : path
        As for :func:`formulakern.datasets.read_table`.
    encoding, delimiter : str, optional
        Of a text file, likewise.
    """
    path = Path(path)
    check_format(encoding, delimiter)
    if is_parquet(path):
        return ParquetBlocks.of(path, ROWS)
    return CsvBlocks.of(path, encoding=encoding, delimiter=delimiter)


@dataclass(frozen=True)
class CsvBlocks:
    """A CSV file that is read twice: once for what its columns hold, and then block by block.

    A column is numeric, or of dates, where all its values in the whole file are, as in
    :func:`formulakern.datasets.read_table`.

    Parameters
    ----------
    path : path
        As for :func:`formulakern.datasets.read_table`.
    names : tuple of str
        The header.
    kinds : tuple of str
        What each column holds: "number", "text", or a kind of dates.
    delimiter : str
    missing : frozenset of str
    encoding : str
    """

    path: Path
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    delimiter: str
    missing: frozenset[str]
    encoding: str = ENCODING

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        missing: Collection[str] = ("?", ""),
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> CsvBlocks:
        """Read a file once.

        Raises
        ------
        DataError
            As :func:`formulakern.datasets.read_table`; a header without rows is no error.
        """
        path, code = Path(path), encoding or ENCODING
        try:
            with _opened(path, code) as file:
                first = next((line for line in file if line.strip()), "")
        except (UnicodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _unreadable(path, code, 1, error) from None
        if not first:
            raise DataError(f"{path.name} is empty; expected a header line and rows.")
        delimiter = delimiter_of(path, first, delimiter)
        names: tuple[str, ...] = ()
        kinds: list[str] = []
        for cells in _parts(path, code, delimiter):
            if not names:
                names = tuple(header_of(cells[0], path))
                kinds = [""] * len(names)
                cells = cells[1:]
            for place, values in enumerate(zip(*cells, strict=True)):
                if kinds[place] != "text":
                    found = _kind(cleaned_values(values, set(missing)))
                    same = found == kinds[place] or not found or not kinds[place]
                    kinds[place] = (found or kinds[place]) if same else "text"
        filled = tuple(kind or "number" for kind in kinds)
        return cls(path, names, filled, delimiter, frozenset(missing), code)

    def __iter__(self) -> Iterator[tuple[Table, list[list[str]]]]:
        """Blocks of rows, as a table and as the texts of the file."""
        skip = 1
        for cells in _parts(self.path, self.encoding, self.delimiter):
            rows, skip = cells[skip:], 0
            if not rows:
                continue
            columns = {
                name: self._column(values, kind)
                for name, kind, values in zip(
                    self.names, self.kinds, zip(*rows, strict=True), strict=True
                )
            }
            yield Table(columns), rows

    def _column(self, values: tuple[str, ...], kind: str) -> NDArray[Any]:
        entries = cleaned_values(values, set(self.missing))
        if kind == "text":
            return text_column(entries)
        numbers = numbers_in(entries)
        return dates_of(text_column(entries)) if numbers is None else numbers


def _kind(entries: list[str | None]) -> str:
    """What the values of a block are; "" where all are missing."""
    if all(entry is None for entry in entries):
        return ""
    if numbers_in(entries) is not None:
        return "number"
    values = dates_of(text_column(entries)).tolist()
    first = next(value for value in values if value is not None)
    return "text" if isinstance(first, str) else str(first.kind)


def _opened(path: Path, encoding: str) -> TextIO:
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a CSV file.")
    with path.open("rb") as file:
        packed = file.read(2) == GZIP_MAGIC
    if packed:
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open("r", encoding=encoding, newline="")


def _unreadable(path: Path, encoding: str, line: int, error: Exception) -> DataError:
    what = "UTF-8" if encoding == ENCODING else encoding
    return DataError(
        f"line {line} of {path.name} cannot be read as delimited {what} text: {error}."
    )


def _parts(path: Path, encoding: str, delimiter: str) -> Iterator[list[list[str]]]:
    """The lines of a file in parts; the first begins with the header."""
    with _opened(path, encoding) as file:
        lines = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
        width = 0
        try:
            while part := list(islice(lines, ROWS)):
                rows = []
                for cells in part:
                    if not cells or (len(cells) == 1 and not cells[0].strip() and width != 1):
                        continue
                    width = width or len(cells)
                    if len(cells) != width:
                        raise DataError(
                            f"a line of {path.name}, before line {lines.line_num + 1}, has "
                            f"{len(cells)} values and the header has {width}; every line has one "
                            "value per column."
                        )
                    rows.append(cells)
                if rows:
                    yield rows
        except (csv.Error, UnicodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _unreadable(path, encoding, lines.line_num + 1, error) from None
