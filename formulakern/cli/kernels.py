"""Commands on kernels: the stages of a formula's kernel, a Gram matrix, compiled functions."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from formulakern import cache as code_cache
from formulakern.cli.options import (
    FORMULA,
    NOMINAL,
    TABLE,
    check_output,
    command,
    data_line,
    kernel_of,
    nominal_columns,
    option,
    output,
    read_dataset,
    unwritable,
)
from formulakern.errors import ParameterError
from formulakern.files.replacing import replacing
from formulakern.progress import Progress
from formulakern.text import blocks

#: Bytes that are written without asking.
MAX_UNASKED = 10**9


@command(
    ['"(a & ~b) | c"', '"a -> b" --variables free'],
    *FORMULA,
)
def inspect(options: argparse.Namespace) -> None:
    """Print the stages."""
    from formulakern.display.terminal import show_inspection

    show_inspection(kernel_of(options, domains=True).inspect())


@command(
    ['"a & b" tic-tac-toe --out K.npy --normalize'],
    *FORMULA,
    *TABLE,
    NOMINAL,
    *output("-o --out K.npy", required=True),
    option("--normalize", "cosines", default=False),
    option("--dtype", "of the entries", choices=["float64", "float32"], default="float64"),
    option("--yes", "write more than 1 GB without asking", default=False),
)
def gram(options: argparse.Namespace) -> None:
    """Write the Gram matrix of a table as a file of NumPy."""
    import numpy as np

    from formulakern.estimators.encoder import PropositionEncoder

    plain = kernel_of(options)
    check_output(options.out, options.force, options.data)
    dataset = read_dataset(options)
    graded = options.inputs == "graded"
    encoder = PropositionEncoder(nominal=nominal_columns(options), graded=graded)
    encoded = encoder.fit_transform(dataset.data)
    kernel = plain.normalized() if options.normalize else plain
    shape = (encoded.shape[0],) * 2
    size = np.dtype(options.dtype).itemsize * encoded.shape[0] ** 2
    if size > MAX_UNASKED:
        _confirm(size, options)
    begin = perf_counter()
    try:
        with replacing(options.out) as new, Progress() as progress:
            kernel(
                encoded,
                out=_opened(new, shape, options.dtype),
                dtype=options.dtype,
                progress=lambda share: progress.at(share, "Gram matrix"),
            )
            seconds = perf_counter() - begin
    except OSError as error:
        raise unwritable(options.out, error.strerror or "the disk refuses") from None
    done = [
        ("data", f"{data_line(dataset)} → {encoded.shape[1]:,} propositions"),
        ("kernel", repr(kernel)),
        ("matrix", f"{shape[0]:,} x {shape[1]:,}, {options.dtype}, {seconds:.2f} s"),
        ("written", str(options.out)),
    ]
    print(blocks(done))


def _confirm(size: int, options: argparse.Namespace) -> None:
    """Ask before a large file is written; refuse if nobody can answer."""
    if options.yes:
        return
    what = f"the matrix takes {size / 1e9:,.1f} GB of {options.dtype}"
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{what}. Write {options.out}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise ParameterError("nothing was written.")
    raise ParameterError(
        f"{what}, more than {MAX_UNASKED / 1e9:g} GB. Pass --yes to write it, or fewer rows."
    )


def _opened(path: Path, shape: tuple[int, int], dtype: str) -> Any:
    """Return a new matrix on the disk as a memory map; its room is taken at once."""
    import numpy as np

    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):  # a full disk would end the process later
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return matrix


@command(
    [""],
    option("--clear", "delete them", default=False),
)
def cache(options: argparse.Namespace) -> None:
    """Print what the cache holds."""
    print(code_cache.info())
    if options.clear:
        code_cache.clear()
        print("deleted")
