"""Kernels by name on the command line: an estimator, and simpler ones beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from formulakern.kernels.algebra import Kernel
from formulakern.kernels.calls import called

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset

__all__ = ["compared", "named_kernel"]


def named_kernel(text: str) -> Kernel:
    """The kernel that a text names: ``choquet``, or one of ``fk.strings`` with its numbers.

    Raises
    ------
    ParameterError
        If there is no such kernel.

    Examples
    --------
    >>> named_kernel("choquet"), named_kernel("choquet(2)"), named_kernel("spectrum(3)")
    (fk.choquet(), fk.choquet(additivity=2), fk.strings.spectrum(3))
    """
    from formulakern.kernels.choquet import choquet
    from formulakern.kernels.strings import BUILDERS

    builders: dict[str, Callable[..., Kernel]] = {"choquet": choquet, **BUILDERS}
    return called(text, builders, "kernel that has a name")


def compared(kernel: Kernel, dataset: Dataset, column: str | None, C: float) -> dict[str, Any]:
    """Estimators by name: the one with this kernel first.

    Parameters
    ----------
    kernel : Kernel
        From :func:`named_kernel`.
    dataset : Dataset
    column : str or None
        Of strings; by default the only column of text.
    C : float
        The penalty of all of them.
    """
    from formulakern.kernels.choquet import ChoquetKernel

    if isinstance(kernel, ChoquetKernel):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
        from sklearn.svm import SVC

        from formulakern.encoding.real import read_real
        from formulakern.estimators.choquet.classifier import ChoquetSVC

        read_real(dataset.data)  # a column of text is refused before anything is printed
        first = ChoquetSVC(C=C, additivity=kernel.additivity, scaling="minmax")
        numbers = FunctionTransformer(lambda table: read_real(table).values)
        others = {
            name: make_pipeline(numbers, MinMaxScaler(), SVC(C=C, kernel=known))
            for name, known in (("linear", "linear"), ("Gaussian", "rbf"))
        }
        return {str(kernel): first, **others}
    from formulakern.estimators.strings.classifier import StringSVC
    from formulakern.kernels.strings.strings import read_strings

    lengths = read_strings(dataset.data, column).lengths
    simple = ["spectrum(1)", "spectrum(3)"]
    if (lengths == lengths[0]).all():
        simple.insert(0, "weighted_degree(1)")  # the letters, position by position
    models = {str(kernel): StringSVC(kernel, column=column, C=C)}
    models |= {f"fk.strings.{text}": StringSVC(text, column=column, C=C) for text in simple}
    return models
