"""RuleSet: unordered rules, all of which vote that cover a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.errors import ParameterError
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.decision import ClassRule
from formulakern.rules.explanation import SetExplanation, given_rows
from formulakern.rules.export.languages import Votes, WrittenRules
from formulakern.rules.simplification import simplified_set
from formulakern.rules.sums import weighted_sums

__all__ = ["ClassRule", "RuleSet", "SetExplanation"]


@dataclass(frozen=True, repr=False)
class RuleSet(WrittenRules):
    """An unordered set of rules; those that cover a row vote for its class.

    With the rules r₁, …, r_R and votes V, the class of a row x is the one of the largest sum

        s_k(x) = Σ_j V_jk · r_j(x);

    of the default class if all sums are 0.  Ties go to the class that stands first;
    :meth:`explain` names them.

    Parameters
    ----------
    rules : tuple of R ClassRule
        In any order.
    classes : tuple of K
        All classes, each once.
    default : object
        The class of rows without votes; None if it is unknown, and then they are predicted as
        None.
    default_counts : tuple of K float
        Weight by class of the training rows that no rule covers; empty where it is not known.
    vote : {"counts", "rules"}
        ``"counts"``: V_j is the counts of rule j, as CN2 has it; where no rule has counts, each
        has one vote.  ``"rules"``: each rule has one vote, for its class.

    Raises
    ------
    ParameterError
        If a label is not among the classes, counts do not fit them, or only some rules have
        counts and these vote.

    References
    ----------
    Clark & Boswell (1991), Rule induction with CN2: some recent improvements, EWSL-91.
    doi:10.1007/BFb0017011

    Examples
    --------
    >>> from formulakern.rules.rule import rule
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
                f"rule {known.index(False)} has no counts to vote with, and others have. Give all "
                "of them counts, or use vote='rules'."
            )

    @property
    def votes(self) -> FloatArray:
        """V, shape (R, K)."""
        if self.vote == "counts" and self.rules and self.rules[0].counts:
            return np.array([item.counts for item in self.rules])
        return self._labels()

    def _labels(self) -> FloatArray:
        """1 in the column of each rule's class, shape (R, K)."""
        places = [self._places[item.label] for item in self.rules]
        return np.eye(len(self.classes))[np.array(places, dtype=np.intp)]

    def _positions(self, covers: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        sums = weighted_sums(covers, self.votes)
        return np.where(sums.any(axis=1), sums.argmax(axis=1), self._places[self.default])

    @lazily
    def predict_proba(self, table: Any) -> FloatArray:
        """The probability of every class, by Laplace's correction of the added counts.

        The counts of the rules that cover a row are added up, n_k of class k and n in all; with K
        classes the probability is (n_k + 1) / (n + K).

        Returns
        -------
        ndarray of shape (n, K), float64
            The share of the rules that conclude a class, where a rule that covers the row has no
            counts; by the counts of the default where no rule covers the row (1 and 0 where these
            are not known, 1/K if the class is unknown).
        """
        return super().predict_proba(table)

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
        """The rules that each row satisfies, and their votes.

        Parameters
        ----------
        rows : table of n rows, or mapping of column to value
            For example ``X[i : i + 1]``, ``frame.iloc[i]``, or all rows.

        Returns
        -------
        SetExplanation
            Of one row it prints all votes; of more rows a line for each.

        Raises
        ------
        DataError
            If there is no row, or a column is absent.

        Examples
        --------
        >>> from formulakern.rules.rule import rule
        >>> dry = ClassRule(rule("birth = no & fly = no"), "reptile")
        >>> wet = ClassRule(rule("water = sometimes"), "amphibian")
        >>> voting = RuleSet((dry, wet), ("amphibian", "reptile"))
        >>> print(voting.explain({"birth": "no", "fly": "no", "water": "sometimes"}))
        class amphibian, which stands first: a tie of amphibian, reptile
          rule 1 votes reptile 1: birth = no & fly = no
          rule 2 votes amphibian 1: water = sometimes
        """
        table = given_rows(rows)
        return SetExplanation(self, table, self.covers(table), self.votes)

    def simplified(self, domains: Any = None, missing: bool = True) -> Self:
        """A shorter set that predicts the same on every table, by logic.

        A condition goes that the others of its rule imply, and a rule that is never true.

        Parameters
        ----------
        domains : mapping of column to allowed values or ``int``, or table, optional
            Which entries there can be, as for :func:`formulakern.exhaustive`; by default all.
        missing : bool
            Whether entries may be missing, of columns without a domain.
        """
        return simplified_set(self, domains, missing)

    # -- as text ----------------------------------------------------------------------------------

    def _exported(self) -> Votes:
        start = [0.0] * len(self.classes)
        terms = [item.rule for item in self.rules]
        return Votes(terms, self.votes, start, self.classes, default=(self.default,))
