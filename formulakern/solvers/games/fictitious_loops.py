"""Compiled: rounds of fictitious play, a pass over one row and one column each.

A round costs two additions of a vector, each with the largest sum as a by-product.  Vectors are
padded to whole blocks and keep the largest entry of each block, so that finding where the largest
of all stands reads one block.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

from formulakern.compilation import compiled, intrinsic

__all__ = ["BLOCK", "fictitious_rounds"]

#: Entries whose largest is kept; vectors are padded to a multiple.
BLOCK = 64
#: Bytes in the vectors that are written into the code; narrower processors split them.
VECTOR_BYTES = 64


@intrinsic
def _add_row(typing_context: Any, totals: Any, rows: Any, index: Any, tops: Any) -> Any:
    """``totals += rows[index]``; ``tops[b] = max of block b``; returns the largest of all.

    All arrays are C-contiguous and share no memory; the length of ``totals`` is a multiple of BLOCK
    and there is at least one block.  Nothing is NaN.
    """
    from numba import types

    signature = totals.dtype(totals, rows, types.intp, tops)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        # llvmlite writes out any name, but its method add() knows only those without a value
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')

        real = isinstance(sig.args[0].dtype, types.Float)
        element = context.get_data_type(sig.args[0].dtype)
        stored = context.get_data_type(sig.args[1].dtype)
        lanes = VECTOR_BYTES // (sig.args[0].dtype.bitwidth // 8)
        vector, narrow = ir.VectorType(element, lanes), ir.VectorType(stored, lanes)
        word = ir.IntType(64)
        flags = ("nnan", "nsz")

        totals, rows, tops = (
            make_array(sig.args[k])(context, builder, arguments[k]) for k in (0, 1, 3)
        )
        width = builder.extract_value(rows.shape, 1)
        blocks = builder.extract_value(tops.shape, 0)
        row = builder.gep(rows.data, [builder.mul(arguments[2], width)])
        kind = "fmax" if real else "smax"
        suffix = f"v{lanes}{'f' if real else 'i'}{sig.args[0].dtype.bitwidth}"
        reduction = builder.module.declare_intrinsic(
            f"llvm.vector.reduce.{kind}.{suffix}", (), ir.FunctionType(element, [vector])
        )

        def larger(a: Any, b: Any) -> Any:
            if real:
                return builder.select(builder.fcmp_ordered(">", a, b, flags=flags), a, b)
            return builder.select(builder.icmp_signed(">", a, b), a, b)

        def vector_at(data: Any, place: Any, kind: Any) -> Any:
            return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())

        before = builder.block
        loop = builder.append_basic_block("add.loop")
        done = builder.append_basic_block("add.done")
        builder.branch(loop)

        builder.position_at_end(loop)
        block = builder.phi(word)
        block.add_incoming(ir.Constant(word, 0), before)
        best = builder.phi(element)
        lowest = float("-inf") if real else -(2 ** (sig.args[0].dtype.bitwidth - 1))
        best.add_incoming(ir.Constant(element, lowest), before)
        start = builder.mul(block, ir.Constant(word, BLOCK))
        sums = []
        for offset in range(0, BLOCK, lanes):
            place = builder.add(start, ir.Constant(word, offset))
            target = vector_at(totals.data, place, vector)
            # a vector needs no more alignment than its elements have
            old = builder.load(target, align=sig.args[0].dtype.bitwidth // 8)
            step = builder.load(
                vector_at(row, place, narrow), align=sig.args[1].dtype.bitwidth // 8
            )
            new = builder.fadd(old, step) if real else builder.add(old, builder.sext(step, vector))
            builder.store(new, target, align=sig.args[0].dtype.bitwidth // 8)
            sums.append(new)
        while len(sums) > 1:
            sums = [larger(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
        top = builder.call(reduction, sums, fastmath=flags if real else ())
        builder.store(top, builder.gep(tops.data, [block]))
        new_best = larger(top, best)
        following = builder.add(block, ir.Constant(word, 1))
        block.add_incoming(following, loop)
        best.add_incoming(new_best, loop)
        builder.cbranch(builder.icmp_signed("<", following, blocks), loop, done)

        builder.position_at_end(done)
        return new_best

    return signature, code


@compiled()
def _first(totals: Any, tops: Any, best: Any) -> Any:
    """The lowest index of the largest entry, ``best``, given the largest of each block."""
    b = 0
    while tops[b] != best:
        b += 1
    block = totals[BLOCK * b : BLOCK * b + BLOCK]
    at = BLOCK
    for k in range(BLOCK):  # no way out of the loop: it is compared in vectors
        here = k if block[k] == best else BLOCK
        at = here if here < at else at
    return BLOCK * b + at


def _signature(stored: str, element: str) -> str:
    matrix, totals = f"Array({stored}, 2, 'C', readonly=True)", f"{element}[::1]"
    arrays = ", ".join([matrix, matrix, *[totals] * 4, *["float64[::1]"] * 2])
    return f"int64({arrays}, float64, float64, float64, int64)"


@compiled(_signature("float64", "float64"), _signature("int8", "int32"))
def fictitious_rounds(
    payoffs: Any,
    losses: Any,
    row_totals: Any,
    column_totals: Any,
    row_tops: Any,
    column_tops: Any,
    row_counts: Any,
    column_counts: Any,
    rows_played: Any,
    columns_played: Any,
    tol: Any,
    rounds: Any,
) -> Any:
    """Both players in turn answer best what the other has played so far.

    Parameters
    ----------
    payoffs : float64 or int8 (m, N)
        M, each row padded with zeros.
    losses : float64 or int8 (n, M)
        −M', each row padded with zeros.
    row_totals : float64 or int32 (M,)
        −M c for the counts c of columns, padded with the lowest number; changes in place.
    column_totals : float64 or int32 (N,)
        M' r for the counts r of rows, padded with the lowest number; changes in place.
    row_tops, column_tops : (M / BLOCK,), (N / BLOCK,)
        The largest entry of each block of the totals; changes in place.
    row_counts, column_counts : float64 (m,), (n,)
        r and c; change in place.
    rows_played, columns_played : float64
        Their sums.
    tol : float64
        Stop after the first round whose gap is at most this.
    rounds : int64

    Returns
    -------
    int64
        Rounds played; minus that where the gap has reached ``tol``.
    """
    high = row_tops.max()
    for number in range(1, rounds + 1):
        i = _first(row_totals, row_tops, high)
        row_counts[i] += 1.0
        top = _add_row(column_totals, payoffs, i, column_tops)
        j = _first(column_totals, column_tops, top)
        column_counts[j] += 1.0
        high = _add_row(row_totals, losses, j, row_tops)
        if top / (rows_played + number) + high / (columns_played + number) <= tol:
            return -number
    return rounds
