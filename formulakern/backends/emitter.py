"""Program → Python source of its pair function and of the loop around it.

Only positions, integers and a few fixed words are ever written: nothing of the user's text
reaches the source, and equal programs give equal source.
"""

from __future__ import annotations

from formulakern.backends.frame import fill_loop
from formulakern.program.magnitude import FLOAT64_MAX
from formulakern.program.node import Binomial, Constant, Count, Program, Quotient, Sum
from formulakern.program.staging import Stage, Stages, stages

__all__ = ["emit_pair", "emit_source"]

#: Largest number of operands written into one expression; longer ones become several lines.
_WIDTH = 16


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
    divisor = f" / {_divisor(program)}" if program.divisor != 1 and not scaled else ""
    lines.append(f"    return {result}{divisor}")
    return "\n".join(lines) + "\n"


def _divisor(program: Program) -> str:
    """The divisor as a float; beyond float64 infinite (a finite multiple of it is then 0)."""
    return repr(float(program.divisor)) if program.divisor <= FLOAT64_MAX else "np.inf"


def emit_source(program: Program, scaled: bool) -> str:
    """The source of a whole module: ``pair``, and ``fill``, the loop over a block of pairs."""
    stage = stages(program)
    domains = range(len(program.domains))
    arguments = []
    for g in domains:
        arguments += [f"float(tile[{g}, r, j])", f"p{g}", f"ones_z[{g}, column + j]", f"size[{g}]"]
        arguments += [f"size[{len(domains) + g}]"] if scaled else []
    arguments += [f"early_t[{k}]" for k in range(len(stage.table))]
    arguments += [f"x{k}" for k in stage.row_x]
    arguments += [f"early_z[{k}, column + j]" for k in range(len(stage.row_z))]
    hoisted = [f"p{g} = ones_x[{g}, row]" for g in domains]
    hoisted += [f"x{i} = early_x[{k}, row]" for k, i in enumerate(stage.row_x)]
    chooses = any(isinstance(program.nodes[i], Binomial) for i in stage.pair)
    return _MODULE.format(
        choose=_CHOOSE if chooses else "",
        pair=emit_pair(program, scaled),
        hoisted="\n    ".join(hoisted),
        arguments=(",\n" + " " * 12).join(arguments),
        fill=fill_loop(
            ones_x="float64[:, ::1]",
            ones_z="float64[:, ::1]",
            early_x="float64[:, ::1]",
            early_z="float64[:, ::1]",
            early_t="float64[::1]",
            size="float64[::1]",
        ),
    )


_CHOOSE = """\
@njit(nogil=True, forceinline=True)
def choose(count, lower):
    value = count  # a factor is 0 where count < lower; every partial product is an integer
    for i in range(1, lower):
        value = value * (count - i) / (i + 1.0)
    return value


"""

_MODULE = '''\
"""Emitted by formulakern from a program of joint counts."""

import numpy as np
from numba import njit

from formulakern.backends.loops import ROWS, TILE, count_tile, vectorized


{choose}@njit(nogil=True, forceinline=True)
{pair}

@njit(nogil=True)
def finish(values, tile, r, row, column, ones_x, ones_z, early_x, early_z, early_t, size):
    vectorized()
    {hoisted}
    for j in range(np.uint64(len(values))):
        values[j] = pair(
            {arguments})

{fill}'''


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
    if isinstance(node, Quotient):  # an integer again, where float64 holds it
        first = _name(stage, node.operands[0])
        quotient = f"{first} / {float(node.divisor)!r}"
        rounded = f"np.rint(r{position})"
        return [
            f"{target} = {quotient}",
            f"{target} = {rounded} if r{position} < 2.0**50 else r{position}",
        ]
    if isinstance(node, Binomial):
        return [f"{target} = choose({_name(stage, node.operands[0])}, {node.lower})"]
    sign = " + " if isinstance(node, Sum) else " * "
    operands = [_name(stage, operand) for operand in node.operands]
    lines = []
    while len(operands) > _WIDTH:
        lines.append(f"{target} = {sign.join(operands[:_WIDTH])}")
        operands = [f"r{position}", *operands[_WIDTH:]]
    lines.append(f"{target} = {sign.join(operands)}")
    return lines
