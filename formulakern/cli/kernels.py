"""Commands on kernels: the stages of a formula's kernel, a Gram matrix, the code cache."""

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

#: Maximum size in bytes of a matrix that is written without confirmation.
MAX_UNCONFIRMED_BYTES = 10**9


@command(
    ['"(a & ~b) | c"', '"a -> b" --variables free'],
    *FORMULA,
)
def inspect(options: argparse.Namespace) -> None:
    """Print the stages of a formula's kernel."""
    from formulakern.display.terminal import show_inspection

    show_inspection(kernel_of(options, domains=True).inspect())


@command(
    ['"a & b" tic-tac-toe --out K.npy --normalize'],
    *FORMULA,
    *TABLE,
    NOMINAL,
    *output("-o --out K.npy", required=True),
    option("--normalize", "normalize the kernel: entries are cosines", default=False),
    option("--dtype", "type of the entries", choices=["float64", "float32"], default="float64"),
    option("--yes", "write more than 1 GB without confirmation", default=False),
)
def gram(options: argparse.Namespace) -> None:
    """Write the Gram matrix of a table to a NumPy file."""
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
    if size > MAX_UNCONFIRMED_BYTES:
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
        raise unwritable(options.out, error.strerror or "the disk reports an error") from None
    done = [
        ("data", f"{data_line(dataset)} → {encoded.shape[1]:,} propositions"),
        ("kernel", repr(kernel)),
        ("matrix", f"{shape[0]:,} x {shape[1]:,}, {options.dtype}, {seconds:.2f} s"),
        ("written", str(options.out)),
    ]
    print(blocks(done))


def _confirm(size: int, options: argparse.Namespace) -> None:
    """Ask for confirmation before a large file; raise ParameterError without a terminal."""
    if options.yes:
        return
    what = f"the matrix takes {size / 1e9:,.1f} GB of {options.dtype}"
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{what}. Write {options.out}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise ParameterError("nothing was written.")
    raise ParameterError(
        f"{what}, more than {MAX_UNCONFIRMED_BYTES / 1e9:g} GB. Pass --yes to write it, or use "
        "fewer rows."
    )


def _opened(path: Path, shape: tuple[int, int], dtype: str) -> Any:
    """Create a matrix on disk as a memory map, and reserve its space."""
    import numpy as np

    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):  # otherwise a full disk could end the process later
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return matrix


@command(
    [""],
    option("--clear", "delete all entries", default=False),
)
def cache(options: argparse.Namespace) -> None:
    """Print the contents of the cache, and clear it on request."""
    print(code_cache.info())
    if options.clear:
        code_cache.clear()
        print("deleted")
