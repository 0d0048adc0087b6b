"""What needs an optional library: data frames (pandas) and axes to draw on (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from formulakern.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["data_frame", "new_axes"]


def data_frame(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """A pandas DataFrame of these columns.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError(
            "to_frame() or to_pandas() needs pandas, which is not installed. "
            "Install it by: pip install 'formulakern[tables]'"
        ) from None
    return pandas.DataFrame(dict(columns))


def new_axes(width: float = 6.0, height: float = 3.8) -> Axes:
    """Axes of a new matplotlib figure of this size, in inches.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependencyError(
            "plot() needs matplotlib, which is not installed. "
            "Install it by: pip install 'formulakern[plot]'"
        ) from None
    axes: Axes = pyplot.figure(figsize=(width, height), layout="constrained").subplots()
    return axes
