"""Packing rows: right for every dtype, layout and width; refuses everything but 0 and 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding import bits
from formulakern.encoding.bits import (
    first_offence,
    pack_rows,
    row_counts,
    select_bits,
    unpack_rows,
)

DTYPES = ["?", "u1", "i1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4", "O"]


def naive_words(table: np.ndarray) -> np.ndarray:
    rows, columns = table.shape
    words = np.zeros((rows, -(-columns // 64)), dtype=np.uint64)
    for i in range(rows):
        for j in range(columns):
            if table[i, j]:
                words[i, j // 64] |= np.uint64(1 << (j % 64))
    return words


def random_table(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((rows, columns)) < 0.4).astype(np.uint8)


@given(st.integers(0, 5), st.integers(1, 200), st.integers(0, 9), st.sampled_from(DTYPES))
def test_words_are_the_definition(rows, columns, seed, dtype):
    table = random_table(rows, columns, seed)
    words = pack_rows(table.astype(dtype))
    assert words.dtype == np.uint64
    assert words.flags.c_contiguous
    np.testing.assert_array_equal(words, naive_words(table))
    np.testing.assert_array_equal(unpack_rows(words, columns), table)
    np.testing.assert_array_equal(row_counts(words), table.sum(axis=1))
    assert row_counts(words).dtype == np.int64


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_memory_layout(dtype):
    table = random_table(40, 130).astype(dtype)
    expected = naive_words(table[::-2, 1::3])
    np.testing.assert_array_equal(pack_rows(table[::-2, 1::3]), expected)
    np.testing.assert_array_equal(pack_rows(np.asfortranarray(table[::-2, 1::3])), expected)
    table.flags.writeable = False
    np.testing.assert_array_equal(pack_rows(table), naive_words(table))


@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_two_threads_give_the_same(dtype, monkeypatch):
    table = random_table(301, 70).astype(dtype)
    monkeypatch.setattr(bits, "THREADED_ENTRIES", 10)
    monkeypatch.setattr(bits, "BLOCK_BYTES", 500)
    np.testing.assert_array_equal(pack_rows(table), naive_words(table))
    chosen = np.array([69, 0, 3])
    np.testing.assert_array_equal(
        select_bits(pack_rows(table), 70, chosen), naive_words(table[:, chosen])
    )
    table[300, 69] = 3
    with pytest.raises(fk.DataError, match="row 300, column 69 holds"):
        pack_rows(table)


def held_by(dtype: str, value: float) -> bool:
    """Return True if the dtype holds the value without rounding it to 0 or 1."""
    with np.errstate(all="ignore"):
        try:
            return np.array([value]).astype("O").astype(dtype)[0] not in (0, 1)
        except (OverflowError, ValueError):
            return False


VALUES = [2, -1, 0.5, np.nan, np.inf, -np.inf, 256, 257, 1e-300]
HELD = [(d, v) for d in DTYPES[1:] for v in VALUES if held_by(d, v)]


@pytest.mark.parametrize(("dtype", "value"), HELD)
def test_every_other_value_is_refused(dtype, value):
    table = random_table(9, 70).astype(dtype)
    table[7, 66] = value
    table[8, 1] = 1
    assert first_offence(table) == (7, 66)
    with pytest.raises(fk.DataError, match="row 7, column 66"):
        pack_rows(table)


def test_negative_zero_is_zero():
    for dtype in ("f2", "f4", "f8"):
        assert pack_rows(np.array([[-0.0, 1.0]], dtype=dtype)).tolist() == [[2]]


def test_a_vector_is_refused():
    with pytest.raises(fk.DataError, match=r"shape \(3,\)"):
        pack_rows(np.zeros(3))
