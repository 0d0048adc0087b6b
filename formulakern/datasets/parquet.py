"""Parquet files, whole or in blocks of rows, through polars."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulakern.encoding.table import Table
from formulakern.errors import DataError
from formulakern.files.replacing import replacing
from formulakern.optional import needed

if TYPE_CHECKING:
    import polars

__all__ = ["ParquetBlocks", "ParquetWriter", "is_parquet", "read_parquet"]

#: Files that begin so are Parquet, whatever their name.
MAGIC = b"PAR1"
ENDINGS = (".parquet", ".pq")


def is_parquet(path: Path) -> bool:
    """Whether a file is one of Parquet: by its first bytes, else by the ending of its name."""
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError:
        return path.suffix.lower() in ENDINGS
    return start == MAGIC or (path.suffix.lower() in ENDINGS and not start)


def read_parquet(path: Path) -> Table:
    """The whole file.

    Raises
    ------
    DataError
        If it is damaged, or has no rows.
    MissingDependencyError
        If polars is not installed.
    """
    frame = _frame(path, _scanned(path))
    if not len(frame):
        raise DataError(f"{path.name} has no rows.")
    return Table.of(frame)


@dataclass(frozen=True)
class ParquetBlocks:
    """A Parquet file that is read block by block.

    Parameters
    ----------
    path : path
    names : tuple of str
        Of the columns.
    rows : int
        Of a block.
    """

    path: Path
    names: tuple[str, ...]
    rows: int

    @classmethod
    def of(cls, path: Path, rows: int) -> ParquetBlocks:
        """Read the names of the columns.

        Raises
        ------
        DataError
            If the file is damaged, or is none of Parquet.
        MissingDependencyError
            If polars is not installed.
        """
        lazy = _scanned(path)
        try:
            names = tuple(lazy.collect_schema().names())
        except _damage() as error:
            raise _damaged(path, error) from None
        return cls(path, names, rows)

    def __iter__(self) -> Iterator[tuple[Table, polars.DataFrame]]:
        """Blocks of rows, as a table and as a frame of polars."""
        lazy, start = _scanned(self.path), 0
        while len(frame := _frame(self.path, lazy.slice(start, self.rows))):
            yield Table.of(frame), frame
            start += len(frame)


class ParquetWriter:
    """Writes a Parquet file block by block: parts on the disk, which are joined at the end.

    Parameters
    ----------
    path : path
        Of the file.  Beside it there are parts for as long as it is written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._parts: list[Path] = []

    def write(self, frame: polars.DataFrame, more: Mapping[str, Sequence[Any]]) -> None:
        """Append rows, with further columns."""
        polars = needed("polars", "a Parquet file", "tables")
        frame = frame.with_columns(polars.Series(name, more[name], strict=False) for name in more)
        part = self._path.with_name(f".{self._path.name}.{len(self._parts)}.part")
        self._parts.append(part)
        frame.write_parquet(part)

    def close(self, whole: bool) -> None:
        """Join the parts, if all went well; and remove them."""
        polars = needed("polars", "a Parquet file", "tables")
        try:
            if whole:
                with replacing(self._path) as joined:
                    if len(self._parts) == 1:
                        self._parts[0].replace(joined)
                    else:
                        polars.scan_parquet(self._parts, glob=False).sink_parquet(joined)
        finally:
            for part in self._parts:
                part.unlink(missing_ok=True)


def _scanned(path: Path) -> Any:
    polars = needed("polars", "a Parquet file", "tables")
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a Parquet file.")
    if not path.stat().st_size:
        raise DataError(f"{path.name} is empty; expected a Parquet file.")
    return polars.scan_parquet(path, glob=False)


def _frame(path: Path, lazy: Any) -> polars.DataFrame:
    try:
        frame: polars.DataFrame = lazy.collect()
        return frame
    except _damage() as error:
        raise _damaged(path, error) from None


def _damage() -> tuple[type[Exception], ...]:
    polars = needed("polars", "a Parquet file", "tables")
    errors: Any = polars.exceptions
    return (errors.PolarsError, OSError, OverflowError)


def _damaged(path: Path, error: Exception) -> DataError:
    reason = " ".join(str(error).split())[:200].rstrip(".")
    return DataError(f"{path.name} is damaged: polars cannot read it ({reason}).")
