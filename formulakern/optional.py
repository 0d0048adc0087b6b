"""Access to optional libraries: pandas, matplotlib and dask."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from formulakern.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


def data_frame(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Return a pandas DataFrame of these columns."""
    library = import_optional("pandas", "to_frame() or to_pandas()", "tables")
    frame: pandas.DataFrame = library.DataFrame(dict(columns))
    return frame


def new_axes(width: float = 6.0, height: float = 3.8) -> Axes:
    """Return the axes of a new matplotlib figure of this size, in inches."""
    pyplot = import_optional("matplotlib.pyplot", "Drawing", "plot")
    axes: Axes = pyplot.figure(figsize=(width, height), layout="constrained").subplots()
    return axes


def import_optional(module: str, method: str, extra: str) -> Any:
    """Import a module of an optional library, or raise MissingDependencyError."""
    library = module.partition(".")[0]
    try:
        import_module(library)
        return import_module(module)
    except ImportError:
        raise MissingDependencyError(
            f"{method} needs {library}, which is not installed. "
            f"Install it by: pip install 'formulakern[{extra}]'"
        ) from None
