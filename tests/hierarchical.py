"""Problems of hierarchical kernel learning as arrays, for the tests of several subpackages."""

from types import SimpleNamespace

import numpy as np

from formulakern.deadline import UNLIMITED
from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl.active_set import grow
from formulakern.learning.hkl.options import Options
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.rows import Rows
from formulakern.solvers.hierarchical.losses import MultinomialLoss, loss_of
from formulakern.solvers.hierarchical.norm import Lattice
from formulakern.solvers.hierarchical.solve import Features, relative_gap, solve_hierarchical


def solved(
    columns,
    nodes,
    y,
    *,
    rho=1.1,
    C=1.0,
    depth_penalty=2.0,
    loss="hinge",
    sample_weight=None,
    others=None,
    other_penalty=1.0,
    group=None,
    signs=None,
    tol=1e-3,
    start=None,
    **limits,
):
    """One function on given nodes; ``columns`` has a row for each example."""
    columns, y = np.asarray(columns, dtype=bool), np.asarray(y, dtype=float)
    m = len(y)
    weights = np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    used = weights > 0
    others = np.zeros((m, 0)) if others is None else others
    nodes = [tuple(sorted(node)) for node in nodes]
    lattice = Lattice.of(nodes, rho, depth_penalty, others.shape[1], other_penalty)
    features = Features(lattice, columns[used].T, others[used].T, signs)
    read = loss_of(loss, y[used], C * weights[used], None if group is None else group[used])
    begin = None if start is None else ([np.asarray(start[0], float)], start[1])
    found = solve_hierarchical([features], read, tol=tol, start=begin, **limits)
    dual = np.zeros(m)
    dual[used] = found.dual
    return SimpleNamespace(
        weights=found.weights[0],
        intercept=found.intercept,
        objective=found.objective,
        lower_bound=found.lower_bound,
        gap=relative_gap(found.objective, found.lower_bound),
        dual=dual,
        certificate=found.certificates[0],
        iterations=found.iterations,
        status=found.status,
        start=(found.weights[0], found.intercept),
    )


def solved_together(columns, lattices, codes, c, *, tol, start=None, n_others=0):
    """A function of each class, by the multinomial loss; ``columns`` has a row for each feature."""
    loss = MultinomialLoss(codes.astype(float), c)
    features = []
    for lattice, own in zip(lattices, columns, strict=True):
        n = len(own) - n_others
        features.append(Features(lattice, own[:n] > 0, own[n:]))
    begin = None if start is None else (start, loss.cold)
    found = solve_hierarchical(features, loss, tol=tol, start=begin)
    parts = zip(found.weights, columns, strict=True)
    scores = np.stack([f @ own for f, own in parts], axis=1) - found.intercept
    return SimpleNamespace(
        weights=found.weights,
        intercepts=-found.intercept,
        objective=found.objective,
        lower_bound=found.lower_bound,
        scores=scores,
        beta=found.dual,
    )


def grown(
    X,
    y,
    *,
    others=None,
    kind=None,
    tol=1e-3,
    deadline=UNLIMITED,
    start=None,
    report=lambda *_: None,
    **options,
):
    """One function over all conjunctions of the columns of X."""
    table = read_packed(X)
    if kind is None:
        table, kind = table.distinct()
    m = len(kind)
    numbers = np.zeros((m, 0)) if others is None else others
    rows = Rows.merged(table, Examples(kind, np.asarray(y, dtype=float), np.ones(m), numbers))
    found = grow(rows, Options(**options), tol, deadline, start, lambda _, step: report(step))
    dual = np.bincount(rows.examples.kind, found.solution.dual, table.n_rows)
    return SimpleNamespace(
        nodes=found.nodes[0],
        others=found.others[0],
        weights=found.weights[0],
        f=found.solution.weights[0],
        intercept=found.solution.intercept,
        objective=found.solution.objective,
        lower_bound=found.lower_bound,
        gap=found.gap,
        history=found.history[0],
        status=found.status,
        table=table,
        beta=dual,  # of the rows of the table
        start=found,
    )
