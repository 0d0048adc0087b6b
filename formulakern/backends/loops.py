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
    typing_context: Any,
    x_words: Any,
    row: Any,
    z_panels: Any,
    panel: Any,
    word_start: Any,
    word_stop: Any,
    tile: Any,
    column: Any,
) -> Any:
    """``tile[r, column + c] = popcount(x_words[row + r] & panel row c)`` over some words.

    ``word_start < word_stop`` is required; all arrays are C-contiguous uint64.
    """
    from numba import types

    number = types.intp
    signature = types.void(x_words, number, z_panels, number, number, number, tile, number)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        word, small = ir.IntType(64), ir.IntType(32)

        def array(position: int) -> Any:
            return make_array(sig.args[position])(context, builder, arguments[position])

        x, z, out = array(0), array(2), array(6)
        row, panel, start, stop, column = (arguments[i] for i in (1, 3, 4, 5, 7))
        vector = ir.VectorType(word, LANES)

        def constant(value: int) -> Any:
            return ir.Constant(word, value)

        popcount = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
        )
        vectors = PANEL // LANES
        words = builder.extract_value(x.shape, 1)
        x_rows = [
            builder.gep(x.data, [builder.mul(builder.add(row, constant(r)), words)])
            for r in range(ROWS)
        ]
        z_panel = builder.gep(z.data, [builder.mul(panel, builder.mul(words, constant(PANEL)))])
        before = builder.block
        loop = builder.append_basic_block("count.loop")
        done = builder.append_basic_block("count.done")
        builder.branch(loop)

        builder.position_at_end(loop)
        index = builder.phi(word)
        index.add_incoming(start, before)
        zero = ir.Constant(vector, [constant(0)] * LANES)
        sums = []
        for _ in range(ROWS * vectors):
            total = builder.phi(vector)
            total.add_incoming(zero, before)
            sums.append(total)
        z_word = builder.gep(z_panel, [builder.mul(index, constant(PANEL))])
        z_vectors = [
            builder.load(
                builder.bitcast(builder.gep(z_word, [constant(v * LANES)]), vector.as_pointer()),
                align=8,
                typ=vector,
            )
            for v in range(vectors)
        ]
        undefined = ir.Constant(vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(small, LANES), [ir.Constant(small, 0)] * LANES)
        new_sums = []
        for r in range(ROWS):
            x_word = builder.load(builder.gep(x_rows[r], [index]))
            first = builder.insert_element(undefined, x_word, ir.Constant(small, 0))
            x_vector = builder.shuffle_vector(first, undefined, everywhere)
            for v in range(vectors):
                ones = builder.call(popcount, [builder.and_(z_vectors[v], x_vector)])
                new_sums.append(builder.add(sums[r * vectors + v], ones))
        following = builder.add(index, constant(1))
        index.add_incoming(following, loop)
        for total, new in zip(sums, new_sums, strict=True):
            total.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)

        builder.position_at_end(done)
        for r in range(ROWS):
            for v in range(vectors):
                place = builder.add(column, constant(r * TILE + v * LANES))
                pointer = builder.bitcast(builder.gep(out.data, [place]), vector.as_pointer())
                builder.store(new_sums[r * vectors + v], pointer, align=8)
        return context.get_dummy_value()

    return signature, code


@compiled()
def count_tile(
    x_words: Any,
    row: Any,
    z_panels: Any,
    column_start: Any,
    column_stop: Any,
    word_start: Any,
    word_stop: Any,
    tile: Any,
) -> None:
    """Joint counts of ROWS rows of x with the rows ``column_start … column_stop`` of z.

    Parameters
    ----------
    x_words : uint64 (rows of x, padded to a multiple of ROWS; words)
    row : int
    z_panels : uint64 (panels, words, PANEL)
    column_start : int
        A multiple of PANEL.
    column_stop : int
        At most ``column_start + TILE``.
    word_start, word_stop : int
        The words of one domain.
    tile : uint64 (ROWS, TILE)
        Receives the counts, and zeros or more counts up to the end of the last panel.
    """
    if word_start == word_stop:
        tile[:] = 0
        return
    for column in range(0, column_stop - column_start, PANEL):
        panel = (column_start + column) // PANEL
        _count_panel(x_words, row, z_panels, panel, word_start, word_stop, tile, column)


# -- blocks of the result --------------------------------------------------------------------------


def finish(*arguments: Any) -> None:
    """What becomes of the counts of one row: ``finish(values, tile, r, row, column, a, b, c, d)``.

    ``values[j]`` receives the kernel of row ``row`` of x and row ``column + j`` of z.  They share
    ``tile[g, r, j]`` ones in domain g; a, b, c and d are what else it reads.  The positions are
    unsigned, for which numba leaves out the wrapping of negative indices that stops vectors.
    """
    raise NotImplementedError


def _fill_block(
    x_words: Any,
    z_panels: Any,
    spans: Any,
    tile: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    row_start: Any,
    row_stop: Any,
    column_start: Any,
    column_stop: Any,
    out: Any,
    out_row: Any,
    out_column: Any,
) -> None:
    """Fill a block of a matrix: count tile by tile, and finish row by row.

    Parameters
    ----------
    x_words, z_panels, spans
        Of :class:`.tables.PairedTables`.
    tile : uint64 (domains, ROWS, TILE)
        Working memory.
    a, b, c, d
        What ``finish`` reads beside the counts.
    row_start, row_stop, column_start, column_stop : int
        Rows of x and of z.
    out : float64 (rows, columns)
    out_row, out_column : int
        Where the block begins in ``out``.
    """
    chunk = CACHED // (x_words.shape[1] + 1) // TILE * TILE
    if chunk < TILE:
        chunk = TILE
    for chunk_start in range(column_start, column_stop, chunk):
        chunk_stop = chunk_start + chunk
        if chunk_stop > column_stop:
            chunk_stop = column_stop
        for row in range(row_start, row_stop, ROWS):
            for column in range(chunk_start, chunk_stop, TILE):
                stop = column + TILE
                if stop > chunk_stop:
                    stop = chunk_stop
                for g in range(len(tile)):
                    count_tile(
                        x_words, row, z_panels, column, stop, spans[g], spans[g + 1], tile[g]
                    )
                begin = out_column + column - column_start
                for r in range(ROWS):
                    if row + r < row_stop:
                        values = out[out_row + row - row_start + r, begin : begin + stop - column]
                        x_row, z_row = np.uint64(row + r), np.uint64(column)
                        finish(values, tile, np.uint64(r), x_row, z_row, a, b, c, d)


def _filling(finish: CompiledFunction[..., None], data: str) -> CompiledFunction[..., None]:
    words = "uint64[:, ::1], uint64[:, :, ::1], int64[::1], uint64[:, :, ::1]"
    block = "int64, int64, int64, int64, float64[:, ::1], int64, int64"
    return compiled(f"void({words}, {data}, {block})")(_fill_block).having(finish=finish)


@compiled(forceinline=True)
def _look_up(
    values: Any,
    tile: Any,
    r: Any,
    row: Any,
    column: Any,
    x_class: Any,
    starts: Any,
    strides: Any,
    table: Any,
) -> None:
    """``table[start + count]``; there are starts for every class of rows of x, and every z."""
    vectorized()
    start = starts[x_class[row]]
    for j in range(np.uint64(len(values))):
        values[j] = table[np.uint64(start[column + j]) + tile[0, r, j]]


@compiled(forceinline=True)
def _look_up_domains(
    values: Any,
    tile: Any,
    r: Any,
    row: Any,
    column: Any,
    x_class: Any,
    starts: Any,
    strides: Any,
    table: Any,
) -> None:
    """``table[start + Σ_g stride_g · count_g]``."""
    vectorized()
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
def _look_up_sum(
    values: Any,
    tile: Any,
    r: Any,
    row: Any,
    column: Any,
    x: Any,
    z: Any,
    stride: Any,
    table: Any,
) -> None:
    """``table[x + z + stride · count]``, of a single domain; x and z belong to the rows."""
    vectorized()
    start = x[row]
    for j in range(np.uint64(len(values))):
        values[j] = table[start + z[column + j] + stride * tile[0, r, j]]


look_up_sum_block = _filling(_look_up_sum, "uint64[::1], uint64[::1], uint64, float64[::1]")


def pair(
    tile: Any,
    r: Any,
    j: Any,
    x: Any,
    row: Any,
    z: Any,
    column: Any,
    sizes: Any,
    once: Any,
) -> float:
    """The kernel of one pair of rows; the emitter writes one for every program.

    Parameters
    ----------
    tile : uint64 (domains, ROWS, TILE)
        ``tile[g, r, j]`` columns of domain g are true in both rows.
    x, z : float64 (numbers, rows)
        What is known of every row: ``x[:, row]`` and ``z[:, column]``.
    sizes, once : float64 (numbers,)
        What is known of the domains, and of the tables.
    """
    raise NotImplementedError


@compiled(forceinline=True)
def _evaluate(
    values: Any,
    tile: Any,
    r: Any,
    row: Any,
    column: Any,
    x: Any,
    z: Any,
    sizes: Any,
    once: Any,
) -> None:
    vectorized()
    for j in range(np.uint64(len(values))):
        values[j] = pair(tile, r, j, x, row, z, column + j, sizes, once)


#: To be given a function ``pair``.
evaluate_block = _filling(_evaluate, "float64[:, ::1], float64[:, ::1], float64[::1], float64[::1]")


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
