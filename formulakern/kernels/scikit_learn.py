"""The place of kernels in scikit-learn, which asks kernels of its own for these names."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import ParameterError

__all__ = ["ScikitLearnKernel"]


class ScikitLearnKernel:
    """A kernel that scikit-learn calls on whole tables.

    It does so when a kernel is a ``gaussian_process.kernels.Kernel``, and calls any other callable
    on every pair of rows, from Python.  Kernels here register as such, once, when scikit-learn asks
    for their class: importing it earlier would cost everybody a second.
    """

    @property
    def __class__(self) -> type[Self]:
        _register(type(self))
        return type(self)

    @__class__.setter
    def __class__(self, new: type) -> None:
        raise TypeError("the class of a kernel cannot be changed")

    def __sklearn_clone__(self) -> Self:
        return self

    #: Rows are vectors; there are no hyperparameters that an optimiser could turn.
    requires_vector_input: ClassVar[bool] = True
    hyperparameters: ClassVar[list[Any]] = []
    n_dims: ClassVar[int] = 0
    bounds: ClassVar[FloatArray] = np.empty((0, 2))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """No parameters to tune: a kernel is a value (scikit-learn's protocol)."""
        return {}

    def set_params(self, **parameters: Any) -> Self:
        """Refused: build another kernel instead (scikit-learn's protocol)."""
        if parameters:
            raise ParameterError(
                f"a kernel is an immutable value: cannot set {', '.join(sorted(parameters))}. "
                "Build another one with fk.kernel(...)."
            )
        return self

    def is_stationary(self) -> bool:
        """False: the value depends on more than the difference of two rows."""
        return False

    @property
    def theta(self) -> FloatArray:
        """The empty vector of hyperparameters."""
        return np.empty(0)

    @theta.setter
    def theta(self, value: npt.ArrayLike) -> None:
        if np.size(value):
            raise ParameterError("this kernel has no hyperparameters to set")

    def clone_with_theta(self, theta: npt.ArrayLike) -> Self:
        """The kernel itself: there is nothing to replace."""
        self.theta = theta
        return self


_registered: set[type] = set()


def _register(kernel_class: type) -> None:
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    if module is not None and kernel_class not in _registered and hasattr(module, "Kernel"):
        _registered.add(kernel_class)
        module.Kernel.register(kernel_class)
