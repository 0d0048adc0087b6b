"""What compiled loops need of LLVM and cannot say in Python: vectors, addresses, calls."""

from __future__ import annotations

from typing import Any

from formulakern.backends.tables import PANEL, ROWS
from formulakern.compilation import intrinsic

__all__ = ["address_of", "array_at", "call_at", "count_panel", "vectorized"]

#: 64-bit numbers in the vectors that are written into the code.
LANES = 8


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
def array_at(typing_context: Any, address: Any, shape: Any, dtype: Any) -> Any:
    """The C-contiguous array of this shape that begins at an address, given as an integer."""
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
    """Where an array begins, as an integer; it must be kept alive."""
    from numba import types

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        data = make_array(array)(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), code


@intrinsic
def call_at(typing_context: Any, code: Any, numbers: Any) -> Any:
    """Call the machine code at an address with six numbers; see :func:`_entry`."""
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
