"""The compiled loops over pairs of rows: joint counts, and kernel values from them.

The columns of a table are bits of 64-bit words.  Rows of x keep their words together.  Rows of z
are regrouped into *panels* of 16, word by word, so that one vector register holds the same word of
eight rows.  Registers hold four rows of x and one panel: each word takes two loads, eight ANDs,
eight vector popcounts and eight additions for 64 pairs.

The counting and the vector width are written in LLVM; ``tests/benchmarks/test_gram.py`` measures
the gain of each.  Processors without vector popcount use LLVM's own expansion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import IntArray
from formulakern.backends.tables import PANEL, ROWS
from formulakern.compilation import CompiledFunction, compiled, intrinsic

#: Columns of the result that are computed at a time; a multiple of PANEL.
TILE = 128
#: Codes of a join: the values of a row are stored, added to the output or multiplied with it.
STORED, ADDED, MULTIPLIED = 0, 1, 2
JOINS = {"store": STORED, "add": ADDED, "multiply": MULTIPLIED}
#: The largest number of addresses and lengths of a kernel's data; see ``packed``.
MAX_DATA_NUMBERS = 16
#: Bytes of a cache line.
CACHE_LINE = 64
#: Words of z that stay in the cache during the pass over all rows of x.
CACHED_WORDS = 131_072

#: :class:`.block_writers.Factors`: addresses of x, z and same (0 for none), and the weight.
_FACTORS = "Tuple((int64, int64, int64, float64))"


# -- LLVM code for vectors, addresses and calls, which Python cannot express

#: 64-bit numbers in a vector of the emitted code.
LANES = 8


@intrinsic
def vectorized(typing_context: Any) -> Any:
    """Let the loops of the calling function use the widest vectors.

    The caller must not write to memory that it also reads: its array arguments are declared free of
    aliases, because otherwise LLVM does not vectorise functions of many arrays.  The width is a
    preference; a processor without 512-bit vectors uses narrower ones.
    """
    from numba import types

    signature = types.void()

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir

        # llvmlite writes any attribute, but its method add() accepts only those without a value
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        words, reals = ir.IntType(64).as_pointer(), ir.DoubleType().as_pointer()
        for argument in builder.function.args:
            if argument.type in (words, reals):  # data only
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return signature, code


@intrinsic
def array_at(typing_context: Any, address: Any, shape: Any, dtype: Any) -> Any:
    """Return the C-contiguous array of this shape that begins at an integer address."""
    from numba import types

    kind = types.Array(dtype.instance_type, len(shape), "C")
    signature = kind(types.int64, shape, dtype)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from numba.core import cgutils
        from numba.np.arrayobj import make_array, populate_array

        address, shape, _ = arguments
        item = context.get_data_type(kind.dtype)
        size = context.get_constant(types.intp, context.get_abi_sizeof(item))
        extents = cgutils.unpack_tuple(builder, shape)
        strides = [size]
        for extent in extents[:0:-1]:
            strides.insert(0, builder.mul(strides[0], extent))
        array = make_array(kind)(context, builder)
        data = builder.inttoptr(address, item.as_pointer())
        populate_array(array, data, extents, strides, size, meminfo=None)
        return array._getvalue()

    return signature, code


@intrinsic
def address_of(typing_context: Any, array: Any) -> Any:
    """Return the address of an array as an integer; the array must be kept alive."""
    from numba import types

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        data = make_array(array)(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), code


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Ask the processor for the cache line at an integer address, to write to it soon."""
    from numba import types

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir

        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        called = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        write, keep, data = number(1), number(3), number(1)
        builder.call(called, [builder.inttoptr(arguments[0], pointer), write, keep, data])
        return context.get_dummy_value()

    return types.void(types.int64), code


@intrinsic
def call_at(typing_context: Any, code: Any, numbers: Any) -> Any:
    """Call the machine code at an address with six numbers; see ``_entry``."""
    from numba import types

    def call(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        word = ir.IntType(64)
        called = ir.FunctionType(word, [word] * 6).as_pointer()
        given = cgutils.unpack_tuple(builder, arguments[1])
        return builder.call(builder.inttoptr(arguments[0], called), given)

    return types.int64(types.int64, types.UniTuple(types.int64, 6)), call


@intrinsic
def count_panel(
    typing_context: Any, x: Any, z: Any, start: Any, stop: Any, tile: Any, column: Any
) -> Any:
    """Set ``tile[r, column + c] = Σ popcount(x[r, word] & z[word, c])`` over ``start … stop``.

    All arrays are C-contiguous uint64; the sum is over words.
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
            """Return a pointer to an entry of an array, for its word or a vector from there on."""
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


# -- counting


@compiled()
def count_tile(x: Any, z_panels: Any, start: Any, stop: Any, tile: Any) -> None:
    """Count ROWS rows of x, uint64 (ROWS, words), with panels of z, (panels, words, PANEL).

    ``tile``, uint64 (ROWS, TILE), receives the joint counts over the words ``start`` to ``stop`` of
    one domain, up to the end of the last panel.
    """
    for panel in range(len(z_panels)):
        count_panel(x, z_panels[panel], start, stop, tile, panel * PANEL)


# -- blocks of the result --------------------------------------------------------------------------


def finish(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """Compute the kernel values of one row from its counts and the tuple ``data``.

    ``values[j]`` receives the kernel of row ``row`` of x and row ``column + j`` of z, which share
    ``tile[g, r, j]`` ones in domain g.  Positions are unsigned, so that numba omits the wrapping of
    negative indices, which prevents vectors.
    """
    raise NotImplementedError


def unpacked(data: Any) -> Any:
    """Return the arrays for ``finish`` from their addresses and shapes, int64 (numbers,)."""
    raise NotImplementedError


def _entry(values: Any, length: Any, counts: Any, row: Any, column: Any, data: Any) -> int:
    """Call ``finish`` with addresses and numbers, at an address for the loop over blocks.

    The loop is thus compiled once for all kernels, and only these lines for a new one.  Six numbers
    are passed in registers; more would wait for earlier stores.
    """
    known = array_at(data, (MAX_DATA_NUMBERS,), np.int64)
    finish(
        array_at(values, (length,), np.float64),
        array_at(counts, (known[MAX_DATA_NUMBERS - 1], ROWS, TILE), np.uint64),
        np.uint64(0),
        np.uint64(row),
        np.uint64(column),
        unpacked(known),
    )
    return 0


def _finishing(
    finish: CompiledFunction[..., None], unpacked: CompiledFunction[..., Any]
) -> CompiledFunction[..., int]:
    parts: dict[str, CompiledFunction[..., Any]] = {"finish": finish, "unpacked": unpacked}
    return compiled(f"int64({', '.join(['int64'] * 6)})")(_entry).with_helpers(**parts)


def packed(arrays: Sequence[npt.NDArray[Any]], domains: int) -> IntArray:
    """Return addresses and shapes of C-contiguous arrays for ``unpacked``, then ``domains``."""
    numbers = [n for array in arrays for n in (array.ctypes.data, *array.shape)]
    return np.array(
        [*numbers, *[0] * (MAX_DATA_NUMBERS - 1 - len(numbers)), domains], dtype=np.int64
    )


@compiled(forceinline=True)
def _divide(to: Any, values: Any, mine: Any, z: Any, column: Any) -> None:
    """Multiply the values of one row, from this column, by inverse lengths, the larger first."""
    vectorized()
    for j in range(np.uint64(len(to))):
        other = z[column + j]
        larger = mine if mine > other else other
        smaller = other if mine > other else mine
        to[j] = values[j] * larger * smaller


@compiled(forceinline=True)
def _weigh(to: Any, values: Any, weight: Any) -> None:
    vectorized()
    for j in range(np.uint64(len(to))):
        to[j] = values[j] * weight


@compiled(forceinline=True)
def _add(to: Any, values: Any, others: Any) -> None:
    vectorized()
    for j in range(np.uint64(len(to))):
        to[j] = values[j] + others[j]


@compiled(forceinline=True)
def _multiply(to: Any, values: Any, others: Any) -> None:
    vectorized()
    for j in range(np.uint64(len(to))):
        to[j] = values[j] * others[j]


@compiled(forceinline=True)
def _change(to: Any, given: Any, length: Any, row: Any, column: Any, factors: Any) -> None:
    """Multiply values at an address by :class:`.block_writers.Factors`, from this column of z."""
    x, z, same, weight = factors
    values = array_at(given, (length,), np.float64)
    changed = array_at(to, (length,), np.float64)
    if x == 0:
        _weigh(changed, values, weight)
        return
    mine = array_at(x, (row + 1,), np.float64)[row]
    _divide(changed, values, mine, array_at(z, (column + length,), np.float64), np.uint64(column))
    if same != 0:
        place = array_at(same, (row + 1,), np.int64)[row] - column
        if 0 <= place < length:
            changed[place] = 1.0 if mine > 0.0 else 0.0
    if weight != 1.0:
        _weigh(changed, changed, weight)


@compiled(forceinline=True)
def _join(to: Any, given: Any, found: Any, length: Any, join: Any) -> None:
    """Add values to those found, or multiply them; all arguments are addresses."""
    values = array_at(given, (length,), np.float64)
    others = array_at(found, (length,), np.float64)
    joined = array_at(to, (length,), np.float64)
    if join == ADDED:
        _add(joined, values, others)
    else:
        _multiply(joined, values, others)


@compiled(
    "void(Tuple((uint64[:, ::1], uint64[:, :, ::1], int64[::1])), "
    "Tuple((uint64[:, :, ::1], float64[::1])), Tuple((int64, int64[::1])), "
    f"Tuple((int64, {_FACTORS}, {_FACTORS})), "
    "UniTuple(int64, 4), float64[:, :])"
)
def fill_block(tables: Any, memory: Any, finish: Any, steps: Any, block: Any, out: Any) -> None:
    """Fill a block of a matrix: count tile by tile, and compute values row by row.

    Parameters
    ----------
    tables : tuple
        x_words, z_panels and spans of :class:`.tables.PairedTables`.
    memory : tuple
        Working memory: uint64 (domains, ROWS, TILE), float64 (TILE,).
    finish : tuple
        The address of the function from counts to values, and its data; see ``packed``.
    steps : tuple
        The operations on the values of a row: they are multiplied by factors and stored in the
        block or joined with it (see ``JOINS``), and the result is multiplied by factors.
    block : tuple of int
        First and last row of x, first and last row of z, with the last rows excluded.
    out : float64 (rows, columns), with contiguous rows
    """
    x_words, z_panels, spans = tables
    tile, apart = memory
    code, data = finish
    join, before, after = steps
    # addresses instead of slices, because numba counts references to slices, and the processor then
    # waits for all earlier stores each time
    to, step, aside = address_of(out), out.strides[0], address_of(apart)
    counts, others = address_of(tile), address_of(data)
    x_begin, z_begin, words = address_of(x_words), address_of(z_panels), x_words.shape[1]
    change = before[0] != 0 or before[3] != 1.0
    change_again = after[0] != 0 or after[3] != 1.0
    row_start, row_stop, column_start, column_stop = block
    chunk = max(CACHED_WORDS // (words + 1) // TILE, 1) * TILE
    for chunk_start in range(column_start, column_stop, chunk):
        chunk_stop = min(chunk_start + chunk, column_stop)
        for row in range(row_start, row_stop, ROWS):
            x = array_at(x_begin + 8 * row * words, (ROWS, words), np.uint64)
            for column in range(chunk_start, chunk_stop, TILE):
                stop = min(column + TILE, chunk_stop)
                panels = -(-stop // PANEL) - column // PANEL
                first = z_begin + 8 * (column // PANEL) * words * PANEL
                z = array_at(first, (panels, words, PANEL), np.uint64)
                for g in range(len(tile)):
                    into = array_at(counts + 8 * g * ROWS * TILE, (ROWS, TILE), np.uint64)
                    count_tile(x, z, spans[g], spans[g + 1], into)
                length, begin = stop - column, 8 * (column - column_start)
                for r in range(min(ROWS, row_stop - row)):
                    stored = to + (row - row_start + r) * step + begin
                    direct = join == STORED and not change
                    values = stored if direct else aside
                    if not direct:  # the memory answers while the values are computed
                        for line in range(stored, stored + 8 * length, CACHE_LINE):
                            prefetch(line)
                    shared = counts + 8 * r * TILE
                    call_at(code, (values, length, shared, row + r, column, others))
                    if change:
                        changed = stored if join == STORED else aside
                        _change(changed, aside, length, row + r, column, before)
                    if join != STORED:
                        _join(aside if change_again else stored, aside, stored, length, join)
                    if change_again:
                        _change(stored, aside, length, row + r, column, after)


@compiled(forceinline=True)
def _look_up(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """Look up ``table[x + z + stride · count]`` for a single domain and the starts of the rows."""
    vectorized()
    x, z, stride, table = data
    start, step = x[row], stride[0]
    for j in range(np.uint64(len(values))):
        values[j] = table[start + z[column + j] + step * tile[0, r, j]]


@compiled(forceinline=True)
def _look_up_domains(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    """Look up ``table[x + z + Σ_g stride_g · count_g]``; every row of z has its own strides."""
    vectorized()
    x, z, strides, table = data
    start, n = x[row], np.uint64(len(z))
    for j in range(np.uint64(len(values))):
        place = start + z[column + j]
        for g in range(np.uint64(len(tile))):
            place += tile[g, r, j] * strides[g * n + column + j]
        values[j] = table[place]


@compiled(forceinline=True)
def _tabulated(data: Any) -> Any:
    return (
        array_at(data[0], (data[1],), np.uint64),
        array_at(data[2], (data[3],), np.uint64),
        array_at(data[4], (data[5],), np.uint64),
        array_at(data[6], (data[7],), np.float64),
    )


look_up = _finishing(_look_up, _tabulated)
look_up_domains = _finishing(_look_up_domains, _tabulated)


def pair(tile: Any, r: Any, j: Any, row: Any, column: Any, data: Any) -> float:
    """Return the kernel of one pair of rows; the emitter writes such a function for each program.

    Parameters
    ----------
    tile : uint64 (domains, ROWS, TILE)
        ``tile[g, r, j]`` columns of domain g are true in both rows.
    data : tuple
        ``x`` and ``z``, float64 (numbers, rows), the numbers of every row, ``x[:, row]`` and
        ``z[:, column]``; ``sizes`` and ``once``, float64 (numbers,), the numbers of the domains and
        of the tables; and (1,), the factor by which the caller multiplies the result.
    """
    raise NotImplementedError


@compiled(forceinline=True)
def _evaluate(values: Any, tile: Any, r: Any, row: Any, column: Any, data: Any) -> None:
    vectorized()
    factor = data[4][0]
    for j in range(np.uint64(len(values))):
        values[j] = pair(tile, r, j, row, column + j, data) * factor


@compiled(forceinline=True)
def _known(data: Any) -> Any:
    return (
        array_at(data[0], (data[1], data[2]), np.float64),
        array_at(data[3], (data[4], data[5]), np.float64),
        array_at(data[6], (data[7],), np.float64),
        array_at(data[8], (data[9],), np.float64),
        array_at(data[10], (data[11],), np.float64),
    )


#: A template, to be given a function ``pair``.
evaluate = _finishing(_evaluate, _known)


@compiled(forceinline=True)
def choose(count: Any, lower: Any) -> Any:
    """Return C(count, lower); it is 0 if count < lower, and all partial products are integers."""
    value = count
    for i in range(1, lower):
        value = value * (count - i) / (i + 1.0)
    return value


@compiled(forceinline=True)
def whole(value: Any) -> Any:
    """Round a quotient that is known to be an integer, if float64 holds that integer."""
    return np.rint(value) if value < 2.0**50 else value


# -- looking up ------------------------------------------------------------------------------------


@compiled(forceinline=True)
def _look_up_numbers(values: Any, numbers: Any, columns: Any, table: Any) -> None:
    vectorized()
    for j in range(len(values)):
        values[j] = table[numbers[columns[j]]]


@compiled(
    *(
        f"void({dtype}[:, ::1], float64[::1], int64[::1], int64[::1], float64[:, ::1])"
        for dtype in ("uint8", "uint16", "uint32")
    )
)
def look_up_block(index: Any, table: Any, rows: Any, columns: Any, out: Any) -> None:
    """Set ``out[i, j] = table[index[rows[i], columns[j]]]``."""
    for i in range(len(rows)):
        _look_up_numbers(out[i], index[rows[i]], columns, table)
