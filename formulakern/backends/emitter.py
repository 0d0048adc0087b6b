"""Program → Python source of its pair function and of the loop around it.

Only positions, integers and a few fixed words are ever written: nothing of the user's text
reaches the source, and equal programs give equal source.
"""

from __future__ import annotations

from formulakern.program.node import Constant, Count, Program, Sum
from formulakern.program.staging import Stage, Stages, stages

__all__ = ["FILL_SIGNATURE", "emit_pair", "emit_source"]

#: Largest number of operands written into one expression; longer ones become several lines.
_WIDTH = 16

FILL_SIGNATURE = (
    "void(uint64[:, ::1], uint64[:, :, ::1], int64[::1], float64[:, ::1], float64[:, ::1], "
    "float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], "
    "int64, int64, int64, int64, float64[:, ::1], int64, int64)"
)


def emit_pair(program: Program, scaled: bool) -> str:
    """The source of ``pair``: the kernel of one pair of rows from their counts.

    Parameters
    ----------
    program : Program
    scaled : bool
        Whether counts are divided by the number of columns (``scale="probability"``).

    Returns
    -------
    str
        A function of, for every domain g, the counts ``s{g} p{g} q{g} n{g}`` (and the scale
        ``w{g}``), and of the numbers known before: ``t{i}`` per table, ``x{i}`` and ``z{i}`` per
        row, i the position in the program.
    """
    stage = stages(program)
    lines = [f"def pair({', '.join(_parameters(program, stage, scaled))}):"]
    if stage.of[program.output] == Stage.PAIR:
        for position in stage.pair:
            lines += _assignments(program, stage, position, scaled)
    result = _name(stage, program.output)
    divisor = f" / {float(program.divisor)!r}" if program.divisor != 1 and not scaled else ""
    lines.append(f"    return {result}{divisor}")
    return "\n".join(lines) + "\n"


def emit_source(program: Program, scaled: bool) -> str:
    """The source of a whole module: ``pair``, and ``fill``, the loop over a block of pairs."""
    stage = stages(program)
    domains = range(len(program.domains))
    arguments = []
    for g in domains:
        arguments += [f"float(tile[{g}, r, j])", f"p{g}", f"ones_z[{g}, column + j]", f"size[{g}]"]
        arguments += [f"weight[{g}]"] if scaled else []
    arguments += [f"early_t[{k}]" for k in range(len(stage.table))]
    arguments += [f"x{k}" for k in stage.row_x]
    arguments += [f"early_z[{k}, column + j]" for k in range(len(stage.row_z))]
    hoisted = [f"p{g} = ones_x[{g}, row + r]" for g in domains]
    hoisted += [f"x{i} = early_x[{k}, row + r]" for k, i in enumerate(stage.row_x)]
    indent = "\n                    "
    return _MODULE.format(
        pair=emit_pair(program, scaled),
        signature=FILL_SIGNATURE,
        domains=len(program.domains),
        hoisted=indent.join(hoisted) or "pass",
        arguments=(",\n" + " " * 28).join(arguments),
    )


_MODULE = '''\
"""Emitted by formulakern from a program of joint counts."""

import numpy as np
from numba import njit

from formulakern.backends.loops import ROWS, TILE, count_tile


@njit(nogil=True)
{pair}

@njit("{signature}", nogil=True, cache=True)
def fill(x_words, z_panels, spans, ones_x, ones_z, early_x, early_z, early_t, size_and_weight,
         row_start, row_stop, column_start, column_stop, out, out_row, out_column):
    size = size_and_weight[:{domains}]
    weight = size_and_weight[{domains}:]
    tile = np.empty(({domains}, ROWS, TILE), np.uint64)
    # so many columns of z at a time stay in the cache while all rows pass
    chunk = max(1, 131072 // (x_words.shape[1] + 1) // TILE) * TILE
    for chunk_start in range(column_start, column_stop, chunk):
        chunk_stop = min(chunk_start + chunk, column_stop)
        for row in range(row_start, row_stop, ROWS):
            for column in range(chunk_start, chunk_stop, TILE):
                stop = min(column + TILE, chunk_stop)
                for g in range({domains}):
                    count_tile(x_words, row, z_panels, column, stop, spans[g], spans[g + 1],
                               tile[g])
                for r in range(min(ROWS, row_stop - row)):
                    {hoisted}
                    values = out[out_row + row - row_start + r]
                    begin = out_column + column - column_start
                    for j in range(stop - column):
                        values[begin + j] = pair(
                            {arguments})
'''


def _parameters(program: Program, stage: Stages, scaled: bool) -> list[str]:
    names = []
    for g in range(len(program.domains)):
        names += [f"s{g}", f"p{g}", f"q{g}", f"n{g}"] + ([f"w{g}"] if scaled else [])
    names += [f"t{i}" for i in stage.table]
    names += [f"x{i}" for i in stage.row_x]
    names += [f"z{i}" for i in stage.row_z]
    return names


def _name(stage: Stages, position: int) -> str:
    return f"{'txzr'[stage.of[position]]}{position}"


def _assignments(program: Program, stage: Stages, position: int, scaled: bool) -> list[str]:
    node = program.nodes[position]
    target = f"    r{position}"
    if isinstance(node, Count):
        g = node.domain
        value = {
            "11": f"s{g}",
            "10": f"p{g} - s{g}",
            "01": f"q{g} - s{g}",
            "00": f"(n{g} - p{g}) - (q{g} - s{g})",
        }[node.cell]
        if node.used:
            value = f"max({value} - {float(node.used)!r}, 0.0)"
        return [f"{target} = ({value}) * w{g}" if scaled else f"{target} = {value}"]
    assert not isinstance(node, Constant)
    sign = " + " if isinstance(node, Sum) else " * "
    operands = [_name(stage, operand) for operand in node.operands]
    lines = []
    while len(operands) > _WIDTH:
        lines.append(f"{target} = {sign.join(operands[:_WIDTH])}")
        operands = [f"r{position}", *operands[_WIDTH:]]
    lines.append(f"{target} = {sign.join(operands)}")
    return lines
