"""Which backend serves a task: the one that was asked for, or the one that should be fastest."""

from __future__ import annotations

from dataclasses import dataclass

from formulakern.backends.base import Backend, Task
from formulakern.backends.costs import (
    at_least_tabulating,
    compiling,
    exact_everywhere,
    interpreting,
    running,
    tabulating,
)
from formulakern.backends.interpreter import InterpreterBackend
from formulakern.backends.lookup import LookupBackend
from formulakern.backends.numba_cpu import NumbaBackend, loop_of_task
from formulakern.checks import check_choice
from formulakern.errors import FormulaSizeError, ParameterError

__all__ = ["BACKENDS", "Choice", "check_backend", "choose"]

#: name → backend, in the order of the house
BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (InterpreterBackend(), LookupBackend(), NumbaBackend())
}

#: Seconds after which interpreting is called out of reach.
PATIENCE = 60.0


@dataclass(frozen=True)
class Choice:
    """The backend for a task, and why."""

    backend: Backend
    reason: str


def check_backend(name: str) -> str:
    """The name, if there is such a backend (or it is "auto").

    Raises
    ------
    ParameterError
    """
    check_choice("backend", name, ("auto", *BACKENDS))
    return name


def choose(name: str, task: Task) -> Choice:
    """The backend for a task.

    Parameters
    ----------
    name : str
        ``"auto"``: the backend that should be the fastest, by :mod:`.costs`; or a backend's name.
    task : Task

    Returns
    -------
    Choice
        Where all backends give the same values to the last bit (``scale="count"``, integers below
        2⁵³) it depends on what is compiled: in this process, or on disk.  A formula that is not
        compiled is tabulated or interpreted at first, and compiled when that has cost as much time
        as compiling.  Elsewhere values may differ by roundings, and the choice is the same for the
        same formula, tables' shapes and numbers of ones.

    Raises
    ------
    ParameterError
        If the backend that was asked for cannot serve the task.
    FormulaSizeError
        If none can within reason.
    """
    if name != "auto":
        backend = BACKENDS[check_backend(name)]
        support = backend.supports(task)
        if not support.ok:
            raise ParameterError(
                f"backend={name!r} cannot serve this: {support.reason}. Use backend='auto'."
            )
        return Choice(backend, support.reason)
    fused, seconds = BACKENDS["numba"].supports(task), {"interpreter": interpreting(task)}
    if fused.ok and not compiling(task):
        soon = min(seconds["interpreter"], at_least_tabulating(task))
        if running(task) <= soon:  # without looking at the numbers of ones
            return Choice(BACKENDS["numba"], fused.reason)
    tabulated = BACKENDS["lookup"].supports(task)
    if tabulated.ok:
        seconds["lookup"] = tabulating(task)
    if fused.ok:
        seconds["numba"] = running(task) + compiling(task)
    found = min(seconds, key=seconds.__getitem__)
    if found == "interpreter" and seconds[found] > PATIENCE:
        raise FormulaSizeError(
            f"this formula on these tables is out of reach: {fused.reason}, and "
            f"{tabulated.reason}. Use a shorter formula, fewer rows, or one-hot coded columns."
        )
    if fused.ok and found != "numba" and exact_everywhere(task):
        # compiled after all, when what was lost by not doing so would have paid for it
        program = loop_of_task(task)
        program.lost += max(seconds[found] - running(task), 0.0)
        if program.lost > compiling(task):
            found = "numba"
    reasons = {
        "interpreter": f"{seconds['interpreter']:.2g} s in all are less than compiling takes",
        "lookup": tabulated.reason,
        "numba": fused.reason,
    }
    return Choice(BACKENDS[found], reasons[found])
