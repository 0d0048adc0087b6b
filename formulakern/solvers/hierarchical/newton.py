"""Newton's method for ridge problems with 0/1 and other features, and a convex loss.

    minimise over F, b   ½ Σ_k F_k²/κ_k + L(Φ'F − b)

With β = −∇L and g = Φβ the gradient is F/κ − g.  A step solves the linearised conditions
F = κ ∘ Φ(β + δ), δ = −h ∘ (Φ'ΔF − Δb), Σ(β + δ) = 0, h the second derivatives of L.  The linear
system is over the examples with h > 0 or over the features, whichever are fewer.  Features of
little effect on the step (the sum of their κ_k Σ_i h_i φ_ki is small) simply move to κ_k g_k.

*Signs.*  A weight may have to be at least, or at most, 0.  Zero weights whose g_k has the wrong
sign stay 0 for a step; other weights that get the wrong sign are set to 0.  If such a step does not
lower the objective, a sufficiently short step towards κ_k g_k (or 0, if that has the wrong sign)
does.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray
from formulakern.compilation import compiled
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.solvers.hierarchical.losses import Expansion, Loss
from formulakern.solvers.hierarchical.norm import right_signed

#: Columns may be left out of the linear system up to this sum of their κ_k Σ_i h_i φ_ki.
MAX_LEFT_OUT = 0.05
#: The same limit for several functions, for each column alone.
MAX_JOINT_LEFT_OUT = 1e-3
#: Entries of the float64 block of columns that is multiplied at once.
BLOCK_ENTRIES = 1 << 22
#: The smallest part of a Newton step that is tried.
MIN_STEP = 2.0**-40
#: Matrices of at most this many entries are copied to float64 for BLAS, which fits into the cache.
MAX_COPIED_ENTRIES = 1 << 17

_PRODUCT = "void(uint8[:, ::1], float64[::1], float64[::1])"


@compiled(_PRODUCT)
def sum_columns(columns: Any, weights: Any, out: Any) -> None:
    """Compute ``out[i] = Σ_k weights[k] · columns[k, i]``."""
    out[:] = 0.0
    for k in range(columns.shape[0]):
        weight = weights[k]
        if weight != 0.0:
            for i in range(columns.shape[1]):
                out[i] += weight * columns[k, i]


# any order of additions allows vector instructions
@compiled(_PRODUCT, fastmath={"reassoc", "contract"})
def sums_in_columns(columns: Any, values: Any, out: Any) -> None:
    """Compute ``out[k] = Σ_i columns[k, i] · values[i]``."""
    for k in range(columns.shape[0]):
        total = 0.0
        for i in range(columns.shape[1]):
            total += columns[k, i] * values[i]
        out[k] = total


class Columns:
    """A matrix Φ with one feature a row, 0/1 features first, and the products Φv and Φ'w.

    Parameters
    ----------
    bits : uint8 (k, m), C-contiguous
        φ_ki of the features of 0 and 1.
    others : float64 (e, m), C-contiguous
        φ_ki of the others.
    deadline : Deadline, optional
        With a deadline, NumPy multiplies until the compiled loops are ready.
    """

    def __init__(
        self,
        bits: npt.NDArray[np.uint8],
        others: FloatArray,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        self.bits, self.others = bits, others
        small = bits.size <= MAX_COPIED_ENTRIES
        if not small:  # with a deadline, compilation is not waited for
            loops = [loop.ready(deadline, wait=False) for loop in (sums_in_columns, sum_columns)]
            small = not all(loops)
        self._reals = bits.astype(np.float64) if small else None

    def __len__(self) -> int:
        return len(self.bits) + len(self.others)

    def take(self, which: IntArray) -> Columns:
        """Return only these features, which are ascending."""
        k = len(self.bits)
        few = copy(self)
        few.bits, few.others = self.bits[which[which < k]], self.others[which[which >= k] - k]
        few._reals = None if self._reals is None else few.bits.astype(np.float64)
        return few

    def entries(self, features: slice, rows: IntArray | slice) -> npt.NDArray[Any]:
        """Return φ_ki of some features on some examples."""
        bits, k = self.bits[features][:, rows], len(self.bits)
        if not len(self.others):
            return bits
        beyond = slice(max(0, features.start - k), max(0, features.stop - k))
        return np.concatenate([bits, self.others[beyond][:, rows]])

    def sums(self, values: FloatArray) -> FloatArray:
        """Return Σ_i φ_ki values_i, float64 (k + e,); O((k + e)m)."""
        if self._reals is not None:
            out = self._reals @ values
        else:
            out = np.empty(len(self.bits))
            sums_in_columns(self.bits, np.ascontiguousarray(values), out)
        return np.append(out, self.others @ values) if len(self.others) else np.asarray(out)

    def squares(self, values: FloatArray) -> FloatArray:
        """Return Σ_i φ_ki² values_i, float64 (k + e,)."""
        out, k = self.sums(values), len(self.bits)
        out[k:] = self.others**2 @ values
        return out

    def predict(self, weights: FloatArray) -> FloatArray:
        """Return Σ_k weights_k φ_ki, float64 (m,); O((k + e)m)."""
        weights, beyond = weights[: len(self.bits)], weights[len(self.bits) :]
        if self._reals is not None:
            out = weights @ self._reals
        else:
            out = np.empty(self.bits.shape[1])
            sum_columns(self.bits, np.ascontiguousarray(weights), out)
        return np.asarray(out + beyond @ self.others) if len(beyond) else np.asarray(out)


class Functions:
    """The columns of several functions, one after the other, with joint products."""

    def __init__(self, parts: list[Columns]) -> None:
        self.parts = parts
        self.ends = np.cumsum([len(part) for part in parts])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def sums(self, values: FloatArray) -> FloatArray:
        """Return Σ_i φ_ki values_ij for the features k of each function j."""
        return np.concatenate([part.sums(v) for part, v in zip(self.parts, values.T, strict=True)])

    def predict(self, weights: FloatArray) -> FloatArray:
        """Return Σ_k weights_k φ_ki over the features of each function, float64 (m, K)."""
        own = np.split(weights, self.ends[:-1])
        return np.stack([part.predict(f) for part, f in zip(self.parts, own, strict=True)], axis=1)


class Point(NamedTuple):
    """Weights of the columns, the predictions Φ'F without the intercept, and g = Φβ."""

    weights: FloatArray
    intercept: FloatArray
    predictions: FloatArray
    expansion: Expansion
    correlations: FloatArray


def point(
    columns: Columns | Functions,
    loss: Loss,
    weights: FloatArray,
    predictions: FloatArray,
    start: FloatArray | float,
) -> Point:
    """Return the point with these weights, their predictions and the best intercept."""
    b, expansion = loss.intercept(predictions, start)
    return Point(weights, b, predictions, expansion, columns.sums(expansion.beta))


def minimise_ridge(
    columns: Columns | Functions,
    scales: FloatArray,
    loss: Loss,
    start: Point,
    *,
    tol: float,
    max_steps: int,
    deadline: Deadline = UNLIMITED,
    signs: IntArray | None = None,
) -> tuple[Point, int]:
    """Take Newton steps until the relative duality gap of the ridge problem is at most ``tol``.

    ``scales`` are κ > 0; ``start`` has weights of the right signs.  A step that is not finished at
    the deadline is discarded.  Returns the last point and the number of steps.
    """
    here = start
    value = _value(here.weights, scales, here.expansion)
    began, seconds = Deadline.clock(), 0.0
    for steps in range(max_steps):
        if deadline.over(seconds):  # the next step takes about as long as the last one
            return here, steps
        if _gap(here, scales, signs) <= tol * value:
            return here, steps
        now = np.inf
        for weights, intercept in _targets(columns, scales, loss, here, signs, deadline):
            predictions = columns.predict(weights)
            part = 1.0
            while True:
                # predictions are linear in the weights: no product with the columns is needed
                u = here.predictions + part * (predictions - here.predictions)
                F = here.weights + part * (weights - here.weights)
                right = right_signed(F, signs)
                if right is not F and (right != F).any():
                    F, u = right, columns.predict(right)
                b, expansion = loss.intercept(
                    u, here.intercept + part * (intercept - here.intercept)
                )
                now = _value(F, scales, expansion)
                if now <= value or part <= MIN_STEP:
                    break
                part /= 4
            if now <= value:
                break
        if not now <= value:  # rounding hides every gain
            return here, steps
        gain, value = value - now, now
        here = Point(F, b, u, expansion, columns.sums(expansion.beta))
        if gain <= 1e-15 * value:
            return here, steps + 1
        seconds, began = Deadline.clock() - began, Deadline.clock()
    return here, max_steps


def _value(weights: FloatArray, scales: FloatArray, expansion: Expansion) -> float:
    return 0.5 * float(np.sum(weights**2 / scales)) + expansion.value


def _gap(here: Point, scales: FloatArray, signs: IntArray | None) -> float:
    """Return the duality gap of the ridge problem: ½ Σ_k (F_k − κ_k g_k)² / κ_k without signs.

    The terms of the loss and its conjugate cancel at β.  No other differences of large numbers
    remain, and the error of the intercept does not matter.
    """
    g = right_signed(here.correlations, signs)
    rest = here.weights - scales * g
    return 0.5 * float(np.sum(rest**2 / scales)) + float(here.weights @ (g - here.correlations))


def _targets(
    columns: Columns | Functions,
    scales: FloatArray,
    loss: Loss,
    here: Point,
    signs: IntArray | None,
    deadline: Deadline,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the end of a Newton step, and then of a step of each weight alone."""
    used, g = scales, right_signed(here.correlations, signs)
    if signs is not None:
        used = np.where((signs != 0) & (here.weights == 0) & (g == 0), 0.0, scales)
    try:
        if isinstance(columns, Functions):
            yield _joint_target(columns, used, loss, here, deadline)
        else:
            yield _target(columns, used, loss, here, deadline)
    except (np.linalg.LinAlgError, TimeIsOver):  # the former if rounding hides the rest at large C
        return
    if signs is not None:
        yield scales * g, here.intercept


def _target(
    columns: Columns, scales: FloatArray, loss: Loss, here: Point, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the intercepts at the end of a full Newton step."""
    beta, curvature = here.expansion.beta, here.expansion.curvature
    rows = np.flatnonzero(curvature)
    aim = scales * here.correlations
    if rows.size == 0:
        return aim, here.intercept
    importance = scales * columns.squares(curvature)
    order = np.argsort(importance)
    first = int(np.searchsorted(np.cumsum(importance[order]), MAX_LEFT_OUT))
    matter = np.sort(order[first:])
    h = curvature[rows]
    moved = columns.predict(aim)[rows] - here.predictions[rows]
    groups = (loss.group[rows, None] == np.arange(len(loss.cold))).astype(np.float64)
    sides = np.column_stack([moved, groups])
    root = np.sqrt(scales[matter])
    some = columns.take(matter)
    solved = _solve(some, root, rows, h, sides, deadline)
    matrix, side = groups.T @ solved[:, 1:], groups.T @ solved[:, 0] - loss.sums(beta)
    flat = matrix.diagonal() <= 0  # groups without curvature keep their intercepts
    shift = np.where(flat, 0.0, np.linalg.solve(matrix + np.diag(flat), side))
    delta = np.zeros(len(beta))
    delta[rows] = solved[:, 1:] @ shift - solved[:, 0]
    weights = aim.copy()
    weights[matter] += scales[matter] * some.sums(delta)
    return weights, here.intercept + shift


def _joint_target(
    functions: Functions, scales: FloatArray, loss: Loss, here: Point, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """Return the Newton target of several functions, from one system in units f/√κ."""
    chances, c, K = here.expansion.curvature, loss.c, len(functions.parts)
    aim = scales * here.correlations
    matter, roots, parts = [], [], []
    for k, (columns, first) in enumerate(zip(functions.parts, [0, *functions.ends], strict=False)):
        curvature = c * chances[:, k] * (1 - chances[:, k])
        own = scales[first : first + len(columns)]
        some = np.flatnonzero(own * columns.squares(curvature) > MAX_JOINT_LEFT_OUT / len(columns))
        root = np.sqrt(own[some])
        every = columns.take(some).entries(slice(0, len(some)), slice(None))
        # the intercept is a feature without a penalty
        parts.append(np.vstack([root[:, None] * every, np.ones((1, len(c)))]))
        matter.append(first + some)
        roots.append(root)
    ends = np.cumsum([0, *map(len, parts)])
    free = ends[1:] - 1
    hessian, slope = np.eye(ends[-1]), np.zeros(ends[-1])
    hessian[free, free] = 0.0
    for k, (at, root) in enumerate(zip(matter, roots, strict=True)):
        rows = slice(ends[k], ends[k + 1])
        slope[rows][:-1] = root * here.correlations[at] - here.weights[at] / root
        slope[rows][-1] = here.expansion.beta[:, k].sum()
        for j in range(k, K):  # the upper triangle suffices
            deadline.check()
            middle = c * chances[:, k] * (float(j == k) - chances[:, j])
            hessian[rows, ends[j] : ends[j + 1]] += (parts[k] * middle) @ parts[j].T
    hessian[np.ix_(free, free)] += float(c.sum()) / K**2  # a common shift changes nothing
    hessian[free, free] += 1e-12 * float(c.sum())
    step = _solve_definite(hessian, slope)
    weights = aim
    for k, (at, root) in enumerate(zip(matter, roots, strict=True)):
        weights[at] = here.weights[at] + root * step[ends[k] : ends[k + 1] - 1]
    return weights, here.intercept - step[free]


def _solve(
    columns: Columns,
    root: FloatArray,
    rows: IntArray,
    h: FloatArray,
    sides: FloatArray,
    deadline: Deadline,
) -> FloatArray:
    """Return (diag(1/h) + AA')⁻¹ sides, A = Φ'√κ on the rows, by the smaller Cholesky factor."""
    k, n = len(root), len(rows)
    if k == 0:
        return h[:, None] * sides
    if n <= k:
        gram = np.zeros((n, n))
        for part in _slices(k, n):
            deadline.check()
            block = columns.entries(part, rows).T * root[part]
            gram += block @ block.T
        gram.flat[:: n + 1] += 1 / h
        return _solve_definite(gram, sides)
    gram = np.zeros((k, k))
    weighted = np.zeros((k, sides.shape[1]))
    for part in _slices(n, k):
        deadline.check()
        block = columns.entries(slice(0, k), rows[part]) * (root[:, None] * np.sqrt(h[part]))
        gram += block @ block.T
        weighted += block @ (np.sqrt(h[part])[:, None] * sides[part])
    gram.flat[:: k + 1] += 1
    inner = root[:, None] * _solve_definite(gram, weighted)
    fitted = np.stack([columns.predict(column)[rows] for column in inner.T], axis=1)
    return np.asarray(h[:, None] * (sides - fitted))


def _solve_definite(matrix: FloatArray, sides: FloatArray) -> FloatArray:
    """Solve a definite system by Cholesky's factorisation; the matrix is overwritten."""
    from scipy.linalg import cho_factor, cho_solve

    if not np.isfinite(matrix).all():
        raise np.linalg.LinAlgError("the matrix overflows")
    return np.asarray(cho_solve(cho_factor(matrix, overwrite_a=True), sides))


def _slices(length: int, other: int) -> list[slice]:
    step = max(1, BLOCK_ENTRIES // max(1, other))
    return [slice(at, min(at + step, length)) for at in range(0, length, step)]
