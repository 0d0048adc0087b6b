"""What a preference learner reports: how the gap closed, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from formulakern.learning.prl.column_generation import Epoch
from formulakern.optional import data_frame, new_axes

if TYPE_CHECKING:
    import pandas

__all__ = ["History", "epoch_line"]


@dataclass(frozen=True, eq=False)
class History:
    """Value and bound of every epoch; a sequence of :class:`Epoch`.

    Parameters
    ----------
    epochs : tuple of Epoch
    """

    epochs: tuple[Epoch, ...]

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, position: int) -> Epoch:
        return self.epochs[position]

    def to_frame(self) -> pandas.DataFrame:
        """One row per epoch: value, bound, columns, support, seconds (needs pandas)."""
        names = ("value", "bound", "columns", "support", "seconds")
        return data_frame({name: [getattr(e, name) for e in self.epochs] for name in names})

    def plot(self, ax: Any = None) -> Any:
        """Value and bound against epochs: the optimum lies between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """
        ax = new_axes() if ax is None else ax
        number = np.arange(1, len(self.epochs) + 1)
        value = np.array([epoch.value for epoch in self.epochs])
        bound = np.array([epoch.bound for epoch in self.epochs])
        ax.plot(number, value, label="margin secured (value)")
        finite = np.isfinite(bound)
        ax.plot(number[finite], bound[finite], label="best possible (bound)")
        ax.set_xlabel("epoch")
        ax.set_ylabel("margin")
        ax.legend()
        return ax

    def __str__(self) -> str:
        lines = [
            f"{'epoch':>5}  {'value':>11}  {'bound':>11}  {'columns':>7}  {'used':>5}  seconds"
        ]
        for number, e in enumerate(self.epochs, 1):
            lines.append(
                f"{number:>5}  {e.value:>11.6g}  {e.bound:>11.6g}  {e.columns:>7}  "
                f"{e.support:>5}  {e.seconds:>7.2f}"
            )
        return "\n".join(lines)


def epoch_line(number: int, epoch: Epoch) -> str:
    """One epoch, as ``verbose`` shows it."""
    return (
        f"epoch {number}: margin {epoch.value:.6g}, at most {epoch.bound:.6g}; "
        f"{epoch.support} of {epoch.columns} columns used; {epoch.seconds:.1f} s"
    )
