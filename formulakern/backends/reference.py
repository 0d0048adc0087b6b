"""The interpreter as a backend: every pair in exact integers, rounded once.  The specification."""

from __future__ import annotations

from formulakern.backends.base import Fill, FloatArray, Support, Task
from formulakern.backends.exact import exact_dtype, exact_values

__all__ = ["InterpreterBackend"]

#: Pairs that are interpreted together.
BLOCK = 1 << 15


class InterpreterBackend:
    """Exact integers over blocks of pairs, in NumPy; needs no compiler."""

    name = "interpreter"

    def supports(self, task: Task) -> Support:  # noqa: ARG002
        """Always."""
        return Support(True, "exact integers for every pair")

    def compile(self, task: Task) -> Fill:
        """Nothing to compile."""
        tables = task.tables
        dtype = exact_dtype(task)

        def fill(
            rows: slice, columns: slice, out: FloatArray, out_row: int, out_column: int
        ) -> None:
            width = columns.stop - columns.start
            height = max(1, BLOCK // max(width, 1))
            for start in range(rows.start, rows.stop, height):
                some = slice(start, min(start + height, rows.stop))
                s = tables.joint_counts(some, columns)
                p = [counts[some][:, None] for counts in tables.x_counts]
                q = [counts[columns][None, :] for counts in tables.z_counts]
                first = out_row + start - rows.start
                out[first : first + some.stop - some.start, out_column : out_column + width] = (
                    exact_values(task, list(s), p, q, dtype)
                )

        return fill
