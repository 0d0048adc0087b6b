"""Rules that conclude a class: an ordered list, and an unordered set of voting rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.errors import ParameterError
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.decision_tree import DecisionTree, tree_of
from formulakern.rules.explanation import ListExplanation, SetExplanation, first_of, given_rows
from formulakern.rules.export.languages import DecisionExports, OrderedRules, Votes
from formulakern.rules.simplification import exclusive_rules, simplified_list, simplified_set
from formulakern.rules.sums import weighted_sums


@dataclass(frozen=True, repr=False)
class RuleSet(DecisionExports):
    """An unordered set of rules; the rules that cover a row vote for its class.

    With the rules r₁, …, r_R and votes V, the class of a row x is the k with the largest sum

        s_k(x) = Σ_j V_jk · r_j(x),

    or the default class if all sums are 0.  Ties go to the first class; :meth:`explain` names them.

    The probability of class k is (n_k + 1) / (n + K) for K classes.  n_k is the count of class k
    over the rules that cover the row, and n the sum of all n_k.  If one of these rules has no
    counts, the probability is the share of the covering rules that conclude class k.  If no rule
    covers the row, the counts of the default are used.

    Parameters
    ----------
    rules : tuple of R ClassRule
        In any order.
    classes : tuple of K
        All classes, each once.
    default : object
        The class of rows without votes; None if unknown, and then predicted as None.
    default_counts : tuple of K float
        Weight by class of the training rows that no rule covers; empty if unknown.
    vote : {"counts", "rules"}
        ``"counts"``: V_j is the counts of rule j, as in CN2; if no rule has counts, each rule has
        one vote.  ``"rules"``: each rule has one vote, for its class.

    Raises
    ------
    ParameterError
        If a label is not among the classes, counts do not fit them, or only some rules have
        counts that vote.

    References
    ----------
    Clark & Boswell (1991), Rule induction with CN2: some recent improvements, EWSL-91.
    doi:10.1007/BFb0017011

    Examples
    --------
    >>> from formulakern import ClassRule, rule
    >>> small = ClassRule(rule("size < 3"), "child", (7.0, 2.0))
    >>> grey = ClassRule(rule("hair = grey"), "adult", (0.0, 8.0))
    >>> voting = RuleSet((small, grey), ("child", "adult"))
    >>> voting.predict({"size": [2, 2, 5], "hair": ["grey", "red", "red"]})
    array(['adult', 'child', None], dtype=object)
    >>> voting.votes
    array([[7., 2.],
           [0., 8.]])
    >>> print(voting)
       class    covered  accuracy  rule
    1  child          9     77.8%  size < 3
    2  adult          8    100.0%  hair = grey
       unknown                     otherwise
    """

    FORMAT = "formulakern/rule-set/2"

    vote: Literal["counts", "rules"] = "counts"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("vote", self.vote, ("counts", "rules"))
        known = [bool(item.counts) for item in self.rules]
        if self.vote == "counts" and len(set(known)) > 1:
            raise ParameterError(
                f"rule {known.index(False)} has no counts, but others have. Give counts to every "
                "rule, or use vote='rules'."
            )

    @property
    def votes(self) -> FloatArray:
        """The votes V, shape (R, K)."""
        if self.vote == "counts" and self.rules and self.rules[0].counts:
            return np.array([item.counts for item in self.rules])
        return self._labels()

    def _labels(self) -> FloatArray:
        """Return votes of 1 for each rule's class and 0 for the others, shape (R, K)."""
        places = [self._places[item.label] for item in self.rules]
        return np.eye(len(self.classes))[np.array(places, dtype=np.intp)]

    def _positions(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        sums = weighted_sums(covers, self.votes)
        return np.where(sums.any(axis=1), sums.argmax(axis=1), self._places[self.default])

    def _probabilities(self, covers: npt.NDArray[np.bool_]) -> FloatArray:
        k = len(self.classes)
        counts = np.array([item.counts or (0.0,) * k for item in self.rules]).reshape(-1, k)
        unknown = np.array([not item.counts for item in self.rules], dtype=np.bool_)
        sums, rules = covers @ counts, covers @ self._labels()
        corrected = (sums + 1) / (sums.sum(axis=1, keepdims=True) + k)
        shares = rules / np.maximum(rules.sum(axis=1, keepdims=True), 1)
        by_shares = (covers & unknown).any(axis=1, keepdims=True)
        found: FloatArray = np.where(by_shares, shares, corrected)
        found[~covers.any(axis=1)] = self._corrected(self.default_counts, self.default)
        return found

    def _shares(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.column_stack([covers, ~covers.any(axis=1)])

    def explain(self, rows: Any) -> SetExplanation:
        """Explain each prediction by the rules that the row satisfies, and their votes.

        Parameters
        ----------
        rows : table of n rows, or mapping of column to value
            For example ``X[i : i + 1]``, ``frame.iloc[i]``, or all rows.

        Returns
        -------
        SetExplanation
            With one row it prints all votes; with several, one line per row.

        Raises
        ------
        DataError
            If there are no rows, or a column is absent.

        Examples
        --------
        >>> from formulakern import ClassRule, rule
        >>> dry = ClassRule(rule("birth = no & fly = no"), "reptile")
        >>> wet = ClassRule(rule("water = sometimes"), "amphibian")
        >>> voting = RuleSet((dry, wet), ("amphibian", "reptile"))
        >>> print(voting.explain({"birth": "no", "fly": "no", "water": "sometimes"}))
        class amphibian, the first of a tie: amphibian, reptile
          rule 1 votes 1 for reptile: birth = no & fly = no
          rule 2 votes 1 for amphibian: water = sometimes
        """
        table = given_rows(rows)
        return SetExplanation(self, table, self.covers(table), self.votes)

    def simplified(self, domains: Any = None, missing: bool = True) -> Self:
        """Return a shorter set that provably predicts the same on every table.

        Conditions that follow from the rest of their rule, and rules that never hold, are dropped.

        Parameters
        ----------
        domains : mapping of column to allowed values or ``int``, or table, optional
            The possible entries, as for :func:`formulakern.exhaustive`; all entries by default.
        missing : bool
            True if entries of columns without a domain may be missing.
        """
        return simplified_set(self, domains, missing)

    # -- as text ----------------------------------------------------------------------------------

    def _exported(self) -> Votes:
        start = [0.0] * len(self.classes)
        terms = [item.rule for item in self.rules]
        return Votes(terms, self.votes, start, self.classes, default=(self.default,))


@dataclass(frozen=True, repr=False)
class RuleList(DecisionExports):
    """An ordered list of rules; the first that covers a row decides its class.

    With the rules r₁, …, r_R of the classes c₁, …, c_R, the class of a row x is c_j for the
    smallest j with r_j(x) true ("if … else if … else"), or the default class if there is no such j.

    Parameters
    ----------
    rules : tuple of R ClassRule
        In order.
    classes : tuple of K
        All classes, each once.
    default : object
        The class of rows that no rule covers; None if unknown, and then predicted as None.
    default_counts : tuple of K float
        Weight by class of the training rows that no rule covers; empty if unknown.

    Raises
    ------
    ParameterError
        If a label is not among the classes, or the counts do not fit them.

    References
    ----------
    Rivest (1987), Learning decision lists, Machine Learning 2. doi:10.1007/BF00058680

    Examples
    --------
    >>> from formulakern import ClassRule, rule
    >>> birds = ClassRule(rule("`can fly` = yes"), "bird", (3.0, 1.0))
    >>> listed = RuleList((birds,), ("bird", "fish"), "fish", (0.0, 2.0))
    >>> listed.predict({"can fly": ["yes", "no", None]})
    array(['bird', 'fish', 'fish'], dtype='<U4')
    >>> listed.predict_proba({"can fly": ["yes", "no"]}).round(3)
    array([[0.667, 0.333],
           [0.25 , 0.75 ]])
    >>> print(listed)
       class  covered  accuracy  rule
    1  bird         4     75.0%  `can fly` = yes
       fish         2    100.0%  otherwise
    """

    FORMAT = "formulakern/rule-list/2"

    # -- as a predictor -------------------------------------------------------------------------

    @lazily
    def first_match(self, table: Any) -> npt.NDArray[np.intp]:
        """Return the number of the first rule that covers each row, from 0; R if none does.

        Returns
        -------
        ndarray of shape (n,), intp
        """
        return first_of(self.covers(table))

    def _positions(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        places = self._places
        labels = [*(item.label for item in self.rules), self.default]
        return np.array([places[label] for label in labels], dtype=np.intp)[first_of(covers)]

    def _probabilities(self, covers: npt.NDArray[np.bool_]) -> FloatArray:
        return self._table()[first_of(covers)]

    def _table(self) -> FloatArray:
        """Return the probabilities of each rule and of the default, shape (R + 1, K)."""
        rows = [self._corrected(item.counts, item.label) for item in self.rules]
        return np.array([*rows, self._corrected(self.default_counts, self.default)])

    def _shares(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.asarray(first_of(covers)[:, None] == np.arange(len(self) + 1))

    def explain(self, rows: Any) -> ListExplanation:
        """Explain each prediction by its rule, and by the conditions that fail in earlier rules.

        Parameters
        ----------
        rows : table of n rows, or mapping of column to value
            For example ``X[i : i + 1]``, ``frame.iloc[i]``, or all rows.

        Returns
        -------
        ListExplanation
            With one row it prints all conditions that fail; with several, one line per row.

        Raises
        ------
        DataError
            If there are no rows, or a column is absent.

        Examples
        --------
        >>> from formulakern import ClassRule, rule
        >>> birds = ClassRule(rule("birth = no & fly = yes"), "bird")
        >>> fishes = ClassRule(rule("water = yes"), "fish")
        >>> listed = RuleList((birds, fishes), ("bird", "fish"))
        >>> print(listed.explain({"birth": "no", "fly": "no", "water": "yes"}))
        class fish, by rule 2: water = yes
          not by rule 1 (bird): fly = yes is false, since fly is no
        >>> print(listed.explain({"birth": "yes", "fly": None, "water": "no"}))
        class unknown: no rule is satisfied
          not by rule 1 (bird): birth = no is false, since birth is yes
          not by rule 1 (bird): fly = yes is false, since fly is missing
          not by rule 2 (fish): water = yes is false, since water is no
        >>> two = {"birth": ["no", "no"], "fly": ["yes", "no"], "water": ["no", "no"]}
        >>> print(listed.explain(two))
        row  class    by rule
          0  bird           1  birth = no & fly = yes
          1  unknown           otherwise
        """
        table = given_rows(rows)
        return ListExplanation(self, table, self.covers(table))

    # -- as other values of the same meaning ------------------------------------------------------

    def simplified(self, domains: Any = None, missing: bool = True) -> Self:
        """Return a shorter list that provably predicts the same on every table.

        * A condition is removed if it follows from the rest of its rule in rows that no earlier
          rule covers, such as ``x <= 5`` next to ``x <= 3``.
        * A rule is removed if earlier rules cover its rows, or if these get the same class without
          it.  Its counts are added to those of the rule that then decides these rows.  If several
          rules decide them, these lose their counts; :meth:`with_counts` counts again.
        * A rule that is true of all remaining rows becomes the default.

        Every change is proved.

        Parameters
        ----------
        domains : mapping of column to allowed values or ``int``, or table, optional
            The possible entries, as for :func:`formulakern.exhaustive`; all entries by default.
        missing : bool
            True if entries of columns without a domain may be missing.

        Examples
        --------
        >>> from formulakern import ClassRule, rule
        >>> items = [ClassRule(rule(text), label) for text, label in [
        ...     ("x <= 3 & x <= 5", "a"), ("x < 2 & y = 1", "b"), ("x > 7", "c"), ("y = 2", "c")]]
        >>> print(RuleList(items, ("a", "b", "c"), "c").simplified())
           class  rule
        1  a      x <= 3
           c      otherwise
        """
        return simplified_list(self, domains, missing)

    def to_rule_set(self) -> RuleSet:
        """Return the equivalent unordered set, whose rules are mutually exclusive.

        Rule j becomes r_j ∧ ¬r₁ ∧ … ∧ ¬r_{j−1}, without the parts that follow from the others.
        Whole rules are negated: a comparison with a missing entry and its opposite are both false.

        Returns
        -------
        RuleSet
            With the same predictions and probabilities on every table.

        Examples
        --------
        >>> from formulakern import ClassRule, rule
        >>> items = [ClassRule(rule("x <= 3"), "a"), ClassRule(rule("y = 1"), "b"),
        ...          ClassRule(rule("x > 3 & z = 1"), "c")]
        >>> print(RuleList(items, ("a", "b", "c"), "c").to_rule_set())
           class  rule
        1  a      x <= 3
        2  b      y = 1 & ~(x <= 3)
        3  c      x > 3 & z = 1 & ~(y = 1)
           c      otherwise
        """
        rules = exclusive_rules(self)
        return RuleSet(rules, self.classes, self.default, self.default_counts, "rules")

    def to_tree(self) -> DecisionTree:
        """Return the equivalent decision tree, whose nodes test one comparison each.

        Tests whose result follows from the path, and tests with equal subtrees, are left out.

        Returns
        -------
        DecisionTree
            With the same predictions on every table.

        Raises
        ------
        FormulaSizeError
            If the tree would have more than 20,000 nodes.

        Examples
        --------
        >>> from formulakern import ClassRule, rule
        >>> items = [ClassRule(rule("x <= 3 & y = 1"), "a"), ClassRule(rule("x <= 5"), "b")]
        >>> print(RuleList(items, ("a", "b"), "a").to_tree())
        x <= 3?
        ├─ yes: y = 1?
        │  ├─ yes: a
        │  └─ no: b
        └─ no: x <= 5?
           ├─ yes: b
           └─ no: a
        """
        labels = [*(item.label for item in self.rules), self.default]
        return tree_of([item.rule.formula for item in self.rules], labels, self.classes)

    def head(self, n: int) -> Self:
        """Return a list of the first n rules and the same default, without the default's counts."""
        counts = self.default_counts if n >= len(self) else ()
        return replace(self, rules=self.rules[:n], default_counts=counts)

    # -- as text ----------------------------------------------------------------------------------

    def _exported(self) -> OrderedRules:
        return OrderedRules(
            [item.rule for item in self.rules],
            [*(item.label for item in self.rules), self.default],
            "a list of rules",
            self.classes,
            self._table().tolist(),
        )
