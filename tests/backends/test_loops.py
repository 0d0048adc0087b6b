"""The inner loops: counts and filled blocks of every awkward shape."""

from functools import cache

import numpy as np
import pytest

import formulakern as fk
from formulakern.backends.evaluation import BACKENDS, KernelTask
from formulakern.backends.lookup import look_up_sums
from formulakern.backends.loops import TILE, count_tile
from formulakern.backends.tables import PANEL, ROWS, pair_tables
from formulakern.encoding.strict import read_packed
from formulakern.rewrite import rewrite
from formulakern.semantics import lower

HEIGHTS = [1, 3, 15, 16, 17, 255, 256, 257]
WIDTHS = [1, 2, 63, 64, 65, 127, 128, 129, 130]
FORMULAS = ["(a & ~b) | c", "true", "a & ~a", "a:g & b:h | ~c:g", "(a & b) | (b & c) | (c & a)"]


def table(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng([rows, columns, seed])
    return (random.random((rows, columns)) < 0.4).astype(np.uint8)


def tables(parts_x: list[np.ndarray], parts_z: list[np.ndarray]):
    return pair_tables([read_packed(x) for x in parts_x], [read_packed(z) for z in parts_z])


def check_counts(parts_x: list[np.ndarray], parts_z: list[np.ndarray]) -> None:
    laid_out = tables(parts_x, parts_z)
    n_x, n_z = laid_out.shape
    for g, (x, z) in enumerate(zip(parts_x, parts_z, strict=True)):
        expected = x.astype(int) @ z.T.astype(int)
        first, last = laid_out.spans[g : g + 2]
        for row in range(n_x):
            x_words = laid_out.x_words[row : row + ROWS]
            assert len(x_words) == ROWS  # of any row, because the loop does not check
            for column in range(0, n_z, TILE):
                stop = min(column + TILE, n_z)
                tile = np.full((ROWS, TILE), 999, dtype=np.uint64)
                panels = laid_out.z_panels[column // PANEL : -(-stop // PANEL)]
                count_tile(x_words, panels, first, last, tile)
                height = min(ROWS, n_x - row)
                assert np.array_equal(
                    tile[:height, : stop - column], expected[row : row + height, column:stop]
                )
                assert not tile[height:, : stop - column].any()


@pytest.mark.parametrize("rows", HEIGHTS)
@pytest.mark.parametrize("columns", [1, 64, 65, 130])
def test_counts_of_awkward_heights(rows, columns):
    check_counts([table(7, columns)], [table(rows, columns, 1)])
    check_counts([table(rows, columns)], [table(18, columns, 1)])


@pytest.mark.parametrize("columns", WIDTHS)
def test_counts_of_awkward_widths(columns):
    check_counts([table(9, columns)], [table(33, columns, 1)])


def test_domains_are_counted_apart():
    widths = (1, 64, 65, 130)
    check_counts([table(9, w) for w in widths], [table(270, w, 1) for w in widths])


def test_an_empty_span_counts_nothing():
    laid_out = tables([table(4, 3)], [table(TILE, 3)])
    tile = np.full((ROWS, TILE), 7, dtype=np.uint64)
    count_tile(laid_out.x_words[:ROWS], laid_out.z_panels, 0, 0, tile)
    assert not tile.any()


BLOCKS = [
    (rows, columns)
    for rows in (slice(0, 13), slice(3, 4), slice(5, 11))
    for columns in (slice(0, 290), slice(PANEL, PANEL + 1), slice(32, 289))
]


def filled(fill, rows: slice, columns: slice) -> np.ndarray:
    out = np.full((rows.stop - rows.start + 5, columns.stop - columns.start + 7), -1.0)
    inner = out[2 : 2 + rows.stop - rows.start, 3 : 3 + columns.stop - columns.start]
    fill(rows, columns, inner)
    assert np.count_nonzero(out == -1.0) == out.size - inner.size, "written outside the block"
    return inner


@cache
def exact_blocks(text: str, scale: str) -> tuple[KernelTask, list[np.ndarray]]:
    """A task, and its blocks by the interpreter."""
    program = lower(rewrite(fk.parse(text), "bound").formula, "bound")
    widths = [70, 9][: len(program.domains)]
    laid_out = tables([table(13, w) for w in widths], [table(290, w, 1) for w in widths])
    task = KernelTask(program, laid_out, scale)
    exact = BACKENDS["interpreter"].compile(task)
    return task, [filled(exact, *block) for block in BLOCKS]


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("scale", ["count", "probability"])
@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("backend", ["numba", "lookup"])
def test_blocks_anywhere_in_the_matrix(text, scale, backend):
    task, exact = exact_blocks(text, scale)
    ours = BACKENDS[backend].compile(task)
    for block, expected in zip(BLOCKS, exact, strict=True):
        np.testing.assert_allclose(filled(ours, *block), expected, rtol=1e-13, atol=0)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("starts", [False, True])
def test_tables_of_sums(starts):
    """Places may start below 0 although the sum does not."""
    X, Z = table(13, 70), table(290, 70, 1)
    x, z = (70 - X.sum(1, dtype=int), -Z.sum(1, dtype=int)) if starts else (None, None)
    values = np.random.default_rng(0).random(400)
    fill = look_up_sums(tables([X], [Z]), values, x, z, strides=2)
    place = 2 * (X.astype(int) @ Z.T)
    if starts:
        place += x[:, None] + z
    for rows, columns in BLOCKS:
        assert np.array_equal(filled(fill, rows, columns), values[place[rows, columns]])
