"""Which k-mer at which position a support vector machine over a weighted degree kernel votes by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.display.plots import SEQUENTIAL, axes_for, colour_scale, escaped
from formulakern.errors import ParameterError
from formulakern.kernels.strings import StringPair, Strings, WeightedDegreeKernel, k_mers
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.text import significant, table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["PositionWeight", "PositionWeights", "position_weights"]

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
    """The heaviest k-mers of a support vector machine, by position; made by ``position_weights()``.

    Prints as a table, and is a sequence of :class:`PositionWeight`.

    Parameters
    ----------
    items : tuple of PositionWeight
        For every pair of classes, the largest weights first.  Weights are positive: the k-mer
        speaks for ``winner``.  Positions count from 0.
    importance : dict
        (class, other class) → float64 of shape (longest k-mer, length): the largest absolute weight
        of any k-mer, by k − 1 and position; 0 where no k-mer fits.

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
        """One row per k-mer and position.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        columns = zip(*self.items, strict=True) if self.items else ([] for _ in HEAD)
        return data_frame(dict(zip(HEAD, map(list, columns), strict=True)))

    def plot(self, ax: Axes | None = None, pair: tuple[Any, Any] | None = None) -> Axes:
        """The importance as a heat map, k by position.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        pair : tuple of two classes, optional
            The first pair by default.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        ParameterError
            If there is no such pair.
        """
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
    """The weights of k-mers in Σ_j c_j·K(x_j, ·), exactly.

    A k-mer u at position i has the weight w(u, i) = β_k Σ_j c_j Σ_t δ_|i − t|·[u at t in x_j], so
    that Σ_j c_j·K(x_j, z) is the sum of w(u, i) over the k-mers u of z and their positions i.  All
    k-mers of the strings are summed, whose number is (strings) · (length) · (max_length).
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
    """The matrix of δ_|i − t|, sparse."""
    from scipy.sparse import diags_array

    some = deltas[:n]
    offsets = [*range(-len(some) + 1, len(some))]
    return diags_array([some[abs(s)] for s in offsets], offsets=offsets, shape=(n, n)).tocsr()
