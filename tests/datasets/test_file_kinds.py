"""Tables in files of other kinds than CSV in UTF-8: encodings, delimiters, Parquet; and noise."""

import datetime
import gzip

import polars
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.datasets import read_table, reader
from formulakern.datasets.reader import open_table

ROWS = [["größe", "n", "class"], ["groß", "1", "ja"], ["a;b", "2", "nein"]]


@pytest.mark.parametrize(
    ("name", "delimiter", "encoding", "said"),
    [
        ("t.tsv", "\t", "utf-8", {}),
        ("t.TSV.gz", "\t", "utf-8", {}),
        ("t.csv", ",", "latin-1", {"encoding": "latin-1"}),
        ("t.csv.gz", ",", "utf-16", {"encoding": "utf-16"}),
        ("t.txt", "|", "utf-8", {"delimiter": "|"}),
    ],
)
def test_encodings_and_delimiters(tmp_path, name, delimiter, encoding, said):
    path = tmp_path / name
    content = "".join(delimiter.join(row) + "\n" for row in ROWS).encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    X, y = read_table(path, **said)
    assert X.names == ("größe", "n")
    assert (X["größe"].tolist(), X["n"].tolist()) == (["groß", "a;b"], [1, 2])
    assert y.tolist() == ["ja", "nein"]
    ((table, texts),) = open_table(path, **said)
    assert list(map(list, texts.rows())) == ROWS[1:]
    assert table["größe"].tolist() == X["größe"].tolist()
    if encoding == "latin-1":
        with pytest.raises(fk.DataError, match=r"not UTF-8 text.*pass its encoding"):
            read_table(path)


def test_a_tab_is_the_delimiter_by_the_name(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a, b, c\tclass\n1\tx\n")
    assert read_table(path).data.names == ("a, b, c",)


@pytest.mark.parametrize("said", [{"encoding": "utf-99"}, {"encoding": "hex"}, {"delimiter": ""},
                                  {"delimiter": "||"}, {"delimiter": '"'}])  # fmt: skip
def test_wrong_encodings_and_delimiters(tmp_path, said):
    path = tmp_path / "t.csv"
    path.write_text("a,class\n1,x\n")
    for read in (read_table, open_table):
        with pytest.raises(fk.ParameterError, match=next(iter(said))):
            read(path, **said)


# -- Parquet ---------------------------------------------------------------------------------------

FRAME = polars.DataFrame(
    {
        "n": [1, None, 3, 4, 5],
        "x": [0.1, float("nan"), None, 4.0, 5.0],
        "flag": [True, False, None, True, False],
        "word": ["a", None, "?", "", "2"],
        "day": [datetime.date(2020, 1, k) for k in range(1, 6)],
        "at": polars.Series(range(5), dtype=polars.Int64).cast(polars.Datetime("us", "UTC")),
        "size": polars.Series(["s", "l", "s", None, "l"], dtype=polars.Enum(["s", "l"])),
        "class": ["p", "q", "p", "q", "p"],
    }
)  # fmt: skip


def test_parquet_is_the_frame(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    FRAME.write_parquet(path)
    dataset = read_table(path)
    assert dataset.data == fk.Table.of(FRAME.drop("class"))
    assert dataset.data.orders["size"] == ("s", "l")
    assert (dataset.name, dataset.target.tolist()) == ("t", ["p", "q", "p", "q", "p"])
    with pytest.raises(fk.DataError, match='no class: "n" is missing'):
        read_table(path, target="n")
    monkeypatch.setattr(reader, "PARTITION_ROWS", 2)
    parts = list(open_table(path))
    assert [len(table) for table, _ in parts] == [2, 2, 1]
    assert polars.concat([frame for _, frame in parts]).equals(FRAME)


def test_a_file_of_parquet_under_another_name(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.write_parquet(path)
    assert read_table(path).data.shape == (5, 7)


def test_classes_of_parquet(tmp_path):
    for name, expected in (("flag", [True, False]), ("day", ["2020-01-01", "2020-01-02"])):
        path = tmp_path / f"{name}.parquet"
        FRAME.head(2).select("n", name).write_parquet(path)
        assert read_table(path).target.tolist() == expected


def test_parquet_without_rows_or_damaged(tmp_path):
    path = tmp_path / "t.parquet"
    FRAME.head(0).write_parquet(path)
    with pytest.raises(fk.DataError, match="has no rows"):
        read_table(path)
    FRAME.write_parquet(path)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:100], whole[:-9] + b"123456789", b"PAR1" + b"\0" * 50):
        path.write_bytes(content)
        for read in (read_table, lambda path: list(open_table(path))):
            with pytest.raises(fk.DataError):
                read(path)


# -- noise -----------------------------------------------------------------------------------------

piece = st.sampled_from(
    [b"a,b", b"\n", b"\r\n", b'"', b"1", b"\xff", b"\0", b"\xef\xbb\xbf", b";", b"\t", b"PAR1",
     b"\x1f\x8b", b"PK\x03\x04", b"class", b",,", b" ", "ü".encode(), b"\xfe\xff"]
)  # fmt: skip


@settings(max_examples=45, deadline=None)
@example(content=b'""', name="t.csv")
@given(
    content=st.lists(piece, max_size=12).map(b"".join),
    name=st.sampled_from(["t.csv", "t.tsv", "t.parquet"]),
)
def test_noise_is_read_or_refused(content, name, tmp_path_factory):
    """Only our own errors are raised, and the blocks have as many rows as the whole."""
    path = tmp_path_factory.mktemp("noise") / name
    path.write_bytes(content)
    try:
        whole = len(read_table(path))
    except fk.FormulaKernError:
        whole = None
    try:
        parts = sum(len(table) for table, _ in open_table(path))
    except fk.FormulaKernError:
        parts = None
    assert whole is None or parts == whole
