"""Data sets that follow rules: published ones, with their exact contents, and truth tables.

Column names and codes of the published sets match the files at the UCI repository, so that formulas
can be used with both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import comb
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_choice, check_integer
from formulakern.errors import FormulaError, ParameterError
from formulakern.syntax.formula import Formula, evaluate
from formulakern.syntax.leaves import Choice
from formulakern.syntax.parser import parse
from formulakern.tables.table import Table

#: The largest number of columns; n columns have 2^n rows.
MAX_COLUMNS = 20

PLACES = product(("top", "middle", "bottom"), ("left", "middle", "right"))
SQUARES = tuple(f"{row}-{column}-square" for row, column in PLACES)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

#: Attribute a1 … a6 of the MONK's problems takes the values 1 … n.
MONKS_VALUES = (3, 3, 2, 3, 4, 2)
MONKS_RULES: dict[int, Callable[[tuple[int, ...]], bool]] = {
    1: lambda a: a[0] == a[1] or a[4] == 1,
    2: lambda a: a.count(1) == 2,
    3: lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3),
}
MONKS_TEXTS = {
    1: "a1 = a2 or a5 = 1",
    2: "exactly two of a1 … a6 are 1",
    3: "a5 = 3 and a4 = 1, or a5 != 4 and a2 != 3",
}

DECK = 52
DISTINCT_HANDS = comb(DECK, 5)

Pair = tuple[Table, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with the class of every row; unpacks as ``X, y = dataset``.

    Parameters
    ----------
    data : Table of n_rows rows
        The attributes.
    target : ndarray of shape (n_rows,)
        The class of every row: numbers or text.
    name : str
        Short name of the data set.
    description : str
        The contents and the origin of the data set.
    target_name : str, default="class"
        The name of the class column.

    Examples
    --------
    >>> dataset = Dataset(Table({"a": [1, 0]}), np.array(["yes", "no"]), "tiny", "Two rows.")
    >>> X, y = dataset
    >>> X.names, y.tolist(), dataset.target_names
    (('a',), ['yes', 'no'], ('no', 'yes'))
    >>> dataset
    Dataset "tiny": 2 rows, 1 column; class: no 1, yes 1
    """

    data: Table
    target: NDArray[Any]
    name: str
    description: str
    target_name: str = "class"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return self.data.names

    @property
    def target_names(self) -> tuple[Any, ...]:
        """The different classes, sorted."""
        return tuple(np.unique(self.target).tolist())

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.target))

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        size = f"{rows:,} row{'s'[: rows != 1]}, {columns:,} column{'s'[: columns != 1]}"
        classes, counts = np.unique(self.target, return_counts=True)
        shares = ", ".join(f"{c} {n:,}" for c, n in zip(classes, counts, strict=True))
        about = shares if len(classes) <= 24 else f"{len(classes)} values"
        return f'Dataset "{self.name}": {size}; {self.target_name}: {about}'


@overload
def tic_tac_toe(*, return_X_y: Literal[False] = ...) -> Dataset: ...
@overload
def tic_tac_toe(*, return_X_y: Literal[True]) -> Pair: ...
def tic_tac_toe(*, return_X_y: bool = False) -> Dataset | Pair:
    """Return all 958 final boards of tic-tac-toe games in which x moves first.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Dataset.

    Returns
    -------
    Dataset
        Nine columns ``top-left-square`` … of x, o and b (blank).  The class is ``positive`` (626
        rows) if x has three in a row, otherwise ``negative``.  Rows are in the order of the UCI
        file.

    References
    ----------
    D. W. Aha, *Tic-Tac-Toe Endgame*, UCI repository, doi:10.24432/C5688J.

    Examples
    --------
    >>> tic_tac_toe()
    Dataset "tic-tac-toe": 958 rows, 9 columns; class: negative 332, positive 626
    """
    ended = _final_boards()
    boards = [board for some in ended.values() for board in some]
    columns = {name: [board[j] for board in boards] for j, name in enumerate(SQUARES)}
    target = np.where(np.arange(len(boards)) < len(ended["x"]), "positive", "negative")
    text = "All boards at the end of tic-tac-toe games in which x moved first; positive: x won."
    return _dataset(columns, target, "tic-tac-toe", text, return_X_y)


@overload
def monks(problem: int = ..., *, return_X_y: Literal[False] = ...) -> Dataset: ...
@overload
def monks(problem: int = ..., *, return_X_y: Literal[True]) -> Pair: ...
def monks(problem: int = 1, *, return_X_y: bool = False) -> Dataset | Pair:
    """Return one of the three MONK's problems on all 432 robots, without noise.

    1. a1 = a2 or a5 = 1; 2. exactly two of a1 … a6 are 1; 3. (a5 = 3 and a4 = 1) or (a5 != 4 and
    a2 != 3).  The published *training* file of problem 3 has 5 % class noise; this set has none.

    Parameters
    ----------
    problem : {1, 2, 3}, default=1
        The number of the problem.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Dataset.

    Returns
    -------
    Dataset
        Columns a1 … a6 of whole numbers from 1 to 3, 3, 2, 3, 4, 2.  They are categories: use
        ``PropositionEncoder(nominal="all")``.  The class is 1 if the rule is true, otherwise 0.

    Raises
    ------
    ParameterError
        If there is no such problem.

    References
    ----------
    S. Thrun et al., *The MONK's Problems*, CMU-CS-91-197, 1991; doi:10.24432/C5R30R.

    Examples
    --------
    >>> monks(1)
    Dataset "monks-1": 432 rows, 6 columns; class: 0 216, 1 216
    """
    check_choice("problem", problem, list(MONKS_RULES))
    rows = list(product(*(range(1, values + 1) for values in MONKS_VALUES)))
    columns = {f"a{j + 1}": [row[j] for row in rows] for j in range(6)}
    target = np.array([int(MONKS_RULES[problem](row)) for row in rows])
    text = f"MONK's problem {problem} on all 432 robots: {MONKS_TEXTS[problem]}."
    return _dataset(columns, target, f"monks-{problem}", text, return_X_y)


@overload
def balance_scale(*, return_X_y: Literal[False] = ...) -> Dataset: ...
@overload
def balance_scale(*, return_X_y: Literal[True]) -> Pair: ...
def balance_scale(*, return_X_y: bool = False) -> Dataset | Pair:
    """Return all states of a balance, labelled by the side with the larger weight times distance.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Dataset.

    Returns
    -------
    Dataset
        All 625 rows of four whole numbers from 1 to 5; the class is L (288), B (49) or R (288).

    References
    ----------
    R. S. Siegler 1976; UCI repository, *Balance Scale*, doi:10.24432/C5488X.

    Examples
    --------
    >>> balance_scale()
    Dataset "balance-scale": 625 rows, 4 columns; class: B 49, L 288, R 288
    """
    rows = np.array(list(product(range(1, 6), repeat=4)))
    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    tip = np.sign(rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3])
    columns = {name: rows[:, j] for j, name in enumerate(names)}
    text = "A balance with weights at distances 1 to 5: tips left, right or is balanced."
    return _dataset(columns, np.array(["B", "L", "R"])[tip], "balance-scale", text, return_X_y)


@overload
def poker_hands(
    n: int = ..., random_state: Any = ..., *, return_X_y: Literal[False] = ...
) -> Dataset: ...
@overload
def poker_hands(n: int = ..., random_state: Any = ..., *, return_X_y: Literal[True]) -> Pair: ...
def poker_hands(
    n: int = 25_010,
    random_state: int | np.random.Generator | None = None,
    *,
    return_X_y: bool = False,
) -> Dataset | Pair:
    """Return poker hands of five cards, drawn at random and labelled by the rules of the game.

    Parameters
    ----------
    n : int, default=25010
        Number of hands.  Up to 2,598,960 hands are different sets of cards; larger numbers are
        drawn with replacement.  The cards of a hand are in random order.
    random_state : int, numpy.random.Generator or None
        Seed of the random draw.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Dataset.

    Returns
    -------
    Dataset
        Columns S1, C1, …, S5, C5: suit 1 to 4 (hearts, spades, diamonds, clubs) and rank 1 to 13
        (ace to king) of each card. The class: 0 nothing, 1 one pair, 2 two pairs, 3 three of a
        kind, 4 straight, 5 flush, 6 full house, 7 four of a kind, 8 straight flush, 9 royal
        flush.

    Raises
    ------
    ParameterError
        If n is not a positive whole number.

    References
    ----------
    R. Cattral and F. Oppacher, *Poker Hand*, UCI repository, doi:10.24432/C5KW38.

    Examples
    --------
    >>> poker_hands(3, random_state=0).data.names
    ('S1', 'C1', 'S2', 'C2', 'S3', 'C3', 'S4', 'C4', 'S5', 'C5')
    """
    check_integer("n", n)
    random = np.random.default_rng(random_state)
    numbers = random.choice(DISTINCT_HANDS, size=int(n), replace=bool(n > DISTINCT_HANDS))
    cards = random.permuted(_cards_of(numbers), axis=1)
    suits, ranks = cards // 13 + 1, cards % 13 + 1
    pairs = (("S", suits), ("C", ranks))
    columns = {f"{name}{j + 1}": cards[:, j] for j in range(5) for name, cards in pairs}
    text = "Poker hands of five cards, drawn at random and labelled 0 (nothing) to 9 (royal flush)."
    return _dataset(columns, poker_labels(suits, ranks), "poker-hands", text, return_X_y)


def poker_labels(suits: NDArray[Any], ranks: NDArray[Any]) -> NDArray[np.int64]:
    """Return the best hand, 0 (nothing) to 9 (royal flush), of each row of five cards.

    >>> poker_labels(np.array([[1, 1, 1, 1, 1]]), np.array([[10, 11, 12, 13, 1]]))
    array([9])
    """
    ranks = np.sort(ranks, axis=1)
    pairs = sum((ranks[:, i] == ranks[:, j]).astype(np.int64) for i in range(5) for j in range(i))
    # by the number of equal pairs: 1 pair, 2 two pairs, 3 three of a kind, 4 full house, 6 four
    label: NDArray[np.int64] = np.array([0, 1, 2, 3, 6, 0, 7])[pairs]
    flush = (suits == suits[:, :1]).all(axis=1)
    royal = (ranks == np.array([1, 10, 11, 12, 13])).all(axis=1)
    straight = ((pairs == 0) & (ranks[:, 4] - ranks[:, 0] == 4)) | royal
    label[straight] = 4
    label[flush] = 5
    label[straight & flush] = 8
    label[royal & flush] = 9
    return label


def make_formula_classification(formula: str | Formula, n: int = 10) -> Dataset:
    """Return all 2ⁿ assignments of n Boolean columns, labelled by a formula.

    Parameters
    ----------
    formula : str or Formula
        The formula.  Its variables name the first columns, in the order of the text; the other
        columns are irrelevant.
    n : int, default=10
        Number of columns, from the number of variables to ``MAX_COLUMNS``.

    Returns
    -------
    Dataset
        2ⁿ rows; ``target`` is 1 if the formula is true, otherwise 0.  The first column changes
        slowest.

    Raises
    ------
    ParameterError
        If n is out of range.

    Examples
    --------
    >>> X, y = make_formula_classification("a & ~b", n=3)
    >>> X.names, X.shape, y.tolist()
    (('a', 'b', 'x3'), (8, 3), [0, 0, 0, 0, 1, 1, 0, 0])
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    if any(isinstance(leaf, Choice) for leaf in parsed.leaves):
        raise FormulaError(
            f"{str(parsed)!r} contains a choice of features, which only kernels support. Write the "
            "formula with named columns, &, | and ~."
        )
    names = [variable.name for variable in parsed.variables]
    if isinstance(n, bool) or n != int(n) or not max(len(names), 1) <= n <= MAX_COLUMNS:
        raise ParameterError(
            f"n={n!r}; expected an integer from the number of variables ({len(names)}) to "
            f"{MAX_COLUMNS}, because n columns have 2^n rows."
        )
    for position in range(len(names) + 1, n + 1):
        name = f"x{position}"
        while name in names:
            name = f"_{name}"
        names.append(name)
    assignments = (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1)) & 1
    columns = dict(zip(names, assignments.T.astype(bool), strict=True))
    truth = evaluate(parsed, lambda leaf: columns[leaf.name])
    return Dataset(
        Table({name: column.astype(np.int64) for name, column in columns.items()}),
        np.broadcast_to(np.asarray(truth), 2**n).astype(np.int64),
        name="formula",
        description=f"All assignments of {n} Boolean columns; the class is {parsed}.",
    )


#: The data sets of :func:`load`.
BUILT_IN: dict[str, Callable[[], Dataset]] = {
    "tic-tac-toe": tic_tac_toe,
    **{f"monks-{problem}": partial(monks, problem) for problem in MONKS_RULES},
    "balance-scale": balance_scale,
}


def load(name: str) -> Dataset:
    """Return a built-in data set.

    Parameters
    ----------
    name : str
        One of ``BUILT_IN``: tic-tac-toe, monks-1, monks-2, monks-3, balance-scale.

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        If there is no such set; the message lists them.

    Examples
    --------
    >>> load("monks-2")
    Dataset "monks-2": 432 rows, 6 columns; class: 0 290, 1 142
    """
    if name not in BUILT_IN:
        raise ParameterError(
            f"no built-in data set {name!r}; there are {', '.join(BUILT_IN)}. "
            "To read a file, call fk.datasets.read_table(path)."
        )
    return BUILT_IN[name]()


def _dataset(
    columns: dict[str, Any], target: NDArray[Any], name: str, text: str, return_X_y: bool
) -> Dataset | Pair:
    table = Table(columns)
    return (table, target) if return_X_y else Dataset(table, target, name, text)


def _final_boards() -> dict[str, list[str]]:
    """Return the final boards by winner ("" for a draw), in the order of the UCI file."""
    ended: dict[str, list[str]] = {"x": [], "o": [], "": []}
    for board in map("".join, product("xob", repeat=9)):
        ahead = board.count("x") - board.count("o")
        if ahead in (0, 1):
            lines = {board[i] for i, j, k in LINES if board[i] == board[j] == board[k]}
            winner = "".join(sorted(lines - {"b"}))
            if winner in ended and ahead == (winner != "o") and (winner or "b" not in board):
                ended[winner].append(board)
    return ended


def _cards_of(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the cards (0 to 51, descending) of hand numbers in the combinatorial number system."""
    rest = numbers.astype(np.int64)
    cards = np.empty((len(rest), 5), dtype=np.int64)
    for chosen in range(5, 0, -1):
        below = np.array([comb(card, chosen) for card in range(DECK + 1)])
        card = np.searchsorted(below, rest, side="right") - 1
        cards[:, 5 - chosen] = card
        rest = rest - below[card]
    return cards
