"""Support vector classification of strings, and the weights of k-mers at positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_flag, check_integer
from formulakern.display.plots import SEQUENTIAL, axes_for, colour_scale, escaped
from formulakern.docstrings import parameters_from
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.svm.machines import (
    FormulaSVC,
    PairwiseMachine,
    number_C,
    search_penalties,
)
from formulakern.estimators.validation import (
    TrainingData,
    require_target,
)
from formulakern.files.models import save
from formulakern.kernels.algebra import Kernel, NormalizedKernel, inverse_length
from formulakern.kernels.strings import (
    StringPair,
    Strings,
    WeightedDegreeKernel,
    k_mers,
    read_strings,
    string_kernel,
)
from formulakern.learning.kernel_machines import pair_weights
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.partitions.lazy_rows import needs_rows
from formulakern.text import significant, table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

HEAD = ("k-mer", "position", "weight", "for", "against")


class PositionWeight(NamedTuple):
    """A k-mer at a position, and its vote for one class against another."""

    k_mer: str
    position: int
    weight: float
    winner: Any
    loser: Any


@dataclass(frozen=True, eq=False, repr=False)
class PositionWeights:
    """The heaviest k-mers of a support vector machine, by position, from ``position_weights()``.

    It is a sequence of :class:`PositionWeight`, and prints as a table.

    Parameters
    ----------
    items : tuple of PositionWeight
        For every pair of classes, the largest weights first.  Weights are positive: the k-mer
        supports ``winner``.  Positions count from 0.
    importance : dict
        (class, other class) → float64 of shape (longest k-mer, length): the largest absolute weight
        of any k-mer, by k − 1 and position; 0 if no k-mer fits.

    Examples
    --------
    >>> from formulakern import StringSVC
    >>> X = ["ACG", "ACT", "GCG", "TCT"]
    >>> model = StringSVC("weighted_degree(2)", C=100).fit(X, [1, 1, 0, 0])
    >>> print(model.position_weights(top=1))
    k-mer  position  weight  for  against
    ─────────────────────────────────────
    A             0   1.45...  1        0
    """

    items: tuple[PositionWeight, ...]
    importance: dict[tuple[Any, Any], FloatArray]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[PositionWeight]:
        return iter(self.items)

    def __getitem__(self, place: int) -> PositionWeight:
        return self.items[place]

    def __repr__(self) -> str:
        return f"<PositionWeights: {len(self)} k-mers for {len(self.importance)} pairs of classes>"

    def __str__(self) -> str:
        return table(HEAD, self._rows())

    def _repr_html_(self) -> str:
        return small_table(HEAD, self._rows(), "r>><<")

    def _rows(self) -> list[list[str]]:
        weights = significant([item.weight for item in self.items])
        return [
            [item.k_mer, str(item.position), weight, str(item.winner), str(item.loser)]
            for item, weight in zip(self.items, weights, strict=True)
        ]

    def to_frame(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per k-mer and position."""
        columns = zip(*self.items, strict=True) if self.items else ([] for _ in HEAD)
        return data_frame(dict(zip(HEAD, map(list, columns), strict=True)))

    def plot(self, ax: Axes | None = None, pair: tuple[Any, Any] | None = None) -> Axes:
        """Draw a heat map of the importance; see :meth:`StringSVC.plot_positions`."""
        pair = next(iter(self.importance)) if pair is None else pair
        if pair not in self.importance:
            known = ", ".join(map(str, self.importance))
            raise ParameterError(f"pair={pair!r}; expected one of {known}.")
        values = self.importance[pair]
        ax = axes_for(ax, 6.4, 3.0)
        k, n = values.shape
        image = ax.imshow(
            values, aspect="auto", origin="lower", cmap=SEQUENTIAL, interpolation="nearest",
            extent=(-0.5, n - 0.5, 0.5, k + 0.5),
        )  # fmt: skip
        colour_scale(image, "largest weight")
        ax.set_xlabel("position")
        ax.set_ylabel("length k of the k-mer")
        ax.set_title(escaped(f"{pair[0]} against {pair[1]}"), fontsize="medium")
        return ax


def position_weights(
    kernel: WeightedDegreeKernel,
    strings: Strings,
    pairs: list[tuple[Any, Any, FloatArray]],
    top: int,
    max_length: int | None,
) -> PositionWeights:
    """Return the exact weights of k-mers in Σ_j c_j·K(x_j, ·).

    A k-mer u at position i has the weight w(u, i) = β_k Σ_j c_j Σ_t δ_|i − t|·[u at t in x_j].  At
    most (strings) · (length) · (max_length) k-mers are weighed.
    """
    from scipy.sparse import coo_array

    codes, _ = kernel.codes(StringPair(strings))
    n_rows, n = codes.shape
    longest = min(kernel.degree, max_length or kernel.degree)
    deltas, betas = kernel.deltas(n), kernel.betas
    importance = {pair[:2]: np.zeros((longest, n)) for pair in pairs}
    found: dict[tuple[Any, Any], list[tuple[float, int, int, int]]] = {p[:2]: [] for p in pairs}
    for k in range(1, longest + 1):
        rows, places, numbers = k_mers(codes.reshape(-1), np.full(n_rows, n), k)
        _, first, kinds = np.unique(numbers, return_index=True, return_inverse=True)
        kinds, positions = kinds.reshape(-1), places % n
        for winner, loser, factors in pairs:
            weights: Any = coo_array(
                (betas[k - 1] * factors[rows], (kinds, positions)), (len(first), n - k + 1)
            ).tocsr()
            if len(deltas) > 1:
                weights = (weights @ _toeplitz(deltas, n - k + 1)).tocsr()
            weights = weights.tocoo()
            size = np.abs(weights.data)
            np.maximum.at(importance[winner, loser][k - 1], weights.col, size)
            most = np.argsort(-size, kind="stable")[:top]
            found[winner, loser] += [
                (float(weights.data[e]), int(places[first[weights.row[e]]]), k, int(weights.col[e]))
                for e in most
                if size[e] > 0
            ]
    items = []
    for (winner, loser), listed in found.items():
        listed.sort(key=lambda item: (-abs(item[0]), item[2], item[3]))
        for weight, place, k, position in listed[:top]:
            row, start = divmod(place, n)
            votes = (winner, loser) if weight > 0 else (loser, winner)
            k_mer = strings[row][start : start + k]
            items.append(PositionWeight(k_mer, position, abs(weight), *votes))
    return PositionWeights(tuple(items), importance)


def _toeplitz(deltas: FloatArray, n: int) -> Any:
    """Return the sparse matrix of δ_|i − t|."""
    from scipy.sparse import diags_array

    some = deltas[:n]
    offsets = [*range(-len(some) + 1, len(some))]
    return diags_array([some[abs(s)] for s in offsets], offsets=offsets, shape=(n, n)).tocsr()


#: The candidates of C="cv".
CANDIDATES = (0.1, 1.0, 10.0, 100.0)


@parameters_from(FormulaSVC)
@dataclass(eq=False, repr=False)
class StringSVC(PairwiseMachine, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classification of strings, with a kernel of ``fk.strings``.

    More than two classes are compared in pairs (one against one), as in
    :class:`sklearn.svm.SVC`.

    Parameters
    ----------
    kernel : str or Kernel, default="weighted_degree(20)"
        A kernel of strings, or its text: a function of ``fk.strings`` with its parameters.
    column : str or int, optional
        The column of a table that has the strings, by name or position; by default the only column
        of text.
    C : "auto", float or "cv", default="auto"
        Penalty parameter of margin errors; "auto" is 1.  "cv": the value of 0.1, 1, 10 and 100 with
        the best cross-validated accuracy; the smallest of equals.
    normalize : bool, default=True
        Use the cosine K(x, z) / √(K(x, x)·K(z, z)).
    cv : "auto", int, splitter or iterable, default="auto"
        The folds of C="cv", in any form that scikit-learn reads; an integer is the number of
        stratified folds.  ``"auto"`` is 5.
    cache_size : float, default=200
        Megabytes.  The solver holds the Gram matrix if it takes no more than this, or than half of
        the free memory.
    random_state : int, default=0
        The seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel
    C_ : float
        The penalty parameter that was used.
    cv_accuracy_ : dict
        The mean accuracy of each candidate; only with C="cv".
    svc_ : PairwiseModel
        The solved model.
    support_, n_support_, dual_coef_, intercept_, n_iter_ : ndarray
        See :class:`sklearn.svm.SVC`.
    gap_, stopped_
        See :class:`FormulaSVC`.

    References
    ----------
    Sonnenburg, Zien, Philips & Rätsch (2008), POIMs: positional oligomer importance matrices —
    understanding support vector machine-based signal detectors, Bioinformatics 24(13):i6–i14,
    doi:10.1093/bioinformatics/btn170.

    Examples
    --------
    >>> X = ["TTGACA", "TTGATA", "CTGACA", "CCGGCA", "ACGGTA", "CCGATC"]
    >>> model = StringSVC("weighted_degree(3)", C=10).fit(X, [1, 1, 1, 0, 0, 0])
    >>> model.predict(["TTGACC", "CCGGCC"])
    array([1, 0])
    """

    kernel: str | Kernel = "weighted_degree(20)"
    _: KW_ONLY
    column: str | int | None = None
    C: float | Literal["auto", "cv"] = "auto"
    normalize: bool = True
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    cv: Any = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    cache_size: float = 200
    random_state: int = 0

    save = save

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Choose C if it is "cv", and train.

        Parameters
        ----------
        X : list, array, Series or table of n_rows strings
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies C per row.

        Returns
        -------
        StringSVC
            Itself.

        Raises
        ------
        DataError
            If strings or classes cannot be read, or the kernel cannot compare these strings.
        ParameterError
            If the kernel or a parameter is wrong.
        """
        chosen = isinstance(self.C, str) and self.C == "cv"
        self.C_ = 1.0 if chosen else number_C(self.C, 1.0, '"auto", "cv"')
        check_flag("normalize", self.normalize)
        self._limits()
        require_target(self, y)
        strings = replace(read_strings(X, self.column), role="the training set")
        data = TrainingData.of(strings, y, self.class_weight, sample_weight)
        labels, weights = data.labels, data.weights
        self.kernel_ = self._make_kernel()
        self.__dict__.pop("cv_accuracy_", None)
        if chosen:
            training, seed = (strings, labels, weights), self.random_state
            best, results = search_penalties(
                self, [self.kernel_], {"C": CANDIDATES}, training, seed, "accuracy", stacklevel=5
            )
            self.C_ = CANDIDATES[best]
            self.cv_accuracy_ = dict(zip(CANDIDATES, results["mean_score"].tolist(), strict=True))
        self._train(strings, labels, self.C_ * weights)
        return self

    def _make_kernel(self) -> Kernel:
        made = string_kernel(self.kernel) if isinstance(self.kernel, str) else self.kernel
        if not isinstance(made, Kernel) or made.reads != "strings":
            raise ParameterError(
                f"kernel={made!r}; expected a kernel of fk.strings, such as "
                "fk.strings.weighted_degree(20), or its text."
            )
        return made.normalized() if self.normalize else made

    def _read_table(self, X: Any) -> Strings:
        strings = read_strings(X, self.column)
        if not strings.n_rows and needs_rows():
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return strings

    def position_weights(self, top: int = 20, max_length: int | None = None) -> PositionWeights:
        """Return the heaviest k-mers of the model, by position.

        The decision for z is b + Σ w(u, i) / ‖z‖ over all k-mers u of z and their positions i, with
        w(u, i) = β_k Σ_j α_j y_j [u at i in x_j] / ‖x_j‖ over the support vectors x_j, where
        ‖x‖ = √K(x, x), or 1 without ``normalize``.  With shifts, [u at i in x_j] is the sum over t
        of δ_|i − t|·[u at t in x_j].  All k-mers of all support vectors are compared, so that no
        k-mer has a larger weight than the listed ones.

        The weight of a k-mer does not include the weights of the k-mers inside and around it, which
        POIMs (Sonnenburg et al. 2008) include.

        Parameters
        ----------
        top : int, default=20
            The number of k-mers for each pair of classes.
        max_length : int, optional
            The largest length of a k-mer; by default the degree of the kernel.

        Returns
        -------
        PositionWeights
            Prints as a table; ``to_frame()`` returns a DataFrame, and ``plot()`` draws it.

        Raises
        ------
        ParameterError
            If the kernel is not a weighted degree kernel, or a parameter is wrong.
        """
        check_is_fitted(self, "svc_")
        check_integer("top", top)
        check_integer("max_length", max_length, otherwise="None for all")
        kernel, normalized = self.kernel_, isinstance(self.kernel_, NormalizedKernel)
        kernel = kernel.kernel if isinstance(kernel, NormalizedKernel) else kernel
        if not isinstance(kernel, WeightedDegreeKernel):
            raise ParameterError(
                f"the kernel is {kernel!r}; expected a weighted degree kernel. Use "
                'kernel="weighted_degree(d)" or "weighted_degree_shifts(d, S)".'
            )
        rows = self._support_rows
        lengths = inverse_length(kernel.diagonal(rows)) if normalized else np.ones(rows.n_rows)
        pairs = [(a, b, factors * lengths) for a, b, factors in pair_weights(self.svc_)]
        return position_weights(kernel, rows, pairs, int(top), max_length)

    def plot_positions(
        self,
        ax: Axes | None = None,
        pair: tuple[Any, Any] | None = None,
        max_length: int | None = None,
    ) -> Axes:
        """Draw the largest weight of any k-mer by its length and position, as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New axes by default.
        pair : tuple of two classes, optional
            The first pair by default.
        max_length : int, optional
            The largest length of a k-mer; by default the degree of the kernel.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        ParameterError
            If the kernel is not a weighted degree kernel, ``pair`` is not a pair of classes, or
            ``max_length`` is wrong.
        """
        return self.position_weights(1, max_length).plot(ax, pair)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
