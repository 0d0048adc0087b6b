"""What all kernels of strings share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from formulakern.checks import check_integer
from formulakern.errors import ParameterError
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.strings.strings import StringPair

__all__ = ["StringKernel", "alphabet_size"]


class StringKernel(Kernel):
    """A kernel whose rows are strings.

    X and Z are a list, a NumPy array or a Series (pandas, polars) of strings, or a table with one
    column of text.  A letter is a Unicode code point, and all letters are equally unlike.
    """

    #: What its rows are.
    reads: ClassVar[str] = "strings"
    #: For Gaussian processes: rows are no vectors.
    requires_vector_input: ClassVar[bool] = False

    def read(self, X: Any, Z: Any = None) -> Any:
        """The strings of X and Z.

        Raises
        ------
        DataError
            If an entry is missing, empty or no string.
        """
        return StringPair(X, Z)


def alphabet_size(n: int | Mapping[str | None, int], kernel: object) -> int:
    """The number of letters that there are, as :meth:`dimension` is told it.

    Raises
    ------
    ParameterError
        If n does not say it.
    """
    if not isinstance(n, Mapping) or "alphabet" not in n:
        raise ParameterError(
            f"the dimension of {kernel!r} depends on how many letters there are; pass for example "
            'dimension({None: 60, "alphabet": 4}) for strings of 60 letters out of 4.'
        )
    check_integer("the size of the alphabet", n["alphabet"], 1)
    return int(n["alphabet"])
