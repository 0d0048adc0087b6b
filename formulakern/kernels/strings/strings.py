"""Strings as kernels read them: code points one after the other, coded alike in X and Z."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import IntArray
from formulakern.backends.tables import RowPair
from formulakern.checks import check_integer
from formulakern.errors import DataError, ParameterError
from formulakern.kernels.algebra import Kernel
from formulakern.tables.column import as_series, is_missing
from formulakern.tables.read import column_positions, default_names, opened
from formulakern.tables.table import Table
from formulakern.text import clip

__all__ = ["Codes", "StringKernel", "StringPair", "Strings", "read_strings"]

Points = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Strings:
    """Strings, one after the other.

    Build it by :func:`read_strings`.

    Parameters
    ----------
    points : uint32 of shape (letters of all strings,)
        A letter is a Unicode code point.
    starts : int64 of shape (rows + 1,)
        String i is ``points[starts[i] : starts[i + 1]]``.
    role : str
        What messages call the argument.

    >>> strings = Strings.of(["ab", "c"])
    >>> strings.n_rows, strings.lengths, strings.take(np.array([1]))[0]
    (2, array([2, 1]), 'c')
    """

    points: Points
    starts: IntArray
    role: str = "X"

    @classmethod
    def of(cls, texts: Sequence[str], role: str = "X") -> Strings:
        """From texts."""
        letters = "".join(texts).encode("utf-32-le", "surrogatepass")
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return cls(np.frombuffer(letters, dtype="<u4").astype(np.uint32), starts, role)

    def __getitem__(self, row: int) -> str:
        points = self.points[self.starts[row] : self.starts[row + 1]]
        return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_rows(self) -> int:
        """The number of strings."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """The number of letters of every string."""
        return np.diff(self.starts)

    @property
    def n_columns(self) -> int:
        """The length of the longest."""
        return int(self.lengths.max(initial=0))

    def take(self, rows: npt.NDArray[np.intp]) -> Strings:
        """Some of the strings."""
        lengths = self.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        letters = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Strings(self.points[letters], starts, self.role)


class StringPair(RowPair):
    """Strings X and Z, read and checked; Z may be X."""

    def __init__(self, X: Any, Z: Any = None) -> None:
        z = None if Z is None or Z is X else read_strings(Z, role="Z")
        super().__init__(read_strings(X, role="X"), z)

    @property
    def sides(self) -> tuple[Strings, ...]:
        """X; and Z, where that is another."""
        return (self.x,) if self.z is None else (self.x, self.z)

    @cached_property
    def symbols(self) -> Points:
        """The different letters of X and Z, in the order of Unicode."""
        present = np.zeros(max(int(side.points.max(initial=0)) for side in self.sides) + 1, bool)
        for side in self.sides:
            present[side.points] = True
        return np.flatnonzero(present).astype(np.uint32)

    @cached_property
    def codes(self) -> tuple[Codes, Codes]:
        """Every letter of X and of Z as its place among the symbols."""
        symbols = self.symbols
        kind = np.min_scalar_type(max(len(symbols) - 1, 0))
        place = np.zeros(int(symbols.max(initial=0)) + 1, kind)
        place[symbols] = np.arange(len(symbols))
        x, *z = [place[side.points] for side in self.sides]
        return x, z[0] if z else x

    def aligned_codes(self, kernel: object) -> tuple[Codes, Codes]:
        """The codes of strings of one length n: of shape (rows, n)."""
        first = next((int(side.lengths[0]) for side in self.sides if side.n_rows), 0)
        for side in self.sides:
            other = np.flatnonzero(side.lengths != first)
            if len(other):
                row = int(other[0])
                against = "row 0" if side.role == self.x.role else f"row 0 of {self.x.role}"
                raise DataError(
                    f"row {row} of {side.role} has {side.lengths[row]:,} letters and {against} has "
                    f"{first:,}; {kernel!r} compares strings position by position. Pass strings of "
                    "one length, or use fk.strings.spectrum(k), which takes any."
                )
        x, z = (codes.reshape(-1, max(first, 1)) for codes in self.codes)
        return x, z


def read_strings(X: Any, column: str | int | None = None, role: str = "X") -> Strings:
    """The strings of a list, an array, a Series, or one column of a table.

    >>> read_strings(["ACGT", "AC"]).lengths
    array([4, 2])
    >>> read_strings({"name": [1, 2], "sequence": ["ACGT", "ACCT"]})[1]
    'ACCT'
    >>> read_strings(["ACGT", None])
    Traceback (most recent call last):
        ...
    formulakern.errors.DataError: row 1 of X is missing (None). Leave such rows out.
    """
    if isinstance(X, Strings):
        return X
    if isinstance(X, (str, bytes)):
        raise DataError(f"{role} is one {type(X).__name__}; expected several. For one: [{role}].")
    values = _one_dimensional(X)
    values = _column_of(X, column, role) if values is None else values
    for row, value in enumerate(values):
        if not isinstance(value, str) or not value:
            raise _unfit(value, row, role)
    return Strings.of(values, role)


def _one_dimensional(X: Any) -> list[Any] | None:
    """The entries, where X is no table."""
    series = as_series(X)
    if series is not None:
        return list(series.to_list())
    if isinstance(X, np.ndarray):
        return list(X.tolist()) if X.ndim == 1 and X.dtype.names is None else None
    if isinstance(X, (list, tuple)):
        rows = any(isinstance(row, (list, tuple, np.ndarray)) for row in X[:1])
        return None if rows else list(X)
    return None


def _column_of(X: Any, column: str | int | None, role: str) -> list[Any]:
    """The entries of the column that is meant."""
    found = opened(X.columns if isinstance(X, Table) else X)
    columns = found.columns
    names = default_names(len(columns)) if found.names is None else found.names
    if column is not None:
        chosen = column_positions(X, [column])
    elif len(columns) == 1:
        chosen = (0,)
    else:
        chosen = tuple(i for i, values in enumerate(columns) if _holds_text(values))
    if len(chosen) != 1:
        listed = ", ".join(f'"{names[i]}"' for i in chosen[:8])
        raise DataError(
            f"{role} has {len(chosen)} columns of text{f' ({listed})' if listed else ''}; expected "
            "one. Pass that column alone, or to StringSVC its name: column=..."
        )
    return _listed(columns[chosen[0]])


def _listed(values: Any) -> list[Any]:
    series = as_series(values)
    if series is None and not isinstance(values, (np.ndarray, Iterable)):
        raise DataError(
            f"a column of X is {clip(repr(values), 40)}; expected one string per row. Write [...]."
        )
    return list(series.to_list() if series is not None else values)


def _holds_text(values: Any) -> bool:
    """Whether the first entry that is not missing is a string."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        return False
    return isinstance(next((v for v in _listed(values) if not is_missing(v)), None), str)


def _unfit(value: Any, row: int, role: str) -> DataError:
    where = f"row {row} of {role}"
    if isinstance(value, str):
        return DataError(f"{where} is an empty string. Leave such rows out.")
    if isinstance(value, bytes):
        return DataError(f"{where} holds bytes; expected a str. Write value.decode().")
    if isinstance(value, (list, tuple, dict, Mapping, np.ndarray)) or not is_missing(value):
        return DataError(
            f"{where} holds {clip(repr(value), 40)} ({type(value).__name__}); expected a str."
        )
    return DataError(f"{where} is missing ({value}). Leave such rows out.")


class StringKernel(Kernel):
    """A kernel whose rows are strings.

    X and Z are a list, a NumPy array or a Series (pandas, polars) of strings, or a table with one
    column of text.  A letter is a Unicode code point, and all letters are equally unlike.
    """

    #: What its rows are.
    reads: ClassVar[str] = "strings"
    #: For Gaussian processes: rows are no vectors.
    requires_vector_input: ClassVar[bool] = False

    def read(self, X: Any, Z: Any = None) -> Any:
        """The strings of X and Z."""
        return StringPair(X, Z)

    def alphabet_size(self, n: int | Mapping[str | None, int]) -> int:
        """Return the number of letters that there are, as :meth:`dimension` gets it."""
        if not isinstance(n, Mapping) or "alphabet" not in n:
            raise ParameterError(
                f"the dimension of {self!r} depends on how many letters there are; pass for "
                'example dimension({None: 60, "alphabet": 4}) for strings of 60 letters out of 4.'
            )
        check_integer("the size of the alphabet", n["alphabet"], 1)
        return int(n["alphabet"])
