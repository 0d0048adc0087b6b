"""A pytest plugin that fails the tests above a number of processor seconds.

The number is relative to a fixed piece of work (loops and dictionaries of Python, parsing, sorting,
small arrays), which runs in two processes at once after the tests: a slow machine needs more
seconds for both.  Use it by ``PYTHONPATH=.ci python -m pytest -p budget``.
"""

import ast
import multiprocessing
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

#: The limit of the processor seconds, in units of the fixed work.
MOST = 700.0


def work(_: int) -> float:
    """Return the processor seconds of the fixed piece of work."""
    start = time.process_time()
    rng = np.random.default_rng(0)
    for _ in range(20):
        counts: dict[int, int] = {}
        for number in range(100_000):
            counts[number * 7919 % 1009] = counts.get(number % 1009, 0) + number
        text = "\n".join(f"value_{i} = [{i}, {i} + 1, (a & b)]" for i in range(1_000))
        sum(1 for _ in ast.walk(ast.parse(text)))
        table = rng.random((200, 200))
        for _ in range(20):
            np.sort(table @ table.T, axis=1)
    return time.process_time() - start


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session):
    """Compare the processor seconds of this process and of those that it started."""
    result = yield
    if hasattr(session.config, "workerinput"):
        return result
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, who))
    done = subprocess.run([sys.executable, __file__], check=True, capture_output=True, text=True)
    unit = float(done.stdout)
    print(
        f"\n{used:.0f} processor seconds, {used / unit:.0f} times the {unit:.2f} s of a fixed "
        f"piece of work; at most {MOST:.0f} times"
    )
    if used > MOST * unit:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return result


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(np.median(pool.map(work, range(6), chunksize=1)))
