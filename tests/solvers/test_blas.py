"""The limit of one thread for BLAS."""

from contextlib import ExitStack

from threadpoolctl import threadpool_info, threadpool_limits

from formulakern.solvers.blas import one_thread


def threads():
    """Return the limits of the libraries that threadpoolctl knows, on some systems none."""
    return {part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas"}


def test_limits_that_overlap_end_with_the_last():
    """Fits in two threads overlap if the first to begin is the first to end."""
    first, last = ExitStack(), ExitStack()
    with one_thread():  # loads the libraries
        pass
    with threadpool_limits(2, user_api="blas"):
        first.enter_context(one_thread())
        last.enter_context(one_thread())
        first.close()
        assert threads() <= {1}
        last.close()
        assert threads() <= {2}
