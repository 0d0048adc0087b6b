"""Data → packed columns of 0 and 1 that know their names.

``sources`` opens any table, ``columns`` brings each column into normal form, ``table`` is the
result; ``propositions`` evaluates rules on it, ``cut_points`` and ``column_plan`` find the
propositions that an encoder uses.  ``zero_one`` and ``binary`` are the strict reader for kernels
and ``bits`` packs 64 columns to a word.
"""

from formulakern.encoding.binary import (
    BinaryTable,
    check_same_columns,
    column_positions,
    paired_words,
    read_binary,
)
from formulakern.encoding.bits import pack_rows, row_counts, unpack_rows
from formulakern.encoding.propositions import evaluate_formula, evaluate_proposition
from formulakern.encoding.table import Table

__all__ = [
    "BinaryTable",
    "Table",
    "check_same_columns",
    "column_positions",
    "evaluate_formula",
    "evaluate_proposition",
    "pack_rows",
    "paired_words",
    "read_binary",
    "row_counts",
    "unpack_rows",
]
