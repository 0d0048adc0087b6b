"""``model.report(path, X, y)``: what all learners share."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from formulakern.checks import check_integer
from formulakern.display.report.page import page
from formulakern.estimators.reporting.collect import collect
from formulakern.files.replacing import replacing

__all__ = ["Reported"]


class Reported:
    """A learner that can be looked at in a browser."""

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any,
        y: Any = None,
        *,
        title: str | None = None,
        max_rows: int = 200,
        top: int = 20,
    ) -> None:
        """Write one page of HTML: what was learned, how good it is, why, and of what data.

        The page needs no network and no other file.  It has the rules in a table that can be
        sorted; confusion matrix, ROC curve, calibration and accuracy against the number of rules
        (of numbers: predicted against true ones, errors, R²); for each of the first rows the terms
        that add up to its score, the intercept among them; and the columns with their cut points,
        missing and unseen values.

        Parameters
        ----------
        path : str or path
            Of the file, ``report.html`` for example.  It replaces what was there when it is
            complete.
        X : table of shape (n_rows, n_columns)
            Rows that were not learned from, else figures are too good.
        y : array-like of shape (n_rows,), optional
            Their classes, or numbers; without them nothing is said of how good the model is.
        title : str, optional
            By default the name of the estimator.
        max_rows : int, default=200
            So many rows, the first ones, are held in the page with their entries.
        top : int, default=20
            Rules that are read from a model that is a kernel's, for each pair of classes.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        DataError
            If rows or classes cannot be read, or there are none.
        ParameterError
            If a number is out of its range.

        Notes
        -----
        The file has the entries of the rows that it shows: it is as confidential as they are.

        Examples
        --------
        >>> import os, tempfile
        >>> import formulakern as fk
        >>> X, y = fk.datasets.tic_tac_toe()
        >>> model = fk.RuleListClassifier(random_state=0).fit(X[::2], y[::2])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "report.html")
        ...     model.report(path, X[1::2], y[1::2], title="Tic-tac-toe")
        ...     with open(path, encoding="utf-8") as file:
        ...         text = file.read()
        >>> "<h1>Tic-tac-toe</h1>" in text, "https://" in text
        (True, False)
        """
        check_is_fitted(self)
        check_integer("max_rows", max_rows)
        check_integer("top", top)
        text = page(collect(self, X, y, max_rows, top, title, "Written by formulakern."))
        with replacing(path) as file:
            file.write_text(text, encoding="utf-8", errors="replace", newline="\n")
