"""The compiled loops over pairs of rows: counting the ones they share, and what becomes of these.

The columns of a table are bits of 64-bit words.  Rows of x keep their words together.  Rows of z
are regrouped into *panels* of 16, word by word, so that one vector register holds the same word of
eight rows.  Four rows of x meet one panel in registers: per word two loads, eight ANDs, eight
vector popcounts and eight additions for 64 pairs.

The counting and the vector width are written in LLVM: ``tests/benchmarks/test_gram.py`` measures
what each is worth.  Processors without vector popcount get LLVM's own expansion of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.backends.tables import PANEL, ROWS
from formulakern.compilation import CompiledFunction, compiled, intrinsic

__all__ = [
    "JOINS",
    "TILE",
    "choose",
    "count_tile",
    "evaluate_block",
    "finish",
    "look_up_block",
    "look_up_domains_block",
    "look_up_rows",
    "look_up_sum_block",
    "pair",
    "vectorized",
    "whole",
]

#: Columns of the result that are finished together; a multiple of PANEL.
TILE = 256
#: 64-bit numbers in the vectors that are written into the code.
LANES = 8
#: What is done with the values of a row: stored, added to what is there, multiplied with it.
STORED, ADDED, MULTIPLIED = 0, 1, 2
JOINS = {"store": STORED, "add": ADDED, "multiply": MULTIPLIED}
#: Words of z that stay in the cache while all rows of x pass.
CACHED = 131_072


@intrinsic
def vectorized(typing_context: Any) -> Any:
    """Let the loops of the calling function use the widest vectors.

    Called in a function that writes to none of the memory it reads: its array arguments are
    declared free of aliases, without which LLVM gives up on functions of many arrays.  The width is
    a preference; a processor without 512-bit vectors takes what it has.
    """
    from numba import types

    signature = types.void()

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir

        # llvmlite writes out any name, but its method add() knows only those without a value
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        words, reals = ir.IntType(64).as_pointer(), ir.DoubleType().as_pointer()
        for argument in builder.function.args:
            if argument.type in (words, reals):  # data, not book-keeping
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return signature, code


@intrinsic
def _count_panel(
    typing_context: Any, x: Any, z: Any, start: Any, stop: Any, tile: Any, column: Any
) -> Any:
    """``tile[r, column + c] = Σ popcount(x[r, word] & z[word, c])`` over words ``start … stop``.

    All arrays are C-contiguous uint64.
    """
    from numba import types

    number = types.intp
    signature = types.void(x, z, number, number, tile, number)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        word, small = ir.IntType(64), ir.IntType(32)
        vector = ir.VectorType(word, LANES)
        _, _, start, stop, _, column = arguments

        def place(argument: int, *index: Any) -> Any:
            """The place of an entry of an array, for its word or a vector from there."""
            kind = sig.args[argument]
            array = make_array(kind)(context, builder, arguments[argument])
            return cgutils.get_item_pointer(context, builder, kind, array, index)

        def of_vector(pointer: Any) -> Any:
            return builder.bitcast(pointer, vector.as_pointer())

        popcount = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
        )
        undefined = ir.Constant(vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(small, LANES), [small(0)] * LANES)
        zero = ir.Constant(vector, [word(0)] * LANES)
        lanes = [word(lane) for lane in range(0, PANEL, LANES)]
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in lanes] for _ in range(ROWS)]
        with cgutils.for_range(builder, stop, start) as loop:
            z_vectors = [
                builder.load(of_vector(place(1, loop.index, lane)), align=8) for lane in lanes
            ]
            for r in range(ROWS):
                x_word = builder.load(place(0, word(r), loop.index))
                first = builder.insert_element(undefined, x_word, small(0))
                x_vector = builder.shuffle_vector(first, undefined, everywhere)
                for total, z_vector in zip(sums[r], z_vectors, strict=True):
                    ones = builder.call(popcount, [builder.and_(z_vector, x_vector)])
                    builder.store(builder.add(builder.load(total), ones), total)
        for r in range(ROWS):
            for total, lane in zip(sums[r], lanes, strict=True):
                to = of_vector(place(4, word(r), builder.add(column, lane)))
                builder.store(builder.load(total), to, align=8)
        return context.get_dummy_value()

    return signature, code


@compiled()
def count_tile(x: Any, z_panels: Any, start: Any, stop: Any, tile: Any) -> None:
    """Joint counts of ROWS rows of x with some panels of z.

    Parameters
    ----------
    x : uint64 (ROWS, words)
    z_panels : uint64 (at most TILE / PANEL panels, words, PANEL)
    start, stop : int
        The words of one domain.
    tile : uint64 (ROWS, TILE)
        Receives the counts, up to the end of the last panel.
    """
    for panel in range(len(z_panels)):
        _count_panel(x, z_panels[panel], start, stop, tile, panel * PANEL)


# -- blocks of the result --------------------------------------------------------------------------


def finish(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """What becomes of the counts of one row, given what else is read: ``data``, a tuple.

    ``values[j]`` receives the kernel of row ``row`` of x and row ``column + j`` of z.  They share
    ``tile[g, r, j]`` ones in domain g.  The positions are unsigned, for which numba leaves out the
    wrapping of negative indices that stops vectors.
    """
    raise NotImplementedError


@compiled(forceinline=True)
def _multiply(values: Any, row: Any, column: Any, factors: Any) -> None:
    """What :class:`.filling.Factors` say of the values of one row, from this column of z."""
    vectorized()
    x, z, same, weight = factors
    if len(x) > 0:
        mine = x[row]
        for j in range(np.uint64(len(values))):
            other = z[column + j]
            larger = mine if mine > other else other
            smaller = other if mine > other else mine
            values[j] = values[j] * larger * smaller
        if len(same) > 0:
            place = same[row] - np.int64(column)
            if 0 <= place < len(values):
                values[place] = 1.0 if mine > 0.0 else 0.0
    if weight != 1.0:
        for j in range(np.uint64(len(values))):
            values[j] *= weight


@compiled(forceinline=True)
def _join(values: Any, others: Any, join: Any) -> None:
    """Add others to the values, or multiply them by the others."""
    vectorized()
    if join == ADDED:
        for j in range(np.uint64(len(values))):
            values[j] += others[j]
    else:
        for j in range(np.uint64(len(values))):
            values[j] *= others[j]


def _fill_block(
    tables: Any, memory: Any, data: Any, steps: Any, block: Any, out: Any, corner: Any
) -> None:
    """Fill a block of a matrix: count tile by tile, and finish row by row.

    Parameters
    ----------
    tables : tuple
        x_words, z_panels and spans of :class:`.tables.PairedTables`.
    memory : tuple
        To work in: uint64 (domains, ROWS, TILE), float64 (TILE,).
    data : tuple
        What ``finish`` reads beside the counts.
    steps : tuple
        What is done with the values of a row at once: they are multiplied by factors, stored in
        ``out`` or joined with what it holds (see ``JOINS``), and this is multiplied by factors.
    block : tuple of int
        First and last row of x, first and last row of z; the last ones are left out.
    out : float64 (rows, columns)
    corner : tuple of int
        Row and column of ``out`` where the block begins.
    """
    x_words, z_panels, spans = tables
    tile, apart = memory
    join, before, after = steps
    row_start, row_stop, column_start, column_stop = block
    chunk = max(CACHED // (x_words.shape[1] + 1) // TILE, 1) * TILE
    for chunk_start in range(column_start, column_stop, chunk):
        chunk_stop = min(chunk_start + chunk, column_stop)
        for row in range(row_start, row_stop, ROWS):
            x = x_words[row : row + ROWS]
            for column in range(chunk_start, chunk_stop, TILE):
                stop = min(column + TILE, chunk_stop)
                z = z_panels[column // PANEL : -(-stop // PANEL)]
                for g in range(len(tile)):
                    count_tile(x, z, spans[g], spans[g + 1], tile[g])
                begin = corner[1] + column - column_start
                for r in range(min(ROWS, row_stop - row)):
                    stored = out[corner[0] + row - row_start + r, begin : begin + stop - column]
                    values = stored if join == STORED else apart[: stop - column]
                    at, left = np.uint64(row + r), np.uint64(column)
                    finish(values, tile, np.uint64(r), at, left, data)
                    _multiply(values, at, left, before)
                    if join != STORED:
                        _join(stored, values, join)
                        _multiply(stored, at, left, after)


def _filling(finish: CompiledFunction[..., None], data: str) -> CompiledFunction[..., None]:
    tables = "Tuple((uint64[:, ::1], uint64[:, :, ::1], int64[::1]))"
    memory = "Tuple((uint64[:, :, ::1], float64[::1]))"
    factors = "Tuple((float64[::1], float64[::1], int64[::1], float64))"
    steps = f"Tuple((int64, {factors}, {factors}))"
    block = "UniTuple(int64, 4), float64[:, ::1], UniTuple(int64, 2)"
    signature = f"void({tables}, {memory}, Tuple(({data})), {steps}, {block})"
    return compiled(signature)(_fill_block).having(finish=finish)


@compiled(forceinline=True)
def _look_up(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """``table[start + count]``; there are starts for every class of rows of x, and every z."""
    vectorized()
    x_class, starts, _, table = data
    start = starts[x_class[row]]
    for j in range(np.uint64(len(values))):
        values[j] = table[np.uint64(start[column + j]) + tile[0, r, j]]


@compiled(forceinline=True)
def _look_up_domains(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """``table[start + Σ_g stride_g · count_g]``."""
    vectorized()
    x_class, starts, strides, table = data
    start, stride = starts[x_class[row]], strides[x_class[row]]
    for j in range(np.uint64(len(values))):
        place = np.uint64(start[column + j])
        for g in range(len(tile)):
            place += tile[g, r, j] * np.uint64(stride[g, column + j])
        values[j] = table[place]


_TABULATED = "int64[::1], int32[:, ::1], int32[:, :, ::1], float64[::1]"
look_up_block = _filling(_look_up, _TABULATED)
look_up_domains_block = _filling(_look_up_domains, _TABULATED)


@compiled(forceinline=True)
def _look_up_sum(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """``table[x + z + stride · count]``, of a single domain; x and z belong to the rows."""
    vectorized()
    x, z, stride, table = data
    start = x[row]
    for j in range(np.uint64(len(values))):
        values[j] = table[start + z[column + j] + stride * tile[0, r, j]]


look_up_sum_block = _filling(_look_up_sum, "uint64[::1], uint64[::1], uint64, float64[::1]")


def pair(tile: Any, r: Any, j: Any, row: Any, column: Any, data: Any) -> float:
    """The kernel of one pair of rows; the emitter writes one for every program.

    Parameters
    ----------
    tile : uint64 (domains, ROWS, TILE)
        ``tile[g, r, j]`` columns of domain g are true in both rows.
    data : tuple
        ``x`` and ``z``, float64 (numbers, rows): what is known of every row, ``x[:, row]`` and
        ``z[:, column]``; ``sizes`` and ``once``, float64 (numbers,): what is known of the domains,
        and of the tables; and what the caller multiplies the result by.
    """
    raise NotImplementedError


@compiled(forceinline=True)
def _evaluate(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    vectorized()
    for j in range(np.uint64(len(values))):
        values[j] = pair(tile, r, j, row, column + j, data) * data[4]


#: To be given a function ``pair``.
evaluate_block = _filling(
    _evaluate, "float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64"
)


@compiled(forceinline=True)
def choose(count: Any, lower: Any) -> Any:
    """C(count, lower); a factor is 0 where count < lower, and every partial product an integer."""
    value = count
    for i in range(1, lower):
        value = value * (count - i) / (i + 1.0)
    return value


@compiled(forceinline=True)
def whole(value: Any) -> Any:
    """A quotient that is an integer, as one, where float64 holds it."""
    return np.rint(value) if value < 2.0**50 else value


# -- looking up ------------------------------------------------------------------------------------


@compiled(forceinline=True)
def _look_up_numbers(values: Any, numbers: Any, table: Any) -> None:
    vectorized()
    for j in range(len(values)):
        values[j] = table[numbers[j]]


@compiled(
    *(
        f"void({dtype}[:, ::1], float64[::1], int64, int64, float64[:, ::1])"
        for dtype in ("uint8", "uint16", "uint32")
    )
)
def look_up_rows(index: Any, table: Any, start: Any, stop: Any, out: Any) -> None:
    """``out[i, j] = table[index[i, j]]`` for the rows ``start … stop``."""
    for i in range(start, stop):
        _look_up_numbers(out[i], index[i], table)
