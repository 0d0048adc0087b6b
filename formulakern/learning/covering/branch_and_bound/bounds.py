r"""Compiled: how much a number of further rules can correct, whatever they are.

Let U be the rows that a prefix leaves, c the class of the default, and E_c the weight of U in other
classes, which is wrong if no rule follows.  For an antecedent a let P(a) be its largest weight
within U in one class other than c, and N(a) its weight in c.  Rules for c correct nothing
themselves; let q of the s rules that follow be such, and V the rows that the others decide.  These
correct at most the sum of their P, and misclassify the weight of V in c, which is at least N(a) for
each of their antecedents a, less what a rule before it captures: so

    gain ≤ Σ_{s − q} P(a) − max(0, max N(a) − t − X_q),

where t is the weight that a first rule captures in c, and X_q the sum of the q largest N.

X_q need not be over all antecedents.  Behind the first rule, a list below the threshold may make an
error of some β only.  Let the first rule capture t in c and u in other classes, and let Q(a) be the
weight of a within U in classes other than c.

* What a rule for c captures in other classes is wrong.  So its Q is at most β, plus u, plus what
  rules for other classes captured before it.
* What a rule for another class captures in c is wrong.  So its N is at most β, plus t, plus what
  rules for c captured before it.

So with i rules for c and j others so far, these have captured at most T_ij in c and V_ij elsewhere,

    T_ij = t + Σ_i {N(a) : Q(a) ≤ V_{i−1,j} + β},    V_ij = u + Σ_j {Q(a) : N(a) ≤ T_{i,j−1} + β},

where Σ_i is the sum of the i largest, and T_{q,s−q−1} takes the place of t + X_q.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.compilation import compiled

__all__ = ["BUCKETS", "bound_children"]

#: N is looked at in so many steps, rounded down.
BUCKETS = 256


@compiled()
def _insert(table: Any, row: Any, n: Any, value: Any) -> None:
    """Put a value into a row, which holds the n largest, largest first."""
    place = n - 1
    if value <= table[row, place]:
        return
    while place > 0 and table[row, place - 1] < value:
        table[row, place] = table[row, place - 1]
        place -= 1
    table[row, place] = value


@compiled()
def _largest_up_to(keys: Any, values: Any, n: Any, shift: Any, most: Any, out: Any) -> Any:
    """Row b gets the ``most`` largest values of keys of at most b steps; the last row in use."""
    top = np.int64(0)
    for i in range(n):
        top = max(top, keys[i] >> shift)
    for b in range(top + 1):
        for s in range(most):
            out[b, s] = 0
    for i in range(n):
        _insert(out, keys[i] >> shift, most, values[i])
    for b in range(1, top + 1):
        for s in range(most):
            if out[b - 1, s] == 0:
                break
            _insert(out, b, most, out[b - 1, s])
    for b in range(top + 1):
        for s in range(1, most):
            out[b, s] += out[b, s - 1]
    return top


@compiled()
def _gain(best: Any, without: Any, top: Any, shift: Any, n_rules: Any, captured: Any) -> Any:
    """The largest gain of so many rules for other classes, where so much of c is captured."""
    step = captured >> shift
    if step >= top:
        return best[top, n_rules - 1]
    return max(best[step, n_rules - 1], captured + without[step + 1, n_rules - 1])


@compiled()
def bound_children(
    gains: Any,
    losses: Any,
    others: Any,
    before: Any,
    wrong: Any,
    sure: Any,
    n: Any,
    n_rules: Any,
    penalty: Any,
    threshold: Any,
    memory: Any,
    bounds: Any,
) -> None:
    """Lower bounds on lists that go on with a first rule and 1, …, S more, for one default.

    Parameters
    ----------
    gains, losses, others : int64 (at least n,)
        P, N and Q of n antecedents.
    before, wrong, sure : int64 (at least n,)
        What a list costs up to this antecedent as its next rule; what is wrong behind it if no
        rule follows, and at least.
    n_rules : int
        S, at least 1.
    penalty, threshold : int
        Bounds hold for lists below the threshold.
    memory : int64 (6, BUCKETS, at least S)
    bounds : int64 (at least n,)
        Lowered to the bounds.
    """
    best, without, shields, reach = memory[0], memory[1], memory[2], memory[3]
    carried, elsewhere = memory[4], memory[5, 0]
    shift, shift_others = 0, 0
    for i in range(n):
        while losses[i] >> shift >= BUCKETS:
            shift += 1
        while others[i] >> shift_others >= BUCKETS:
            shift_others += 1
    top = _largest_up_to(losses, gains, n, shift, n_rules, best)
    top_others = 0
    if n_rules > 1:
        top_others = _largest_up_to(others, losses, n, shift_others, n_rules - 1, shields)
        _largest_up_to(losses, others, n, shift, n_rules - 1, carried)
    for s in range(n_rules):
        following = best[top, s] - (top << shift)
        for b in range(top, -1, -1):
            following = max(following, best[b, s] - (b << shift))
            without[b, s] = following
    for s in range(1, n_rules + 1):
        for b in range(top + 1):
            captured = ((b + 1) << shift) - 1
            largest = _gain(best, without, top, shift, s, captured)
            for q in range(1, s):
                shield = captured + shields[top_others, q - 1]
                largest = max(largest, _gain(best, without, top, shift, s - q, shield))
            reach[b, s - 1] = largest
    for i in range(n):
        for s in range(1, n_rules + 1):
            least = before[i] + s * penalty
            limit = min(bounds[i], threshold)
            if least + sure[i] >= limit:
                break
            if least + wrong[i] - reach[losses[i] >> shift, s - 1] >= limit:
                continue
            error = threshold - 1 - least
            gain = np.int64(0)
            for q in range(s):
                captured = losses[i]
                for j in range(s - q):
                    last = captured
                    captured = losses[i]
                    if q > 0:
                        step = min((elsewhere[j] + error) >> shift_others, top_others)
                        captured += shields[step, q - 1]
                    elsewhere[j] = others[i]
                    if j > 0:
                        elsewhere[j] += carried[min((last + error) >> shift, top), j - 1]
                gain = max(gain, _gain(best, without, top, shift, s - q, captured))
            bounds[i] = min(bounds[i], least + max(wrong[i] - gain, sure[i]))
