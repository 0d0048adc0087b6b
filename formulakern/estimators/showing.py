"""Showing how far a fit is, for all estimators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formulakern.checks import check_verbosity
from formulakern.interrupts import completed
from formulakern.progress import FitProgress

__all__ = ["Showing"]


class Showing:
    """What estimators show of a fit, by their parameters ``verbose`` and ``time_limit``."""

    @contextmanager
    def _showing(self) -> Iterator[FitProgress]:
        """Show how far a fit is, as ``verbose`` asks for; Ctrl-C keeps a model that is found.

        Raises
        ------
        ParameterError
            If ``verbose`` is neither True or False nor a number.
        """
        verbose = getattr(self, "verbose", 0)
        check_verbosity(verbose)
        limit = getattr(self, "time_limit", None)
        with completed(), FitProgress(verbose, type(self).__name__, limit) as bar:
            self.__dict__["_progress"] = bar
            try:
                bar.at(0.0, "reading")
                yield bar
            finally:
                del self.__dict__["_progress"]

    @property
    def _bar(self) -> FitProgress:
        """What shows how far this fit is; of one within another fit, lines alone."""
        found = self.__dict__.get("_progress")
        if isinstance(found, FitProgress):
            return found
        return FitProgress(int(getattr(self, "verbose", 0)), type(self).__name__, drawn=False)
