"""The library's learners and others, with defaults and tuned, on 47 classification tables
=======================================================================================

In a shell::

    python examples/16_league.py             # resumes where it was stopped; days on one core
    python examples/16_league.py --report    # tables and a picture of the existing results
    python examples/16_league.py --numbers   # the tables of numbers alone
    python examples/16_league.py --quick     # two small tables, two splits, seconds

The study trains on 10, 30 and 70 % of the rows of each table, in ten stratified splits (seed 0),
with at most 10,000 rows for training and 10,000 for testing.  A learner whose name has no "CV" has
its defaults; with "CV" cross-validation within the training rows chooses its settings for macro F1
("HKL CV" has its default score).  protocol.py gives numbers as numbers and words as categories.
Explainable boosting (interpret), FasterRisk (with NumPy 1), boosted rules (mlrl-boomer) and
imodels' FIGS, RuleFit and boosted rules run if these packages are installed.  RuleFit, boosted
rules of imodels and score cards have two classes; for more they learn one against the rest.

Every result is a line of output/league.jsonl.  It is measured again only if the learner's settings
have changed, or with --again.  A fit of more than --time-limit CPU seconds is stopped.  The learner
then skips the other splits of the table with as many training rows or more.

Rules are the different rules of a model, the leaves of trees, the columns with a nonzero
coefficient of logistic regression, both of these for RuleFit, the splits of FIGS, and the steps of
all shape functions of explainable boosting; support vector machines have none.  Conditions are
counted over all rules.  Log loss bounds probabilities by 1e-6.
"""

import argparse
import json
import multiprocessing
import resource
import signal
import sys
import time
import warnings
from functools import cache
from itertools import product
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
from league_learners import LEARNERS, OURS
from league_report import KEYS, hopeless, report, saved, valid
from protocol import FOLDER, MADE, NUMBERS, OUTPUT, SETS, Clock, present, splits, whole
from sklearn.metrics import f1_score, recall_score
from threadpoolctl import threadpool_limits

SHARES = (10, 30, 70)
#: The largest numbers of rows for training and for testing.
MOST = 10_000
#: The subset of ``--quick``.
QUICK = {
    "sets": ("house-votes-84", "haberman"),
    "shares": (10,),
    "learners": ("HKL", "RIPPER", "logistic", "logistic balanced CV", "tree"),
}

# -- one fit ------------------------------------------------------------------------------------


@cache
def parts(name, share, number):
    """Return the table, its classes, and the training and test rows of each split."""
    X, y = whole(name)
    found = []
    for k, pair in enumerate(splits(y, share / 100, number)):
        chance = np.random.default_rng(k)
        found.append([np.sort(chance.permutation(rows)[:MOST]) for rows in pair])
    return X, y, found


@cache
def compiled(learner):
    """Fit a small table once in a process, so that no measured time includes compilation."""
    X, y = whole("balance-scale")
    some = np.flatnonzero(y != "B")[::5]
    LEARNERS[learner].fit(X.iloc[some], y[some])


def measures(model, Z, true):
    """Return macro F1, balanced accuracy, accuracy, and log loss if there are probabilities."""
    said = model.predict(Z)
    found = {
        "macro F1": f1_score(true, said, average="macro", zero_division=0),
        "balanced accuracy": recall_score(
            true, said, average="macro", labels=np.unique(true), zero_division=0
        ),
        "accuracy": np.mean(said == true),
        "one class": bool(len(np.unique(said)) == 1),
    }
    if hasattr(model, "predict_proba"):
        chances = np.clip(model.predict_proba(Z), 1e-6, 1)
        chances /= chances.sum(axis=1, keepdims=True)
        place = np.searchsorted(model.classes_, true).clip(0, len(model.classes_) - 1)
        known = np.asarray(model.classes_)[place] == true
        of_true = np.where(known, chances[np.arange(len(true)), place], 1e-6)
        found["log loss"] = -np.mean(np.log(of_true))
    return {name: round(float(value), 6) for name, value in found.items()} | {
        "one class": found["one class"]
    }


def limit_seconds(seconds=None):
    """Stop this process by a signal after this many more CPU seconds; None: never."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    end = hard if seconds is None else int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (end, hard))


def measured(task, number, limit):
    """Return the results of one learner on one split."""
    table, share, split, name = task
    learner = LEARNERS[name]
    try:
        if learner.package == "formulakern":
            compiled(name)
        X, y, rows = parts(table, share, number)
        train, test = rows[split]
        limit_seconds(limit)
        begin = time.process_time()
        model = learner.fit(X.iloc[train], y[train])
        seconds = time.process_time() - begin
        limit_seconds()
        rules, conditions = learner.size(model)
        best = getattr(model, "best_estimator_", model)
        return measures(model, X.iloc[test], y[test]) | {
            "rules": rules,
            "conditions": conditions,
            "seconds": round(seconds, 4),
            "gap": round(float(getattr(best, "gap_", 0.0)), 6),
        }
    except Exception as error:  # of any package; the report shows it
        limit_seconds()
        return {"failed": f"{type(error).__name__}: {error}"[:160]}


# -- all fits -----------------------------------------------------------------------------------


def work(connection, number, limit):
    """Receive tasks and send results, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        while True:
            try:
                task = connection.recv()
            except EOFError:
                return
            connection.send(measured(task, number, limit))


def carried_out(tasks, jobs, number, limit):
    """Yield (task, result) for each task from several processes, also if a process dies.

    ``tasks`` is advanced only when a process is idle.
    """
    context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else None)
    context.set_forkserver_preload(["sklearn.ensemble", "formulakern.estimators.hkl.classifier"])
    tasks = iter(tasks)
    active, idle = {}, []
    try:
        while True:
            while len(active) < jobs and (task := next(tasks, None)):
                if not idle:
                    ours, theirs = context.Pipe()
                    process = context.Process(
                        target=work, args=(theirs, number, limit), daemon=True
                    )
                    process.start()
                    theirs.close()
                    idle.append((ours, process))
                connection, process = idle.pop()
                connection.send(task)
                active[connection] = process, task
            if not active:
                return
            for connection in wait(list(active)):
                process, task = active.pop(connection)
                try:
                    result = connection.recv()
                    idle.append((connection, process))
                except EOFError:
                    process.join()
                    late = process.exitcode == -signal.SIGXCPU
                    ended = {"failed": f"the process ended with {process.exitcode}"}
                    result = {"too_long": limit} if late else ended
                yield task, result
    finally:
        for connection, process in [*idle, *((c, p) for c, (p, _) in active.items())]:
            connection.close()
            process.terminate()
            process.join()


def run(tasks, given, path):
    """Carry out missing tasks, write a line for each, and print progress."""
    limit = given.time_limit
    settings = {name: LEARNERS[name].settings for name in given.learners}
    versions = {name: LEARNERS[name].version for name in given.learners}
    found = {} if given.again else valid(saved(path), settings, limit)
    late = {task for task, line in found.items() if "too_long" in line}
    tasks = [task for task in tasks if task not in found and not hopeless(task, late)]
    begun = []

    def due():
        for task in tasks:
            begun.append(task)
            if not hopeless(task, late):
                yield task

    clock, spoken = Clock(), time.monotonic()
    print(f"{len(tasks):,} fits to do, results in {path}", flush=True)
    path.parent.mkdir(exist_ok=True, parents=True)
    with path.open("a", encoding="utf-8") as file:
        if path.read_bytes()[-1:] not in (b"", b"\n"):  # an incomplete line
            print(file=file, flush=True)
        for task, result in carried_out(due(), given.jobs, given.splits, limit):
            keys = dict(zip(KEYS, task, strict=True))
            more = {"version": versions[task[3]], "settings": settings[task[3]]}
            print(json.dumps(keys | result | more), file=file, flush=True)
            if "too_long" in result:
                late.add(task)
            if time.monotonic() - spoken > given.every:
                spoken = time.monotonic()
                far = f"{len(begun):,} of {len(tasks):,}, at {task[0]} {task[1]} %"
                print(f"{clock}: {far}", flush=True)
    print(f"{clock} in all\n")


def main():
    """Measure missing results, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few tables and learners, afresh")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--numbers", action="store_true", help="tables of numbers alone")
    parser.add_argument(
        "--sets", nargs="+", choices=[*SETS, *MADE], metavar="SET", help="these tables only"
    )
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, metavar="LEARNER")
    parser.add_argument("--shares", nargs="+", type=int, choices=SHARES, metavar="PERCENT")
    parser.add_argument("--splits", type=int, default=10, help="of each table and share, up to 10")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--time-limit", type=float, default=120.0, help="CPU seconds of a fit")
    parser.add_argument("--again", action="store_true", help="measure existing results again")
    parser.add_argument("--results", type=Path, help="the file of the results")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two reports")
    given = parser.parse_args()
    name = "league_quick.jsonl" if given.quick else "league.jsonl"
    path = given.results or OUTPUT / name
    every = NUMBERS if given.numbers else [*SETS, *MADE]
    names = present(given.sets or (QUICK["sets"] if given.quick else every))
    if not names:
        print(f"This example reads UCI tables; {FOLDER} does not have them.")
        return
    shares = given.shares or (QUICK["shares"] if given.quick else SHARES)
    chosen = given.learners or (QUICK["learners"] if given.quick else LEARNERS)
    given.learners = [name for name in chosen if LEARNERS[name].installed]
    if given.quick:
        given.splits, given.again = 2, True
    if not given.report:
        sizes = {name: whole(name)[0].size for name in names}
        order = product(sorted(names, key=sizes.get), shares, range(given.splits), given.learners)
        run(list(order), given, path)
    lines = [
        line
        for (table, share, split, learner), line in saved(path).items()
        if table in names and share in shares and split < given.splits and learner in chosen
    ]
    now = {name: LEARNERS[name].settings for name in given.learners}
    old = [line for line in lines if line["settings"] != now.get(line["learner"], line["settings"])]
    if old:
        lines = [line for line in lines if line not in old]
        names = dict.fromkeys(line["learner"] for line in old)
        print(f"{len(old):,} results with other settings are left out: {', '.join(names)}")
    if not lines:
        print(f"There are no results in {path}.")
        return
    OUTPUT.mkdir(exist_ok=True)
    print(f"At most {MOST:,} rows for training and {MOST:,} for testing.\n")
    report(
        lines,
        list(chosen),
        OUTPUT / ("16_league_quick.png" if given.quick else "16_league.png"),
        defaults=[name for name in chosen if not name.endswith("CV")],
        ours=OURS,
        hkl=("HKL", "HKL CV"),
        readable=[name for name in chosen if LEARNERS[name].readable],
    )


if __name__ == "__main__":
    main()
