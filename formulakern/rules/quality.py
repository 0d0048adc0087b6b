"""Quality of rules on a table: coverage, accuracy, and the measures of rule learners.

For a rule that concludes a class, p is the weight of the covered rows of that class, and n the
weight of the other covered rows.  P and N are the weights of all rows of the class and of all other
rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_number
from formulakern.encoding.propositions import evaluate_formula
from formulakern.errors import ParameterError
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.rules.decision import ClassRule, class_positions, row_weights
from formulakern.rules.properties import formulas_of
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import TRUE, Formula
from formulakern.tables.table import Table
from formulakern.text import clip, table

if TYPE_CHECKING:
    import pandas

#: Measures of a rule with their headings in print.
MEASURES = {
    "coverage": "coverage", "accuracy": "accuracy", "laplace": "laplace", "m_estimate": "m",
    "foil_gain": "FOIL", "entropy": "entropy", "lift": "lift",
    "weighted_relative_accuracy": "WRAcc", "likelihood_ratio": "likelihood",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class RuleQuality:
    """Counts of R rules on a table, and their measures; see :func:`rule_quality`.

    Parameters
    ----------
    rules : tuple of R str
        The rules as text.
    labels : tuple of R
        The class of each rule.
    classes : tuple of K
        All classes, in the order of the columns of ``counts``.
    counts : ndarray of shape (R, K), float64
        Weight of the covered rows by class.
    totals : ndarray of shape (K,), float64
        Weight of all rows by class.
    positives, negatives : ndarray of shape (R,), float64
        p and n: the weight of the covered rows of the rule's class, and of the other classes.
    coverage : ndarray of shape (R,), float64
        (p + n) / (P + N), the share of covered rows.
    accuracy : ndarray of shape (R,), float64
        p / (p + n), the share of the rule's class in the covered rows; nan if no row is covered.
    laplace : ndarray of shape (R,), float64
        (p + 1) / (p + n + K), Laplace's estimate of the accuracy (Clark & Boswell, 1991).
    m_estimate : ndarray of shape (R,), float64
        (p + m·π) / (p + n + m), the accuracy shrunk towards π = P/(P + N) as if by m more rows
        (Cestnik, 1990).
    foil_gain : ndarray of shape (R,), float64
        p · (log₂ p/(p + n) − log₂ p₀/(p₀ + n₀)), FOIL's information gain over the base rule, which
        covers p₀ and n₀; 0 if p is 0 (Quinlan, 1990).
    entropy : ndarray of shape (R,), float64
        −Σ_k f_k/f · log₂ f_k/f for the weights f_k of the covered rows by class, in bits (Clark &
        Niblett, 1989); nan if no row is covered.
    lift : ndarray of shape (R,), float64
        p/(p + n) : P/(P + N), the accuracy as a multiple of the share of the class.
    weighted_relative_accuracy : ndarray of shape (R,), float64
        (p + n)/(P + N) · (p/(p + n) − P/(P + N)), coverage times gain in accuracy (Lavrač, Flach &
        Zupan, 1999); 0 if no row is covered.
    likelihood_ratio : ndarray of shape (R,), float64
        2 Σ_k f_k ln(f_k / e_k), where e_k = f · T_k / T for the totals T_k.  It follows χ² with
        K − 1 degrees of freedom if rule and class are independent (Clark & Niblett; Tan, Steinbach
        & Kumar print it with log₂).

    References
    ----------
    Clark & Niblett (1989), The CN2 induction algorithm, Machine Learning 3. doi:10.1007/BF00116835
    Quinlan (1990), Learning logical definitions from relations, Machine Learning 5.
    doi:10.1007/BF00117105
    Cestnik (1990), Estimating probabilities: a crucial task in machine learning, ECAI-90.
    Clark & Boswell (1991), Rule induction with CN2: some recent improvements.
    doi:10.1007/BFb0017011
    Lavrač, Flach & Zupan (1999), Rule evaluation measures: a unifying view, ILP-99.
    doi:10.1007/3-540-48751-4_17
    """

    rules: tuple[str, ...]
    labels: tuple[Any, ...]
    classes: tuple[Any, ...]
    counts: FloatArray
    totals: FloatArray
    positives: FloatArray
    negatives: FloatArray
    coverage: FloatArray
    accuracy: FloatArray
    laplace: FloatArray
    m_estimate: FloatArray
    foil_gain: FloatArray
    entropy: FloatArray
    lift: FloatArray
    weighted_relative_accuracy: FloatArray
    likelihood_ratio: FloatArray

    def __len__(self) -> int:
        return len(self.rules)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per rule: class, positives, negatives, the measures, rule."""
        numbers = {name: getattr(self, name) for name in ("positives", "negatives", *MEASURES)}
        return data_frame({"class": list(self.labels), **numbers, "rule": list(self.rules)})

    def __repr__(self) -> str:
        return f"<RuleQuality of {len(self)} rules>"

    def __str__(self) -> str:
        return table(*self._cells(40))

    def _repr_html_(self) -> str:
        return small_table(*self._cells(400), "r" + ">" * len(MEASURES))

    def _cells(self, width: int) -> tuple[list[str], list[tuple[str, ...]]]:
        columns = [[f"{number:.4g}" for number in getattr(self, name)] for name in MEASURES]
        front = [clip(f"{r} → {x}", width) for r, x in zip(self.rules, self.labels, strict=True)]
        return ["rule", *MEASURES.values()], [*zip(front, *columns, strict=True)]


def rule_quality(
    rules: Iterable[Any],
    X: Any,
    y: Any,
    *,
    labels: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    base: Any = None,
    m: float = 2.0,
) -> RuleQuality:
    """Measure rules on the rows of a table, in O(n) per rule.

    Parameters
    ----------
    rules : iterable of R ClassRule, Rule, str or Formula
        The rules, for example of a RuleList or RuleSet.  Each is measured on all rows, including
        those that an earlier rule of a list covers.
    X : DataFrame, mapping of columns, array-like or Table of n rows
        The rows on which the rules are counted.
    y : array-like of shape (n,)
        Classes.
    labels : object or list of R objects, optional
        The class of all rules, or of each.  By default, the class of a ClassRule; for other rules,
        the most frequent class of the covered rows (of all rows if none is covered).
    sample_weight : array-like of shape (n,), optional
        Row weights, 1 each by default; counts are sums of weights.
    base : Rule, str, Formula, or list of R of them, optional
        The rule before specialisation, for FOIL's gain; by default, the rule that is always true.
    m : float
        The weight of the prior in the m-estimate.

    Returns
    -------
    RuleQuality
        An array of shape (R,) per measure; it prints as a table.

    Raises
    ------
    DataError
        If a column is absent or cannot be compared, lengths differ, or a weight is negative or not
        finite.
    ParameterError
        If ``labels`` or ``base`` do not fit the rules.

    References
    ----------
    Fürnkranz & Flach (2005), ROC 'n' rule learning, Machine Learning 58.
    doi:10.1007/s10994-005-5011-x

    Examples
    --------
    >>> import formulakern as fk
    >>> X = {"status": ["single", "married", "single", "single"], "income": [125, 100, 70, 85]}
    >>> found = fk.rule_quality(["status = single", "income < 90"], X, ["no", "no", "no", "yes"])
    >>> found.labels, found.coverage, found.accuracy.round(3)
    (('no', 'no'), array([0.75, 0.5 ]), array([0.667, 0.5  ]))
    >>> print(found.to_frame()[["class", "positives", "negatives", "rule"]])
      class  positives  negatives             rule
    0    no        2.0        1.0  status = single
    1    no        1.0        1.0      income < 90
    """
    check_number("m", m, 0)
    items = [rules] if isinstance(rules, (str, Formula, Rule, ClassRule)) else list(rules)
    formulas, rows = formulas_of(items), Table.of(X)
    labels = None if labels is None else _each("labels", labels, len(items))
    given = [item.label for item in items if isinstance(item, ClassRule)]
    classes = _classes(y, [*given, *(labels or ())])
    places = class_positions(y, classes, len(rows))
    weights = row_weights(sample_weight, len(rows))
    bases = [TRUE] * len(items) if base is None else formulas_of(_each("base", base, len(items)))
    known: dict[Formula, npt.NDArray[np.bool_]] = {}
    counted: dict[Formula, FloatArray] = {}
    for formula in [TRUE, *formulas, *bases]:
        if formula not in counted:
            on = evaluate_formula(formula, rows, known)
            found = np.bincount(places[on], weights[on], len(classes))
            counted[formula] = np.asarray(found, dtype=np.float64)  # also without rows
    totals = counted[TRUE]
    counts, base_counts = (
        np.reshape([counted[formula] for formula in some], (-1, len(classes)))
        for some in (formulas, bases)
    )
    if labels is None:
        most = np.where(counts.any(axis=1, keepdims=True), counts, totals).argmax(axis=1).tolist()
        labels = [
            item.label if isinstance(item, ClassRule) else classes[place]
            for item, place in zip(items, most, strict=True)
        ]
    about = tuple(labels)
    places = class_positions(about, classes, len(items))

    def split(of: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weight of each rule's class, and of the others."""
        weights = np.broadcast_to(of, counts.shape)
        own = weights[np.arange(len(places)), places]
        return own, weights.sum(axis=1) - own

    (p, n), (P, N), (base_p, base_n) = split(counts), split(totals), split(base_counts)
    covered, total = p + n, P + N
    precision, prior = _ratio(p, covered), _ratio(P, total)
    shares = _ratio(counts, counts.sum(axis=1, keepdims=True))
    bits = np.log2(shares, out=np.zeros_like(shares), where=~(shares == 0))
    expected = counts.sum(axis=1, keepdims=True) * _ratio(totals, totals.sum())
    surplus = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = p * (np.log2(precision) - np.log2(_ratio(base_p, base_p + base_n)))
    return RuleQuality(
        tuple(map(str, formulas)),
        about,
        classes,
        counts,
        totals,
        positives=p,
        negatives=n,
        coverage=_ratio(covered, total),
        accuracy=precision,
        laplace=_ratio(p + 1, covered + len(classes)),
        m_estimate=_ratio(p + m * prior, covered + m),
        foil_gain=np.where(p == 0, 0.0, gain),
        entropy=0.0 - (shares * bits).sum(axis=1),
        lift=_ratio(precision, prior),
        weighted_relative_accuracy=_ratio(p, total) - _ratio(covered, total) * prior,
        likelihood_ratio=2 * (counts * np.log(surplus)).sum(axis=1),
    )


def _each(name: str, value: Any, n: int) -> list[Any]:
    """Return one value for each of n rules."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [value] * n
    if len(value) != n:
        raise ParameterError(
            f"{name} has {len(value)} entries; expected one, or one for each of {n} rules."
        )
    return list(value)


def _classes(y: Any, given: Sequence[Any]) -> tuple[Any, ...]:
    """Return all classes, sorted if they are comparable."""
    plain = y.tolist() if isinstance(y, np.ndarray) else list(y)
    different = dict.fromkeys([*plain, *given])
    try:
        return tuple(sorted(different))
    except TypeError:
        return tuple(different)


def _ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> FloatArray:
    """Return the quotient; nan if the divisor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.true_divide(above, np.where(np.equal(below, 0), np.nan, below)))
