"""Settings of all tests: hypothesis without deadlines, because two cores are shared, and with forty
examples unless a test has its own number.

``--hypothesis-profile=unshrunk`` reports the first failing example as it is, at once.
"""

import gc
import os
import signal
import threading

# Two processes of tests share two cores: linear algebra with two threads in each only waits.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Otherwise each command that a test starts would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest  # noqa: E402
from hypothesis import HealthCheck, Phase, settings  # noqa: E402

from formulakern import compilation, progress  # noqa: E402

# A shell that starts the tests in the background lets them ignore Ctrl-C, which some of them send.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Run by :mod:`tests.syntax.test_connectives` in a process of its own, with an argument.
collect_ignore = ["syntax/one_more_connective.py"]

settings.register_profile(
    "house",
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "unshrunk",
    settings.get_profile("house"),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
settings.load_profile("house")

# What is compiled in this process is no concern of tests that look at standard error.
compilation.NOTICE_SECONDS = 1e6
progress.CHANGE_SECONDS = 1e6  # nor is how long commands take


#: Files whose single tests take long: no process shall be alone with them at the end.
LONG = ("test_examples.py", "test_compilation.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Place these late, when most is compiled, but not last; in the same order everywhere.

    What scikit-learn's checks are known to fail at is not run.
    """
    for item in items:
        known = item.get_closest_marker("xfail")
        if known is not None and item.name.startswith("test_scikit_learn"):
            item.add_marker(pytest.mark.xfail(reason=known.kwargs["reason"], run=False), False)
    others = [item for item in items if item.path.name not in LONG]
    late = len(others) * 2 // 3
    items[:] = others[:late] + [item for item in items if item.path.name in LONG] + others[late:]


def pytest_collection_finish() -> None:
    """Exclude what imports and collection created from all later searches for garbage."""
    gc.freeze()


@pytest.fixture(params=[False, True], ids=["NumPy", "compiled"])
def road(request, monkeypatch) -> None:
    """Either of the two ways that small work can take, whatever was compiled before."""
    monkeypatch.setattr(compilation.CompiledFunction, "pays", lambda self, n_numbers: request.param)
