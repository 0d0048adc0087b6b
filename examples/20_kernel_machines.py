"""FormulaSVC on tables of many rows: time, memory, and the duality gap against time.

    python examples/20_kernel_machines.py                      # all of adult, C = 1 and C = 100
    python examples/20_kernel_machines.py connect-4            # 67,557 rows, three classes
    python examples/20_kernel_machines.py flush                # a million poker hands
    python examples/20_kernel_machines.py pair --minutes 60    # a pair or better, or nothing
    python examples/20_kernel_machines.py growth               # time against rows, columns and C
    python examples/20_kernel_machines.py --libsvm             # adult by LIBSVM as well: minutes
    python examples/20_kernel_machines.py --quick              # 2,000 rows of each, seconds

Poker hands are generated: five of 52 cards without replacement, as ten columns, the suit and the
rank of each card.  A flush has five cards of one suit; about one hand in 500 has it.  Hands with
two equal ranks, or a straight or a flush, are not separable by pairs of propositions, so that most
rows become support vectors.

The kernel is ``a & b``, normalised.  Times are those of the solver on a table that is encoded, with
the compiled functions loaded; memory is the largest that the process held, all of it.
"""

import argparse
import resource
import sys
import time

import numpy as np
from protocol import FOLDER, whole
from sklearn.svm import SVC

import formulakern as fk

ROWS = 1_000_000


def poker(n, seed=0):
    """The suits (0 to 3) and ranks (0 to 12) of five cards of every hand: two (n, 5) arrays."""
    rng = np.random.default_rng(seed)
    cards = np.empty((n, 5), dtype=np.int64)
    for start in range(0, n, 100_000):
        part = slice(start, min(start + 100_000, n))
        cards[part] = rng.random((part.stop - start, 52)).argpartition(5, axis=1)[:, :5]
    return cards % 4, cards // 4


def hands(n, task, seed=0):
    """0/1 columns for suits and ranks, and what is to be told."""
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
    """A table, its classes, and how FormulaSVC reads it."""
    if task in ("flush", "pair"):
        X, y = hands(n or ROWS, task)
        return X, y, None
    X, y = whole(task)
    if n:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
        X, y = X.iloc[rows], y[rows]
    return X, y, "auto"


def memory():
    """The largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fitted(task, n, C, tol, minutes, verbose=False):
    """What one fit takes; (line of the table, model, encoded table, classes)."""
    X, y, encoder = table(task, n)
    model = fk.FormulaSVC(C=C, tol=tol, encoder=encoder, time_limit=minutes * 60, verbose=verbose)
    packed, classes = model._read_training(X, y)
    few = np.concatenate([np.flatnonzero(classes == label)[:100] for label in np.unique(classes)])
    fk.FormulaSVC(encoder=encoder)._fit_encoded(packed.take(few), classes[few], X)  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    model._fit_encoded(packed, classes, X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    begin = time.perf_counter()
    some = packed.take(np.arange(min(16_281, packed.n_rows)))
    right = np.mean(model.predict(some) == classes[: some.n_rows])
    reading = time.perf_counter() - begin
    cells = [
        task, f"{packed.n_rows:,}", packed.n_columns, f"{C:g}", f"{wall:.1f}", f"{cpu:.1f}",
        f"{model.gap_:.1e}", f"{len(model.support_):,}", f"{memory():.0f}", f"{reading:.2f}",
        f"{100 * right:.2f}",
    ]  # fmt: skip
    return cells, model, packed, classes


HEAD = (
    "table", "rows", "columns", "C", "seconds", "CPU s", "gap", "support vectors", "MB",
    "s for 16,281 rows", "% right there",
)  # fmt: skip


def line(cells):
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def by_libsvm(packed, classes, C):
    """CPU seconds of LIBSVM's own polynomial of degree 2 on the same columns."""
    X = packed.unpacked().astype(np.float64)
    ones = float(packed.counts.mean())
    begin = time.process_time()
    SVC(kernel="poly", degree=2, gamma=1 / ones, coef0=0.0, C=C).fit(X, classes)
    return time.process_time() - begin


def growth(n_most):
    """Time against rows, columns and C."""
    rows = []
    sizes = [n for n in (62_500, 125_000, 250_000, 500_000, 1_000_000) if n <= n_most]
    for n in sizes or [n_most // 4, n_most // 2, n_most]:
        rows.append(fitted("flush", n, 1.0, 1e-2, 30)[0])
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        rows.append(fitted("adult", min(8000, n_most), C, 1e-3, 30)[0])
    return rows


def curve(model):
    """The duality gap against time, of the first pair of classes."""
    for seconds, gap, dual, primal in model.svc_.history_[
        :: max(len(model.svc_.history_) // 20, 1)
    ]:
        print(f"  {seconds:8.1f} s  gap {gap:9.2e}  objectives {dual:.6g} to {primal:.6g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", nargs="?", default="adult",
                        choices=["adult", "connect-4", "flush", "pair", "growth"])  # fmt: skip
    parser.add_argument("--rows", type=int, default=0, help="so many of them")
    parser.add_argument("--C", type=float, nargs="+")
    parser.add_argument("--tol", type=float)
    parser.add_argument("--minutes", type=float, default=30.0, help="at most, for each fit")
    parser.add_argument("--libsvm", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if not FOLDER.is_dir() and arguments.task not in ("flush", "pair"):
        sys.exit(f"no data in {FOLDER}: set FORMULAKERN_DATA")
    if arguments.quick:
        for task in ("adult", "connect-4", "flush", "pair"):
            cells, model, *_ = fitted(task, 2000, 1.0, 1e-3, 1)
            print(line(cells))
        curve(model)
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
        cells, model, packed, classes = fitted(
            arguments.task, arguments.rows, C, tol, arguments.minutes
        )
        print(line(cells), flush=True)
        curve(model)
        if arguments.libsvm:
            print(f"LIBSVM: {by_libsvm(packed, classes, C):.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
