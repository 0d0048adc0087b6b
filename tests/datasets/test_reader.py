"""Reading CSV files: the accepted forms, and a message for everything else."""

import cProfile
import gzip
import os
import pstats
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.datasets import read_table
from formulakern.tables.column import numbers_in

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FORMULAKERN_DATA", ROOT / ".." / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the benchmark data are not at {DATA}; set FORMULAKERN_DATA"
)


@pytest.fixture
def write(tmp_path):
    def write(content, name="fruit.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_columns_and_class(write):
    path = write("colour,size,weight,class\nred,3,1.5,apple\n?,5,,pear\n\ngreen,7,?,apple\n")
    dataset = read_table(path)
    assert dataset.name == "fruit"
    assert dataset.feature_names == ("colour", "size", "weight")
    assert dataset.data["colour"].tolist() == ["red", None, "green"]
    assert dataset.data["size"].dtype == np.int64
    np.testing.assert_array_equal(dataset.data["weight"], [1.5, np.nan, np.nan])
    assert dataset.target.tolist() == ["apple", "pear", "apple"]
    assert read_table(path, target="size").target.tolist() == [3, 5, 7]
    assert read_table(path, target="size").target_name == "size"
    assert read_table(str(path), missing=()).data["colour"].tolist()[1] == "?"


def test_columns_of_dates(write):
    """Dates, time stamps and times of day with missing entries; text if one is none of these."""
    lines = [
        "day,moment,daytime,mixed,class",
        "2020-02-29,2020-02-29 12:30:00,08:15,2020-01-01,a",
        "?,2021-01-01T00:00:00.5,?,soon,b",
        "1969-12-31,,23:59:59,2020-01-02,a",
    ]
    columns = read_table(write("\n".join(lines))).data
    days = np.array(["2020-02-29", "NaT", "1969-12-31"], "datetime64[ns]")
    np.testing.assert_array_equal(columns["day"].astype(days.dtype), days)
    moments = np.array(["2020-02-29T12:30", "2021-01-01T00:00:00.5", "NaT"], days.dtype)
    np.testing.assert_array_equal(columns["moment"].astype(days.dtype), moments)
    assert np.issubdtype(columns["daytime"].dtype, np.timedelta64)
    seconds = columns["daytime"][[0, 2]].astype("timedelta64[s]").astype(int)
    assert seconds.tolist() == [29_700, 86_399]
    assert np.isnat(columns["daytime"][1])
    assert columns["mixed"].tolist() == ["2020-01-01", "soon", "2020-01-02"]


number = st.one_of(
    st.integers().map(str),
    st.floats().map(repr),
    st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{0,3})?", fullmatch=True),
    st.sampled_from(["1_000", "0x1", "nan", "inf", "١", "1e999", "?", "", "007", "- 1", "true"]),
)


@settings(max_examples=82, deadline=None)
@given(texts=st.lists(number, min_size=1, max_size=4))
def test_numbers_are_read_exactly(texts, tmp_path_factory):
    """Decimals are read as in Python; a column with anything else is text."""
    path = tmp_path_factory.mktemp("numbers") / "table.csv"
    path.write_text("n,class\n" + "".join(f"{text},a\n" for text in texts))
    known = [None if text in ("?", "") else text for text in texts]
    expected, found = numbers_in(known), read_table(path).data["n"]
    if expected is None:
        assert found.tolist() == known
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_dialects(write, delimiter, newline, mark):
    lines = [["a b", '"c,d;e"', "class"], ["1", f'"x{delimiter}""y"""', "p"], [" 2 ", " z ", "q"]]
    dataset = read_table(write(mark + newline.join(map(delimiter.join, lines))))
    assert dataset.feature_names == ("a b", "c,d;e")
    assert dataset.data["a b"].tolist() == [1, 2]
    assert dataset.data["c,d;e"].tolist() == [f'x{delimiter}"y"', "z"]


def test_gzip_whatever_the_name(write):
    content = gzip.compress(b"a,class\n1,x\n")
    assert read_table(write(content, "t.csv.gz")).name == "t"
    assert read_table(write(content, "t.data")).target.tolist() == ["x"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "fruit.csv is empty"),
        ("\n\n", "is empty"),
        ("a,class\n", "a header line and no rows"),
        ("a\n1\n", 'has one column, "a"'),
        ("a,b,class\n1,2,x\n1,2\n", "line 3 of fruit.csv has 2 values, but the header has 3"),
        ('a,b,class\n1,"2\n3",x\n1,2,3,4\n', "line 4 of fruit.csv has 4 values"),
        ("a,a,class\n1,2,x\n", 'two columns of fruit.csv are named "a"'),
        ("a,,class\n1,2,x\n", "column 1 of fruit.csv has no name"),
        ("a,class\n1,?\n", "row 0 of fruit.csv .* has no class"),
        ('a,class\n"1,x\n', "line 2 of fruit.csv cannot be read"),
        ('a,class\n"1"2,x\n', "cannot be read"),
        (b"a,class\n1,\xff\xfe\n", "not UTF-8 text: byte 0xff in line 2"),
        (b"a,class\n1,x\n" * 9_000 + b"1,\xff\n", "byte 0xff in line 18001"),
        (b"a,class\n1,x\0\n", "NUL byte in line 2"),
        (b"\x1f\x8b\x08garbage", "damaged"),
        (gzip.compress(b"a,class\n1,x\n", mtime=0)[:-9], "damaged"),
        (bytes(range(256)), "fruit.csv"),
    ],
)
def test_broken_files(write, content, sentence):
    with pytest.raises(fk.DataError, match=sentence):
        read_table(write(content))


def test_no_such_file_column_or_kind(write, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(fk.DataError, match="is a folder"):
        read_table(tmp_path)
    path = write("colour,class\nred,apple\n")
    with pytest.raises(
        fk.DataError, match=r'no column "color" in fruit\.csv; did you mean "colour"'
    ):
        read_table(path, target="color")


@needs_data
def test_adult_by_few_calls():
    with cProfile.Profile() as profile:
        dataset = read_table(DATA / "adult-train.csv.gz")
    assert pstats.Stats(profile).total_calls < 32561 * 15  # less than one for each cell
    assert dataset.data.shape == (32561, 14)
    assert sum(int(dataset.data.missing(name).sum()) for name in dataset.data) == 4262
    assert dataset.data.is_numeric("age")


@needs_data
def test_every_file_is_read():
    sizes = {"mushroom": (8124, 22), "splice": (3190, 60), "house-votes-84": (435, 16)}
    sizes |= {"promoters": (106, 57), "soybean": (683, 35), "haberman": (306, 3)}
    for name, shape in sizes.items():
        assert read_table(DATA / f"{name}.csv").data.shape == shape
