"""Data sets: generated, or read from a file."""

from formulakern.datasets.dataset import (
    BUILT_IN,
    Dataset,
    balance_scale,
    load,
    make_formula_classification,
    monks,
    poker_hands,
    tic_tac_toe,
)
from formulakern.datasets.reader import read_table

__all__ = [
    "BUILT_IN",
    "Dataset",
    "balance_scale",
    "load",
    "make_formula_classification",
    "monks",
    "poker_hands",
    "read_table",
    "tic_tac_toe",
]
