"""Values as plain JSON: whatever is written comes back, of the same types."""

import datetime
import json
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import formulakern as fk
from formulakern import DataError
from formulakern.files.models import Reader, Writer, canonical, known_names

instants = st.one_of(st.datetimes(), st.dates(), st.times(), st.timedeltas())
plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), instants
)
arrays = hnp.arrays(
    st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(),
        hnp.floating_dtypes(sizes=(32, 64)),
        hnp.unicode_string_dtypes(),
        hnp.datetime64_dtypes(),
        hnp.timedelta64_dtypes(),
    ),
    hnp.array_shapes(min_dims=0, min_side=0),
)
keys = st.one_of(st.text(), st.integers(), st.tuples(st.text(), st.integers()))
values = st.recursive(
    st.one_of(plain, arrays),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(keys, inner), st.sets(keys)
    ),
    max_leaves=20,
)


def there_and_back(value):
    return Reader(known_names())(json.loads(canonical(Writer(known_names())(value))))


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype.newbyteorder("<") == other.dtype.newbyteorder("<")
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    else:
        assert one == other or one != one


@settings(max_examples=41, deadline=None)
@given(values)
def test_values_come_back(value):
    read = there_and_back(value)
    assert_same(value, read)
    assert canonical(Writer(known_names())(read)) == canonical(Writer(known_names())(value))


def test_what_is_shared_stays_shared():
    array = np.arange(3)
    one, other = there_and_back([array, (array, array)])
    assert one is other[0] is other[1]


def test_the_order_of_memory_is_kept():
    assert there_and_back(np.asfortranarray(np.arange(6.0).reshape(2, 3))).flags.fnc


def test_odd_values():
    zoned = datetime.datetime(2020, 2, 3, tzinfo=datetime.UTC)
    for value in (slice(1, None), range(3), np.float32(0.1), np.uint8, np.dtype("i1"), int, zoned):
        assert there_and_back(value) == value
    assert (there_and_back(sp.csr_array(np.eye(3))).toarray() == np.eye(3)).all()
    objects = np.array([None, "a", 1, (2, 3)], dtype=object)
    assert there_and_back(objects).tolist() == objects.tolist()


@pytest.mark.parametrize(
    "formula",
    [
        fk.parse("(a & ~b) | c:group"),
        fk.parse("all[2](a & ~b)"),
        fk.rule("odor = foul & `gill size` >= 3.5").formula,
        fk.Variable("two words") & ~fk.Variable("x"),
    ],
    ids=str,
)
def test_formulas_are_text(formula):
    assert there_and_back(formula) == formula
    assert set(Writer({})(formula)) <= {"rule", "formula"}


@pytest.mark.parametrize(
    "value",
    [print, Fraction(1, 2), np.random.default_rng(0), np.ma.array([1]), object()],
    ids=lambda value: type(value).__name__,
)
def test_other_objects_are_refused(value):
    with pytest.raises(DataError, match=r"model file cannot hold|cannot be written"):
        Writer(known_names())(value)
