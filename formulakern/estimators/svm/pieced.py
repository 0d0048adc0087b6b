"""Support vector classification, one against one, on rows that stay in pieces."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import different_rows
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.estimators.svm.extraction import TrainedModel
from formulakern.estimators.svm.pairwise import PairwiseModel
from formulakern.kernels.algebra import Kernel
from formulakern.learning.kernel_machines.decomposition import Limits
from formulakern.learning.kernel_machines.in_pieces.class_pairs import class_pair, counted_covers
from formulakern.learning.kernel_machines.in_pieces.row_state import stacked
from formulakern.learning.kernel_machines.in_pieces.training import SpreadExpansion, train_pieces
from formulakern.partitions.partitioned import Partitioned
from formulakern.rules.features import Instance
from formulakern.solvers.solution import share_done

__all__ = ["PiecedModel", "solve_pieces"]


@dataclass(frozen=True, eq=False)
class PiecedModel(TrainedModel):
    """A model of rows that stay in pieces, which tell the covers of its rules.

    Parameters
    ----------
    rows : PackedTable
        The support vectors.
    classes : ndarray of shape (support vectors,)
    pieces : Partitioned of WeightedRows, optional
        All training rows.  They are not kept in files and copies.
    """

    pieces: Partitioned | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the pieces."""
        return self.__dict__ | {"pieces": None}

    def _covered(self, asked: Sequence[tuple[Instance, Any]]) -> list[tuple[int, int, int, int]]:
        """As of :class:`.TrainedModel`."""
        if self.pieces is None:
            raise ParameterError(
                "this model was fitted to rows in pieces, which say how many rows a rule covers, "
                "and the pieces are not kept in files and copies. Read the rules before saving."
            )
        labels = self.svc.classes_.tolist()
        features = [feature for feature, _ in asked]
        counts = sum(self.pieces.map(counted_covers, features, len(labels)))
        ends, n = counts[-1], int(counts[-1].sum())
        votes = [labels.index(voted) for _, voted in asked]
        return [
            (int(own.sum()), int(own[vote]), int(ends[vote]), n)
            for own, vote in zip(counts, votes, strict=False)
        ]


def solve_pieces(
    pieces: Partitioned,
    labels: npt.NDArray[Any],
    kernel: Kernel,
    C: float,
    limits: Limits,
    shape: tuple[int, int],
    progress: Callable[[float, float], None] | None = None,
) -> tuple[PairwiseModel, PackedTable]:
    """Solve for every pair of classes.

    Parameters
    ----------
    pieces : Partitioned of WeightedRows
        Their codes are places in ``labels``.
    labels : ndarray of shape (n_classes,)
        At least two, each of a row of some piece.
    kernel : Kernel
    C : float
        Multiplied by the weights.
    limits : Limits
        ``seconds`` of all pairs together.
    shape : (int, int)
        Rows and columns of the training table.
    progress : callable, optional
        Called with the share that is done, and the gap of the pair at work.

    Returns
    -------
    PairwiseModel
        Its ``support_`` are rows of the table.
    PackedTable
        The support vectors, class by class; equal ones of a class are one.

    Raises
    ------
    KeyboardInterrupt
        Where some pairs have not been looked at.
    """
    began = time.monotonic()
    pairs = list(itertools.combinations(range(len(labels)), 2))
    found: list[SpreadExpansion] = []
    for done, (i, j) in enumerate(pairs):
        left = (limits.seconds - (time.monotonic() - began)) / (len(pairs) - done)

        def step(_: float, gap: float, done: int = done) -> None:
            if progress is not None:
                progress((done + share_done(1.0, gap, limits.tol)) / len(pairs), gap)

        winner, loser = (j, i) if len(labels) == 2 else (i, j)  # as scikit-learn has it
        expansion = train_pieces(
            pieces.persist(class_pair, C, winner, loser),
            kernel,
            replace(limits, seconds=max(left, 0.0)),
            progress=step,
        )
        found.append(expansion)
        if expansion.stopped == "interrupted" and done + 1 < len(pairs):
            raise KeyboardInterrupt
    return _model(labels, pairs, found, shape)


def _model(
    labels: npt.NDArray[Any],
    pairs: list[tuple[int, int]],
    found: list[SpreadExpansion],
    shape: tuple[int, int],
) -> tuple[PairwiseModel, PackedTable]:
    """The support vectors of all pairs as one table, and their coefficients."""
    codes, places = [], []
    for (i, j), expansion in zip(pairs, found, strict=True):
        first = expansion.linear > 0
        winner, loser = (j, i) if len(labels) == 2 else (i, j)
        codes.append(np.where(first, winner, loser))
        places.append(np.where(codes[-1] == i, j - 1, i))  # rows of the coefficients
    code, place = np.concatenate(codes), np.concatenate(places)
    table = stacked([expansion.table for expansion in found])
    keys = np.column_stack([code.astype(np.uint64), table.rows])
    if len(keys):
        unique, kind = different_rows(np.ascontiguousarray(keys))
    else:
        unique = kind = np.empty(0, dtype=np.intp)
    order = np.argsort(code[unique], kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    support = unique[order]
    coefficients = np.zeros((len(labels) - 1, len(support)))
    beta = np.concatenate([expansion.beta for expansion in found])
    np.add.at(coefficients, (place, rank[kind]), beta)
    stops = [expansion.stopped for expansion in found]
    model = PairwiseModel(
        labels,
        np.arange(len(support)),
        np.bincount(code[support], minlength=len(labels)).astype(np.int32),
        coefficients,
        np.array([expansion.values.intercept for expansion in found]),
        np.array([expansion.iterations for expansion in found], dtype=np.int32),
        np.array([expansion.gap for expansion in found]),
        next((stop for stop in stops if stop != "optimal"), "optimal"),
        found[0].history,
        shape,
    )
    return model, table.take(support)
