"""The named families of Boolean kernels, as one-liners: ``fk.boolean.conjunctive(3)``.

Write s = ⟨x,z⟩ for the columns that are 1 in both rows, p and q for the ones of each row, n for the
number of columns, and m = n − p − q + 2s for the columns in which the rows agree; C(a, b) are
binomial coefficients.  *Monotone* families build features from columns, the others from literals,
which are columns and negated columns.

==============================  ================================================  ============
kernel                          K(x, z) on rows of 0 and 1                        real vectors
==============================  ================================================  ============
``monotone_conjunctive(d)``     C(s, d)
``monotone_disjunctive(d)``     C(n,d) − C(n−p,d) − C(n−q,d) + C(n−p−q+s,d)
``monotone_dnf(d, c)``          ``any[d](all[c](x))``
``monotone_cnf(d, c)``          ``all[d](any[c](x))``
``conjunctive(d)``              C(m, d)
``disjunctive(d)``              (2^d − 2)·C(n, d) + C(m, d)
``dnf(d, c)``, ``cnf(d, c)``    disjunctions of conjunctions, and the reverse
``d_dnf(d)``                    Σ C(m, k) over k = 1 … d
``sadohara_dnf()``              2^m − 1                                           yes
``sadohara_monotone_dnf()``     2^s − 1                                           yes
``parametric_dnf(σ)``           (1 + σ)^m − 1, monotone (1 + σ)^s − 1             yes
``all_subsets()``               2^s                                               yes
``anova(d)``                    C(s, d)                                           yes
``polynomial(d, c)``            (s + c)^d                                         yes
``tanimoto()``                  s / (p + q − s)                                   yes
==============================  ================================================  ============

All are ordinary kernels: ``+``, ``*``, ``.normalized()``, ``inspect()``, ``SVC(kernel=...)``.
A sum of kernels reads real vectors where all its terms do.  :func:`formulakern.graded` makes any of
them read degrees of truth from 0 to 1.
"""

from __future__ import annotations

from formulakern.kernels.boolean.columns import (
    all_subsets,
    anova,
    monotone_cnf,
    monotone_conjunctive,
    monotone_disjunctive,
    monotone_dnf,
    polynomial,
    sadohara_monotone_dnf,
)
from formulakern.kernels.boolean.counted import tanimoto
from formulakern.kernels.boolean.literals import (
    cnf,
    conjunctive,
    d_dnf,
    disjunctive,
    dnf,
    parametric_dnf,
    sadohara_dnf,
)

__all__ = [
    "all_subsets",
    "anova",
    "cnf",
    "conjunctive",
    "d_dnf",
    "disjunctive",
    "dnf",
    "monotone_cnf",
    "monotone_conjunctive",
    "monotone_disjunctive",
    "monotone_dnf",
    "parametric_dnf",
    "polynomial",
    "sadohara_dnf",
    "sadohara_monotone_dnf",
    "tanimoto",
]
