"""Tables from CSV files with a header line and a class column."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.datasets.dataset import Dataset
from formulakern.encoding.columns import did_you_mean, numbers_in, text_column
from formulakern.encoding.table import Table
from formulakern.errors import DataError
from formulakern.syntax.temporal import read_temporal

__all__ = ["DELIMITERS", "GZIP_MAGIC", "cleaned_values", "dates_of", "header_of", "read_table"]

DELIMITERS = (",", ";", "\t")
GZIP_MAGIC = b"\x1f\x8b"


def read_table(
    path: str | os.PathLike[str],
    target: str | None = None,
    missing: Collection[str] = ("?", ""),
) -> Dataset:
    """Read a CSV file with a header line; one of its columns is the class.

    Parameters
    ----------
    path : str or path
        A text file in UTF-8 (with or without a byte order mark), plain or compressed by gzip. The
        delimiter (comma, semicolon or tab) is the one that the header has most of; fields may stand
        in double quotes. Blanks around a value are dropped, and so are empty lines.
    target : str, optional
        The name of the class column; default: the last column.
    missing : collection of str, default=("?", "")
        What stands for a missing value.

    Returns
    -------
    Dataset
        A column in which every value reads as a number is numeric (NaN = missing), the others are
        text (None = missing). The class is an array of numbers or of str.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DataError
        If it is empty, no UTF-8 text, has lines of different lengths (the message has the line's
        number), equal names in the header, no class column of that name, or rows without class.

    Notes
    -----
    Reads the whole file; linear. 32,561 rows of 15 columns take about 0.3 s.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fruit.csv"
    >>> _ = path.write_text("colour,size,class\\nred,3,apple\\n?,5,pear\\n")
    >>> X, y = read_table(path)
    >>> X["colour"], X["size"], y
    (array(['red', None], dtype=object), array([3, 5]), array(['apple', 'pear'], dtype='<U5'))
    """
    path = Path(path)
    header, rows = _read_rows(path)
    if target is not None and target not in header:
        raise DataError(f'no column "{target}" in {path.name}; {did_you_mean(target, header)}')
    if len(header) < 2:
        raise DataError(
            f'{path.name} has one column, "{header[0]}"; expected columns and a class column, '
            "separated by commas, semicolons or tabs."
        )
    absent = set(missing)
    name = header[-1] if target is None else target
    columns = {
        column: _column(values, absent)
        for column, values in zip(header, zip(*rows, strict=True), strict=True)
    }
    classes = _classes(columns.pop(name), name, path)
    columns = {column: dates_of(values) for column, values in columns.items()}
    text = f"{len(rows):,} rows read from {path.name}."
    stem = path.name.removesuffix(".gz").removesuffix(".csv")
    return Dataset(Table(columns), classes, stem, text, name)


def _read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    text = _text(path)
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(DELIMITERS, key="".join(first_line.split('"')[::2]).count)  # outside quotes
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    header: list[str] = []
    rows: list[list[str]] = []
    try:
        for cells in lines:
            if not cells or (len(cells) == 1 and not cells[0].strip() and len(header) != 1):
                continue
            if not header:
                header = header_of(cells, path)
            elif len(cells) != len(header):
                raise DataError(
                    f"line {lines.line_num} of {path.name} has {len(cells)} values and the header "
                    f"has {len(header)}; every line has one value per column. Put a value that "
                    "contains the delimiter in double quotes."
                )
            else:
                rows.append(cells)
    except csv.Error as error:
        raise DataError(
            f"line {lines.line_num} of {path.name} cannot be read as delimited text: {error}. "
            "Double a quote that stands inside quotes."
        ) from error
    if not header:
        raise DataError(f"{path.name} is empty; expected a header line and rows.")
    if not rows:
        raise DataError(f"{path.name} has a header line and no rows.")
    return header, rows


def _text(path: Path) -> str:
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a CSV file.")
    content = path.read_bytes()
    if content.startswith(GZIP_MAGIC):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path.name} is damaged: gzip cannot read it ({error}).") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path.name} is not UTF-8 text: byte {content[error.start]:#04x} in line {line}. "
            "Expected a CSV file; save it with the encoding UTF-8."
        ) from error
    place = text.find("\0")
    if place >= 0:
        line = text.count("\n", 0, place) + 1
        raise DataError(f"{path.name} holds a NUL byte in line {line}; expected a CSV text file.")
    return text


def header_of(cells: list[str], path: Path) -> list[str]:
    """The names of the columns, checked."""
    header = [cell.strip() for cell in cells]
    seen: set[str] = set()
    for position, name in enumerate(header):
        if not name:
            raise DataError(
                f"column {position} of {path.name} has no name in the header line; "
                "give every column one."
            )
        if name in seen:
            raise DataError(
                f'two columns of {path.name} are named "{name}"; a rule could not tell them apart. '
                "Rename one of them in the header line."
            )
        seen.add(name)
    return header


def cleaned_values(values: tuple[str, ...], missing: set[str]) -> list[str | None]:
    """Values without blanks around them, None for a missing one; each is looked at once."""
    stripped = {value: value.strip() for value in set(values)}
    cleaned = {value: None if text in missing else text for value, text in stripped.items()}
    return [cleaned[value] for value in values]


def _column(values: tuple[str, ...], missing: set[str]) -> NDArray[Any]:
    entries = cleaned_values(values, missing)
    numbers = numbers_in(entries)
    return text_column(entries) if numbers is None else numbers


def dates_of(column: NDArray[Any]) -> NDArray[Any]:
    """A column of text that is all dates, all time stamps or all times of day as such."""
    texts = {*column.tolist()} - {None} if column.dtype == object else set()
    found = read_temporal(next(iter(texts))) if texts else None
    if found is None or found.kind == "duration":
        return column
    read = {text: read_temporal(text, found.kind) for text in texts}
    if None in read.values():
        return column
    return text_column(read.get(text) for text in column.tolist())


def _classes(column: NDArray[Any], name: str, path: Path) -> NDArray[Any]:
    values = column.tolist()
    for row, value in enumerate(values):
        if value is None or value != value:
            raise DataError(
                f'row {row} of {path.name} (after the header) has no class: "{name}" is missing. '
                "Remove the row, or name another class column."
            )
    return column if column.dtype != object else np.array(values, dtype=str)
