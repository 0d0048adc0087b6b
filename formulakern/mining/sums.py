"""Compiled sums over the bits of many propositions, a heap of results, and a stable sort.

All weights are whole numbers of a common unit (see :mod:`.search`), so their sums are exact in
float64 in any order, and the loops may add in vectors.  The sums of four propositions are written
in LLVM; ``tests/benchmarks/test_mining.py`` measures the gain.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.compilation import compiled, intrinsic
from formulakern.encoding.bits import ones

#: Propositions whose sums are computed together.
BLOCK_PROPOSITIONS = 4
#: 64-bit numbers in a vector.
LANES = 8


@intrinsic
def _sums_of_four(
    typing_context: Any,
    words: Any,
    j0: Any,
    j1: Any,
    j2: Any,
    j3: Any,
    index: Any,
    n_index: Any,
    first: Any,
    second: Any,
    out: Any,
) -> Any:
    """Compute sums of two weights over the examples on which each of four propositions is true.

    ``out[2 c] = Σ first[64 i + t]`` and ``out[2 c + 1] = Σ second[64 i + t]`` over all i < n_index
    and all t with bit t set in ``words[j_c, index[i]]``.  ``n_index >= 1`` is required.
    """
    from numba import types

    n = types.intp
    signature = types.void(words, n, n, n, n, index, n, first, second, out)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        word, real = ir.IntType(64), ir.DoubleType()
        # llvmlite writes any name, but its method add() accepts only those without a value
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')

        def array(position: int) -> Any:
            return make_array(sig.args[position])(context, builder, arguments[position])

        def constant(value: int) -> Any:
            return ir.Constant(word, value)

        words, index, first, second, out = (array(i) for i in (0, 5, 7, 8, 9))
        stop = arguments[6]
        width = builder.extract_value(words.shape, 1)
        rows = [builder.gep(words.data, [builder.mul(arguments[1 + c], width)]) for c in range(4)]
        vector = ir.VectorType(real, LANES)
        mask_type = ir.VectorType(ir.IntType(1), LANES)
        zero = ir.Constant(vector, [ir.Constant(real, 0.0)] * LANES)

        totals = [cgutils.alloca_once_value(builder, zero) for _ in range(2 * BLOCK_PROPOSITIONS)]
        with cgutils.for_range(builder, stop) as loop:
            place = builder.load(builder.gep(index.data, [loop.index]))
            bits = [builder.load(builder.gep(row, [place])) for row in rows]
            start = builder.mul(loop.index, constant(64))
            for group in range(0, 64, LANES):
                offset = builder.add(start, constant(group))
                weights = [
                    builder.load(
                        builder.bitcast(builder.gep(a.data, [offset]), vector.as_pointer()),
                        align=8,
                        typ=vector,
                    )
                    for a in (first, second)
                ]
                for c in range(2 * BLOCK_PROPOSITIONS):
                    byte = builder.trunc(builder.lshr(bits[c // 2], constant(group)), ir.IntType(8))
                    mask = builder.bitcast(byte, mask_type)
                    chosen = builder.select(mask, weights[c % 2], zero)
                    builder.store(builder.fadd(builder.load(totals[c]), chosen), totals[c])
        add = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(real, [real, vector]),
            f"llvm.vector.reduce.fadd.v{LANES}f64",
        )
        for c, total in enumerate(totals):
            terms = [ir.Constant(real, 0.0), builder.load(total)]
            whole = builder.call(add, terms, fastmath=("reassoc",))
            builder.store(whole, builder.gep(out.data, [constant(c)]))
        return context.get_dummy_value()

    return signature, code


@compiled(
    "void(uint64[:, ::1], int64[::1], int64, int64[::1], int64, float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1])",
)
def column_sums(
    words: Any,
    items: Any,
    n_items: Any,
    index: Any,
    n_index: Any,
    first: Any,
    second: Any,
    eight: Any,
    out: Any,
) -> None:
    """Compute sums of two weights over the examples on which each listed proposition is true.

    Parameters
    ----------
    words : uint64 (p, words)
    items : int64, the propositions; the first ``n_items`` of them
    index : int64, positions of words of examples; the first ``n_index`` of them
    first, second : float64, 64 weights for each of these words
    eight : float64 (8,), working memory
    out : float64 (at least n_items, 2), receives the sums
    """
    if n_index == 0:
        out[:n_items] = 0.0
        return
    for start in range(0, n_items, 4):
        last = n_items - 1
        _sums_of_four(
            words,
            items[start],
            items[min(start + 1, last)],
            items[min(start + 2, last)],
            items[min(start + 3, last)],
            index,
            n_index,
            first,
            second,
            eight,
        )
        for c in range(min(4, n_items - start)):
            out[start + c, 0] = eight[2 * c]
            out[start + c, 1] = eight[2 * c + 1]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def even_sums(
    words: Any,
    items: Any,
    n_items: Any,
    index: Any,
    covers: Any,
    n_index: Any,
    weights: Any,
    out: Any,
) -> None:
    """Compute the sums of :func:`column_sums` for words of equal weights, by counting bits.

    ``covers``, uint64, selects examples of each word; ``weights``, float64, has their weight.
    ``out`` receives the sums of weights and of their absolute values.
    """
    for j in range(n_items):
        row = words[items[j]]
        total, size = 0.0, 0.0
        for i in range(n_index):
            number = np.float64(ones(row[index[i]] & covers[i]))
            total += weights[i] * number
            size += abs(weights[i]) * number
        out[j, 0] = total
        out[j, 1] = size


@compiled()
def offer(scores: Any, heap: Any, counters: Any, limit: Any, score: Any) -> Any:
    """Return the row for a result with this score, or −1; ``heap`` keeps the lowest score first.

    Below ``limit`` results, take a new row and raise ``counters[1]``, their number; at the limit,
    replace the result with the lowest score.
    """
    n_found = counters[1]
    if n_found < limit:
        row = n_found
        counters[1] += 1
        scores[row] = score
        heap[row] = row
        place = row
        while place > 0:
            above = (place - 1) // 2
            if scores[heap[above]] <= scores[heap[place]]:
                break
            heap[above], heap[place] = heap[place], heap[above]
            place = above
        return row
    row = heap[0]
    if score <= scores[row]:
        return -1
    scores[row] = score
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n_found:
            break
        if below + 1 < n_found and scores[heap[below + 1]] < scores[heap[below]]:
            below += 1
        if scores[heap[place]] <= scores[heap[below]]:
            break
        heap[below], heap[place] = heap[place], heap[below]
        place = below
    return row


@compiled()
def bit(word: Any, place: Any) -> Any:
    """Return one bit of a word, 0.0 or 1.0."""
    return np.float64((word >> np.uint64(place)) & 1)


@compiled()
def largest_quotient(value: Any, smallest: Any, largest: Any) -> Any:
    """Return the largest quotient of a value and a factor between two positive numbers."""
    return value / smallest if value >= 0.0 else value / largest


@compiled()
def sort_descending(keys: Any, items: Any, n: Any, spare_keys: Any, spare_items: Any) -> None:
    """Sort n keys in descending order, with their items (numpy.argsort takes long to compile)."""
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            left, middle = start, min(start + width, n)
            right, stop = middle, min(start + 2 * width, n)
            for k in range(start, stop):
                if left < middle and (right >= stop or keys[left] >= keys[right]):
                    spare_keys[k], spare_items[k] = keys[left], items[left]
                    left += 1
                else:
                    spare_keys[k], spare_items[k] = keys[right], items[right]
                    right += 1
        for k in range(n):
            keys[k], items[k] = spare_keys[k], spare_items[k]
        width *= 2
