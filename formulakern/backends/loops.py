"""The inner loops of emitted code: counting the ones that two rows share, transposing.

The columns of a table are bits of 64-bit words.  Rows of x keep their words together; rows of z are
regrouped into *panels* of 16, word by word, so that one vector register holds the same word of
eight rows.  Four rows of x meet one panel in registers: per word two loads, eight ANDs, eight
vector popcounts and eight additions for 64 pairs.  The vector width is written into the LLVM
code; processors without vector popcount get LLVM's own expansion of it.

What becomes of the counts is the business of the emitted function ``finish``, one row of a tile at
a time (see :mod:`.frame`).
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["PANEL", "ROWS", "TILE", "count_tile", "transpose_square", "vectorized"]

#: Rows of x that are counted together.
ROWS = 4
#: Rows of z in a panel.
PANEL = 16
#: Columns of the result that are finished together; a multiple of PANEL.
TILE = 256
#: 64-bit numbers in the vectors that are written into the code.
LANES = 8

_WORD, _REAL, _SMALL = ir.IntType(64), ir.DoubleType(), ir.IntType(32)


@intrinsic
def vectorized(typing_context: Any) -> Any:
    """Let the loops of the calling function use the widest vectors.

    Called in a function that writes to none of the memory it reads: its array arguments are
    declared free of aliases, without which LLVM gives up on functions of many arrays.  The width is
    a preference; a processor without 512-bit vectors takes what it has.
    """
    signature = types.void()

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        # llvmlite writes out any name, but its method add() knows only those without a value
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        for argument in builder.function.args:
            if argument.type in (_WORD.as_pointer(), _REAL.as_pointer()):  # data, not book-keeping
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return signature, code


@intrinsic
def transpose_square(typing_context: Any, out: Any, row: Any, column: Any) -> Any:
    """``out[column + j, row + i] = out[row + i, column + j]`` for i, j < 8, in eight registers.

    Three rounds exchange the halves, quarters and eighths of pairs of rows.  ``out`` is a
    C-contiguous float64 matrix.
    """
    signature = types.void(out, types.intp, types.intp)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from numba.np.arrayobj import make_array  # the compiler's own module, loaded with it

        matrix = make_array(sig.args[0])(context, builder, arguments[0])
        width = builder.extract_value(matrix.shape, 1)
        vector = ir.VectorType(_REAL, LANES)

        def place(row: Any, column: Any) -> Any:
            offset = builder.add(builder.mul(row, width), column)
            return builder.bitcast(builder.gep(matrix.data, [offset]), vector.as_pointer())

        def below(index: Any, step: int) -> Any:
            return builder.add(index, ir.Constant(_WORD, step))

        row, column = arguments[1:]
        rows = [
            builder.load(place(below(row, i), column), align=8, typ=vector) for i in range(LANES)
        ]
        for distance in (4, 2, 1):
            low = [j if not j & distance else LANES + j - distance for j in range(LANES)]
            high = [j + distance if not j & distance else LANES + j for j in range(LANES)]
            masks = [
                ir.Constant(ir.VectorType(_SMALL, LANES), [ir.Constant(_SMALL, j) for j in picked])
                for picked in (low, high)
            ]
            for i in range(LANES):
                if not i & distance:
                    pair = rows[i], rows[i + distance]
                    rows[i], rows[i + distance] = (
                        builder.shuffle_vector(*pair, mask) for mask in masks
                    )
        for j in range(LANES):
            builder.store(rows[j], place(below(column, j), row), align=8)
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
    number = types.intp
    signature = types.void(x_words, number, z_panels, number, number, number, tile, number)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from numba.np.arrayobj import make_array  # the compiler's own module, loaded with it

        def array(position: int) -> Any:
            return make_array(sig.args[position])(context, builder, arguments[position])

        x, z, out = array(0), array(2), array(6)
        row, panel, start, stop, column = (arguments[i] for i in (1, 3, 4, 5, 7))
        vector = ir.VectorType(_WORD, LANES)

        def constant(value: int) -> Any:
            return ir.Constant(_WORD, value)

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
        index = builder.phi(_WORD)
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
        everywhere = ir.Constant(ir.VectorType(_SMALL, LANES), [ir.Constant(_SMALL, 0)] * LANES)
        new_sums = []
        for r in range(ROWS):
            x_word = builder.load(builder.gep(x_rows[r], [index]))
            first = builder.insert_element(undefined, x_word, ir.Constant(_SMALL, 0))
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


@njit(nogil=True)
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
