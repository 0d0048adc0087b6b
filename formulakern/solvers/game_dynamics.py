"""Learning dynamics of two players of a matrix game: fictitious play and optimistic Hedge.

*Fictitious play.*  In each round, a player plays the best response to the other player's past
strategies.  A round adds one row of M to the payoffs of the columns and one column of −M to those
of the rows.  Each addition finds the largest sum as a by-product.  Vectors are padded to whole
blocks and keep the largest entry of each block, so finding the index of the largest entry reads one
block.

*Optimistic Hedge.*  Both players weigh their pure strategies by their past and last losses.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, aligned
from formulakern.compilation import compiled, intrinsic

#: Payoffs up to this fit in a byte together with their negatives.
MAX_BYTE_PAYOFF = 127
#: Sums of whole payoffs up to this fit in 32 bits.
MAX_INT32_SUM = 2**31 - 1
#: Entries per stored maximum; vectors are padded to a multiple.
BLOCK_ENTRIES = 64
#: Bytes of a vector in the generated code; narrower processors split them.
VECTOR_BYTES = 64


@intrinsic
def _add_block(typing_context: Any, totals: Any, rows: Any, index: Any, block: Any) -> Any:
    """Add a block of ``rows[index]`` to the block of ``totals``; return the largest sum.

    Both arrays are C-contiguous and share no memory.  No entry is NaN.  Numba does not vectorise
    its own loop, because it keeps the order of the comparisons.
    """
    from numba import types

    signature = totals.dtype(totals, rows, types.intp, types.intp)

    def code(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        # llvmlite writes any name, but its method add() accepts only those without a value
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        totals, rows = (make_array(sig.args[k])(context, builder, arguments[k]) for k in (0, 1))
        element, stored = (context.get_data_type(sig.args[k].dtype) for k in (0, 1))
        width, stored_width = (sig.args[k].dtype.bitwidth // 8 for k in (0, 1))
        real = isinstance(sig.args[0].dtype, types.Float)
        flags = ("nnan", "nsz") if real else ()
        lanes = VECTOR_BYTES // width
        vector, narrow = ir.VectorType(element, lanes), ir.VectorType(stored, lanes)
        kind = f"{'fmax' if real else 'smax'}.v{lanes}{'f' if real else 'i'}{8 * width}"
        reduction = builder.module.declare_intrinsic(
            f"llvm.vector.reduce.{kind}", (), ir.FunctionType(element, [vector])
        )

        def larger(a: Any, b: Any) -> Any:
            if real:
                return builder.select(builder.fcmp_ordered(">", a, b, flags=flags), a, b)
            return builder.select(builder.icmp_signed(">", a, b), a, b)

        def vector_at(data: Any, place: Any, kind: Any) -> Any:
            return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())

        word = arguments[3].type
        first = builder.mul(arguments[3], ir.Constant(word, BLOCK_ENTRIES))
        row = builder.mul(arguments[2], builder.extract_value(rows.shape, 1))
        sums = []
        for offset in range(0, BLOCK_ENTRIES, lanes):
            place = builder.add(first, ir.Constant(word, offset))
            target = vector_at(totals.data, place, vector)
            # a vector needs only the alignment of its elements
            old = builder.load(target, align=width)
            step = builder.load(
                vector_at(rows.data, builder.add(row, place), narrow), align=stored_width
            )
            new = builder.fadd(old, step) if real else builder.add(old, builder.sext(step, vector))
            builder.store(new, target, align=width)
            sums.append(new)
        while len(sums) > 1:
            sums = [larger(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
        return builder.call(reduction, sums, fastmath=flags)

    return signature, code


@compiled()
def _add_row(totals: Any, rows: Any, index: Any, tops: Any) -> Any:
    """Compute ``totals += rows[index]`` and ``tops[b] = max of block b``; return the largest."""
    best = _add_block(totals, rows, index, 0)
    tops[0] = best
    for b in range(1, tops.size):
        tops[b] = _add_block(totals, rows, index, b)
        if tops[b] > best:
            best = tops[b]
    return best


@compiled()
def _first(totals: Any, tops: Any, best: Any) -> Any:
    """Return the lowest index of the largest entry, ``best``, given the largest of each block."""
    b = 0
    while tops[b] != best:
        b += 1
    block = totals[BLOCK_ENTRIES * b : BLOCK_ENTRIES * b + BLOCK_ENTRIES]
    at = BLOCK_ENTRIES
    for k in range(BLOCK_ENTRIES):  # no early exit, so that the comparison is vectorised
        here = k if block[k] == best else BLOCK_ENTRIES
        at = here if here < at else at
    return BLOCK_ENTRIES * b + at


def _signature(stored: str, summed: str) -> str:
    arrays = [f"Array({stored}, 2, 'C', readonly=True)"] * 2 + [f"{summed}[::1]"] * 4
    arrays += ["float64[::1]"] * 2
    return f"int64({', '.join(arrays)}, {summed}, float64, float64, float64, int64)"


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
    high: Any,
    rows_played: Any,
    columns_played: Any,
    tol: Any,
    rounds: Any,
) -> Any:
    """Play best responses of both players in turn to the other player's counts, in place.

    Stops after the first round whose gap is at most ``tol``.  Returns the number of rounds played,
    negative if the gap reached ``tol``.  ``payoffs`` and ``losses`` are M and −M', each row padded
    with zeros.  Totals are −M c and M' r for the counts c of columns and r of rows, padded with the
    lowest number; ``tops`` has the largest entry of each of their blocks, and ``high`` is the
    largest entry of ``row_totals``.
    """
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


class FictitiousPlay:
    """Fictitious play: in each round the row player, then the column player, plays a best response.

    The response is the best pure strategy against the frequencies of the other player's past
    strategies; in a tie, the one of lowest index.  The given counts are strategies that count as
    played before the first round.

    If all payoffs are whole numbers up to 127 in size and the counts are whole, payoffs are stored
    in a byte each and summed in 32 bits: the same rounds, in an eighth of the memory.
    """

    speed = 2.0

    def __init__(
        self, M: FloatArray, row_counts: FloatArray, column_counts: FloatArray, max_iter: int
    ) -> None:
        self._M = M
        self._row_counts, self._column_counts = row_counts.copy(), column_counts.copy()
        largest = max(float(M.max()), -float(M.min()))
        total = max(float(row_counts.sum()), float(column_counts.sum())) + max_iter
        small = largest <= MAX_BYTE_PAYOFF and largest * total <= MAX_INT32_SUM
        numbers = M, row_counts, column_counts
        self._whole = small and all(bool((a == np.rint(a)).all()) for a in numbers)
        m, n = M.shape
        kind = np.int8 if self._whole else np.float64
        self._payoffs = aligned((m, _padded(n)), kind)
        self._payoffs[:, :n] = M
        self._losses = aligned((n, _padded(m)), kind)
        self._losses[:, :m] = M.T
        np.negative(self._losses, out=self._losses)
        self.refresh()

    def refresh(self) -> None:
        """Recompute the payoffs of all choices against the counts."""
        self._row_totals, self._row_tops = self._totals(-(self._M @ self._column_counts))
        self._column_totals, self._column_tops = self._totals(self._row_counts @ self._M)

    def advance(self, rounds: int, tol: float) -> int:
        """Play rounds; return their number, negative if the gap reached ``tol``."""
        matrices = self._payoffs, self._losses
        totals = self._row_totals, self._column_totals, self._row_tops, self._column_tops
        rows, columns, high = self._row_counts, self._column_counts, self._row_tops.max()
        state = *matrices, *totals, rows, columns
        return int(fictitious_rounds(*state, high, rows.sum(), columns.sum(), tol, rounds))

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Return the counts of each row and each column."""
        return self._row_counts, self._column_counts

    def round_cost(self) -> int:
        """Return the entries read in a round: a row and a column."""
        return sum(self._M.shape)

    def _totals(self, values: FloatArray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return values padded with the lowest number, and the largest entry of each block."""
        kind = np.int32 if self._whole else np.float64
        totals = aligned((_padded(len(values)),), kind)
        totals[:] = np.iinfo(np.int32).min if self._whole else -np.inf
        totals[: len(values)] = values
        return totals, totals.reshape(-1, BLOCK_ENTRIES).max(axis=1)


def _padded(size: int) -> int:
    return -(-size // BLOCK_ENTRIES) * BLOCK_ENTRIES


#: Differences of payoffs below this count as zero; division by it is possible.
MIN_DIFFERENCE = 1e-200
#: The initial sum of mixability gaps, as a share of the range of payoffs.  AdaHedge starts with 0,
#: that is with all weight on the best strategy so far, which leaves the choice between equally good
#: strategies to rounding.
FIRST_GAP = 0.25


# any order of additions allows vector instructions
@compiled(fastmath={"reassoc", "contract"})
def _use_row(row: Any, weight: Any, weights: Any, sums: Any) -> Any:
    """Compute ``sums += weight · row``; return ``row · weights``."""
    product = 0.0
    for k in range(row.size):
        sums[k] += weight * row[k]
        product += row[k] * weights[k]
    return product


@compiled()
def _mixed(losses: Any, first: Any, stop: Any, eta: Any, prior: Any) -> Any:
    """Return −ln(Σ prior exp(−eta · losses)) / eta, between the least and the mean loss."""
    if stop - first == 1:  # eta = ln 1 = 0
        return losses[first]
    least = np.inf
    for k in range(first, stop):
        if losses[k] < least:
            least = losses[k]
    total = 0.0
    for k in range(first, stop):
        total += prior[k] * np.exp(-eta * (losses[k] - least))
    return least - np.log(total) / eta


class HedgeState(NamedTuple):
    """The state of both players; vectors of length n + m have the columns' entries, then the rows'.

    ``middle`` is subtracted from every payoff, so that a large constant in M costs no digits.
    ``prior`` are the initial weights, of sum 1 for each player.  ``losses`` are sums over the
    rounds of −(M − middle)'p and of (M − middle) q, and ``last`` those of the last round, the
    forecast of the next.  ``strategies`` are q and p of the last round, and ``sums`` their sums;
    ``gaps`` is each player's sum of mixability gaps, positive from the start.
    """

    middle: Annotated[float, "float64"]
    prior: Annotated[Any, "float64[::1]"]
    losses: Annotated[Any, "float64[::1]"]
    last: Annotated[Any, "float64[::1]"]
    strategies: Annotated[Any, "float64[::1]"]
    sums: Annotated[Any, "float64[::1]"]
    gaps: Annotated[Any, "float64[::1]"]


@compiled(
    "int64(Array(float64, 2, 'C', readonly=True), state, int64, float64, int64)", state=HedgeState
)
def hedge_rounds(M: Any, state: HedgeState, played: int, tol: float, rounds: int) -> int:
    """Play rounds of both players after ``played`` others; change the state in place.

    Stops after the first round whose gap is at most ``tol``.  Returns the number of rounds played,
    negative if the gap reached ``tol``.
    """
    middle, prior, losses, last, strategies, sums, gaps = state
    m, n = M.shape
    q, column_last = strategies[:n], last[:n]
    for number in range(1, rounds + 1):
        for player in range(2):
            first, stop = player * n, n + player * m
            eta = np.log(stop - first) / gaps[player]
            least, total = np.inf, 0.0
            for k in range(first, stop):
                strategies[k] = losses[k] + last[k]
                if strategies[k] < least:
                    least = strategies[k]
            for k in range(first, stop):
                strategies[k] = prior[k] * np.exp(-eta * (strategies[k] - least))
                total += strategies[k]
            for k in range(first, stop):
                strategies[k] /= total
        for j in range(n):
            column_last[j] = 0.0
        for i in range(m):
            last[n + i] = _use_row(M[i], -strategies[n + i], q, column_last) - middle
        for j in range(n):
            column_last[j] += middle
        bound = 0.0
        for player in range(2):
            first, stop = player * n, n + player * m
            eta = np.log(stop - first) / gaps[player]
            before = _mixed(losses, first, stop, eta, prior)
            mean, least = 0.0, np.inf
            for k in range(first, stop):
                mean += strategies[k] * last[k]
                losses[k] += last[k]
                sums[k] += strategies[k]
                if losses[k] < least:
                    least = losses[k]
            gap = mean - (_mixed(losses, first, stop, eta, prior) - before)
            if gap > 0.0:
                gaps[player] += gap
            bound -= least
        if bound <= tol * (played + number):
            return -number
    return rounds


class Hedge:
    """Optimistic Hedge: weights exp(−η · (past losses + the last loss)), scaled to sum 1.

    The last loss is a forecast of the next.  η = ln(pure strategies) / (a quarter of the payoffs'
    range + the player's sum of mixability gaps), as in AdaHedge.  The strategies of the first round
    are half proportional to the given counts, and half uniform.
    """

    speed = 1.0

    def __init__(self, M: FloatArray, row_counts: FloatArray, column_counts: FloatArray) -> None:
        self._M, self._played = M, 0
        low, high = float(M.min()), float(M.max())
        counts = column_counts, row_counts
        prior = np.concatenate([(scaled(count) + 1 / len(count)) / 2 for count in counts])
        losses, last, strategies, sums = (aligned((len(prior),), np.float64) for _ in range(4))
        gaps = np.full(2, max(FIRST_GAP * (high - low), MIN_DIFFERENCE))
        self._state = HedgeState((low + high) / 2, prior, losses, last, strategies, sums, gaps)

    def refresh(self) -> None:
        """Do nothing: bounds are computed from the matrix."""

    def advance(self, rounds: int, tol: float) -> int:
        """Play rounds; return their number, negative if the gap reached ``tol``."""
        done = hedge_rounds(self._M, self._state, self._played, tol, rounds)
        self._played += abs(done)
        return done

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of the strategies over all rounds."""
        n = self._M.shape[1]
        return self._state.sums[n:], self._state.sums[:n]

    def round_cost(self) -> int:
        """Return the cost of a round: the matrix; an exponential counts as about ten numbers."""
        return self._M.size + 30 * sum(self._M.shape)


def scaled(counts: FloatArray) -> FloatArray:
    """Return counts scaled to sum 1; uniform if all are zero."""
    total = float(counts.sum())
    return counts / total if total > 0 else np.full(len(counts), 1 / len(counts))
