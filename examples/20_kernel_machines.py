"""FormulaSVC on tables of many rows: time, memory, and the duality gap against time
=================================================================================

In a shell::

    python examples/20_kernel_machines.py                      # all of adult, C = 1 and C = 100
    python examples/20_kernel_machines.py connect-4            # 67,557 rows, three classes
    python examples/20_kernel_machines.py flush                # a million poker hands
    python examples/20_kernel_machines.py pair --minutes 60    # a pair or better, or nothing
    python examples/20_kernel_machines.py growth               # time against rows, and against C
    python examples/20_kernel_machines.py path                 # ten values of C and five folds
    python examples/20_kernel_machines.py --libsvm             # adult by LIBSVM as well: minutes
    python examples/20_kernel_machines.py --quick              # hands and adult, few rows, seconds

Poker hands are generated: five of 52 cards without replacement, as ten columns with the suit and
the rank of each card.  A flush has five cards of one suit; about one hand in 500 is a flush.  Pairs
of propositions cannot separate hands with two equal ranks, or a straight or a flush, so most rows
become support vectors.

The kernel is ``a & b``, normalised.  Times are those of the solver on an encoded table, with
compiled functions loaded; memory is the peak of the whole process.  The model then predicts the
16,281 test rows of adult, as many new hands, or as many training rows of connect-4.
"""

import argparse
import resource
import time

import numpy as np
from protocol import read, whole
from sklearn.svm import SVC

import formulakern as fk

ROWS = 1_000_000
#: The number of rows to predict.
TEST = 16_281


def poker(n, seed=0):
    """Return the suits (0 to 3) and ranks (0 to 12) of five cards: two (n, 5) arrays."""
    rng = np.random.default_rng(seed)
    cards = np.empty((n, 5), dtype=np.int64)
    for start in range(0, n, 100_000):
        part = slice(start, min(start + 100_000, n))
        cards[part] = rng.random((part.stop - start, 52)).argpartition(5, axis=1)[:, :5]
    return cards % 4, cards // 4


def hands(n, task, seed=0):
    """Return 0/1 columns for suits and ranks, and the classes."""
    suits, ranks = poker(n, seed)
    columns = [suits[:, [i]] == np.arange(4) for i in range(5)]
    columns += [ranks[:, [i]] == np.arange(13) for i in range(5)]
    X = np.hstack(columns).astype(np.uint8)
    flush = (suits == suits[:, :1]).all(axis=1)
    if task == "flush":
        return X, flush
    ordered = np.sort(ranks, axis=1)
    straight = (np.diff(ordered, axis=1) == 1).all(axis=1)
    straight |= (ordered == [0, 9, 10, 11, 12]).all(axis=1)
    return X, flush | straight | (np.diff(ordered, axis=1) == 0).any(axis=1)


def table(task, n):
    """Return a table, its classes, rows to predict and their classes, and FormulaSVC's encoder."""
    if task in ("flush", "pair"):
        return *hands(n or ROWS, task), *hands(TEST, task, seed=1), None
    if task == "adult":
        (X, y), (Z, t) = read("adult-train.csv.gz", "adult-test.csv.gz")
    else:
        X, y = whole(task)
        Z, t = X.iloc[:TEST], y[:TEST]
    if n:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
        X, y = X.iloc[rows], y[rows]
    return X, y, Z, t, "auto"


def memory():
    """Return the largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def prepared(model, task, n):
    """Return encoded rows and classes, and those to predict; compile all functions."""
    X, y, Z, t, encoder = table(task, n)
    model.set_params(encoder=encoder)
    data = model._read_training(X, y)
    few = np.concatenate([np.flatnonzero(data.labels == label)[:100] for label in data.classes])
    fk.FormulaSVC(encoder=encoder)._fit_encoded(data.take(few), X)
    return data, model._read_table(Z), t


def fitted(task, n, C, tol, minutes):
    """Measure one fit; return the line of the table, the model, and encoded rows with classes."""
    model = fk.FormulaSVC(C=C, tol=tol, time_limit=minutes * 60)
    data, later, truth = prepared(model, task, n)
    packed = data.table
    wall, cpu = time.perf_counter(), time.process_time()
    model._fit_encoded(data, packed)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    begin = time.perf_counter()
    right = np.mean(model.predict(later) == truth)
    reading = time.perf_counter() - begin
    cells = [
        task, f"{packed.n_rows:,}", packed.n_columns, f"{C:g}", f"{wall:.1f}", f"{cpu:.1f}",
        f"{model.gap_:.1e}", f"{len(model.support_):,}", f"{memory():.0f}", f"{reading:.2f}",
        f"{100 * right:.2f}",
    ]  # fmt: skip
    return cells, model, data


HEAD = (
    "table", "rows", "columns", "C", "seconds", "CPU s", "gap", "support vectors", "MB",
    "s for 16,281 rows", "% right there",
)  # fmt: skip


def line(cells):
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def by_libsvm(model, packed, classes, C):
    """Return CPU seconds of LIBSVM's own polynomial of degree 2, and its dual objective.

    All rows of adult have the same number of ones, so ⟨x,z⟩² / p² is the cosine of ``a & b``.
    """
    X = packed.unpacked().astype(np.float64)
    begin = time.process_time()
    svc = SVC(kernel="poly", degree=2, gamma=1 / packed.counts[0], coef0=0.0, C=C).fit(X, classes)
    seconds = time.process_time() - begin

    def objective(fit):
        beta, support = fit.dual_coef_[0], packed.take(fit.support_)
        products = model.kernel_.matvec(support, beta)
        return np.abs(beta).sum() - beta @ products / 2

    ours, theirs = objective(model), objective(svc)
    return f"LIBSVM: {seconds:.1f} CPU s; its dual objective is {theirs / ours - 1:+.1e} relative"


def path(n):
    """Compare the time of FormulaSVCCV with one fit at the chosen C, and at the largest C."""
    search = fk.FormulaSVCCV()
    data, *_ = prepared(search, "adult", n)
    begin = time.process_time()
    search._fit_encoded(data, data.table)
    print(f"ten values of C, five folds: {time.process_time() - begin:.1f} CPU s", flush=True)
    for C in (search.C_, search.cv_results_["C"][-1]):
        begin = time.process_time()
        fk.FormulaSVC(C=C, encoder=None)._fit_encoded(data, data.table)
        print(f"one fit with C = {C:g}: {time.process_time() - begin:.1f} CPU s", flush=True)


def growth(n_most):
    """Measure the time against rows, and against C."""
    rows = []
    sizes = [n for n in (62_500, 125_000, 250_000, 500_000, 1_000_000) if n <= n_most]
    for n in sizes or [n_most // 4, n_most // 2, n_most]:
        rows.append(fitted("flush", n, 1.0, 1e-2, 30)[0])
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        rows.append(fitted("adult", min(8000, n_most), C, 1e-3, 30)[0])
    return rows


def curve(model):
    """Print the duality gap against time, for the first pair of classes."""
    history = model.svc_.history_
    for seconds, gap, dual, primal in history[:: max(len(history) // 20, 1)]:
        print(f"  {seconds:8.1f} s  gap {gap:9.2e}  objectives {dual:.6g} to {primal:.6g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    tasks = ["adult", "connect-4", "flush", "pair", "growth", "path"]
    parser.add_argument("task", nargs="?", default="adult", choices=tasks)
    parser.add_argument("--rows", type=int, default=0, help="number of rows; 0: all")
    parser.add_argument("--C", type=float, nargs="+")
    parser.add_argument("--tol", type=float)
    parser.add_argument("--minutes", type=float, default=30.0, help="time limit of each fit")
    parser.add_argument("--libsvm", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        for task in ("flush", "pair"):
            cells, model, *_ = fitted(task, 2000, 1.0, 1e-3, 1)
            print(line(cells))
        curve(model)
        path(1000)
        return
    if arguments.task == "path":
        path(arguments.rows)
        return
    if arguments.task == "growth":
        for cells in growth(arguments.rows or ROWS):
            print(line(cells), flush=True)
        return
    many = arguments.task in ("flush", "pair")
    print(line(HEAD))
    print(line(["---"] * len(HEAD)))
    for C in arguments.C or ([1.0] if many else [1.0, 100.0]):
        tol = arguments.tol or (1e-2 if many else 1e-3)
        cells, model, data = fitted(arguments.task, arguments.rows, C, tol, arguments.minutes)
        print(line(cells), flush=True)
        curve(model)
        if arguments.libsvm:
            print(by_libsvm(model, data.table, data.labels, C), flush=True)


if __name__ == "__main__":
    main()
