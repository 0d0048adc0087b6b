"""A pytest plugin that fails the tests above a number of processor seconds.

The number is relative to a fixed piece of work (loops and dictionaries of Python, parsing, sorting,
small arrays), of which each process does one part after every few tests: at each moment, a slow or
busy machine needs more seconds for both.  Use it by ``PYTHONPATH=.ci python -m pytest -p budget``.
"""

import ast
import gc
import resource
import time

import numpy as np
import pytest

#: The limit of the processor seconds, in units of the fixed work, and the parts of this work.
MOST, PARTS = 700.0, 20
#: The number of tests of a process from one part to the next.
PERIOD = 40

#: Processor seconds of the parts.
seconds: list[float] = []
done = 0


def work() -> float:
    """Return the processor seconds of one part of the fixed work."""
    gc.disable()  # a search for garbage would be work of the tests
    start = time.process_time()
    counts: dict[int, int] = {}
    for number in range(100_000):
        counts[number * 7919 % 1009] = counts.get(number % 1009, 0) + number
    text = "\n".join(f"value_{i} = [{i}, {i} + 1, (a & b)]" for i in range(1_000))
    sum(1 for _ in ast.walk(ast.parse(text)))
    table = np.random.default_rng(0).random((200, 200))
    for _ in range(20):
        np.sort(table @ table.T, axis=1)
    used = time.process_time() - start
    gc.enable()
    return used


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Do a part of the work after some tests."""
    global done  # noqa: PLW0603
    result = yield
    done += 1
    if done % PERIOD == 0:
        seconds.append(work())
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Receive the seconds of a process of tests."""
    seconds.extend(getattr(node, "workeroutput", {}).get("seconds", ()))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session):
    """Compare the processor seconds of this process and of those that it started."""
    if hasattr(session.config, "workerinput"):
        session.config.workeroutput["seconds"] = seconds
        return (yield)
    result = yield
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, who))
    used -= sum(seconds)
    unit = PARTS * float(np.mean(seconds or [work()]))
    print(
        f"\n{used:.0f} processor seconds, {used / unit:.0f} times the {unit:.2f} s of a fixed "
        f"piece of work; at most {MOST:.0f} times"
    )
    if used > MOST * unit:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return result
