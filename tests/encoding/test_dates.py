"""Dates, time stamps, times of day and durations: read, compared, cut, and written in rules."""

import datetime as dt
import operator
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.propositions import evaluate_proposition
from formulakern.syntax.leaves import ColumnName, Comparison
from formulakern.syntax.parser import parse_rule
from formulakern.syntax.temporal import DAY, PARTS, Temporal, read_temporal

UNITS = {"D": DAY, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
ORDERS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
#: Nanoseconds far beyond those that float64 tells apart.
NEAR = 1_600_000_000_123_456_789
KINDS = st.sampled_from(["stamp", "instant", "time", "duration"])


def in_day(kind, count):
    return count % DAY if kind == "time" else count


temporals = st.builds(
    lambda kind, count: Temporal(kind, in_day(kind, count)),
    KINDS,
    st.one_of(
        st.integers(-(10**24), 10**24),
        st.integers(-(10**5), 10**5).map(lambda days: days * DAY),
        st.integers(NEAR - 10, NEAR + 10),
    ),
)


@settings(max_examples=30, deadline=None)
@given(temporals)
def test_text_of_values_reads_back(value):
    assert read_temporal(str(value)) == value
    for relation in ORDERS:
        leaf = Comparison("when", relation, value)
        assert parse_rule(str(leaf)) == leaf
    assert parse_rule(str(Comparison("when", "in", (value, 3)))).value == (value, 3)


@settings(max_examples=38, deadline=None)
@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)))
def test_text_of_stamps_is_iso_8601(moment):
    value = read_temporal(moment.isoformat())
    assert (
        value.nanoseconds
        == (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) * 1000
    )
    assert dt.datetime.fromisoformat(str(value)) == moment


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2020-02-01 10:30", "2020-02-01T10:30"),
        ("2020-02-01T10:30:00.500+01:30", "2020-02-01T09:00:00.5Z"),
        ("P3DT4H30M", "3d4h30m"),
        ("-P1W", "-7d"),
        ("PT0.5S", "0.5s"),
        ("3 days 04:00:00", "3d4h"),
        ("1 day, 0:00:01.5", "1d1.5s"),
        ("1.5h", "1h30m"),
        ("90m", "1h30m"),
        ("0.5ns", None),
        ("2021-02-29", None),
        ("2020-02-01T24:00", None),
        ("2020-02-01T10:30+24:00", None),
        ("P1Y", None),
        ("P", None),
        ("3 days 04", None),
    ],
)
def test_notations(text, shown):
    value = read_temporal(text)
    assert (None if value is None else str(value)) == shown


def test_misspelt_dates_are_pointed_at():
    for text in ("x >= 2020-13-01", "x = 25:00", "x in {2020-02-30}", "month(x) = 13"):
        with pytest.raises(fk.FormulaSyntaxError):
            fk.rule(text)
    assert str(fk.rule("month >= 3 & day = `hour`")) == "month >= 3 & day = `hour`"


# -- columns of every library ----------------------------------------------------------------------


def columns_of(kind, unit, counts):
    """Return the same column in each library; counts are in the unit, None if missing."""
    letter = "m" if kind in ("time", "duration") else "M"
    whole = [np.iinfo(np.int64).min if c is None else c for c in counts]
    array = np.array(whole, dtype=np.int64).view(f"{letter}8[{unit}]")
    days = unit == "D"
    zone = "Europe/Berlin" if kind == "instant" else None
    listed = [None if c is None else Temporal(kind, c * UNITS[unit]) for c in counts]
    yield listed
    if kind in ("stamp", "duration"):
        yield array
        if not days:
            yield pd.Series(array)
    if days and kind != "stamp":
        return
    if kind == "instant":
        yield pd.Series(array).dt.tz_localize("UTC").dt.tz_convert(zone)
    if unit not in ("s", "D") and kind != "time":
        physical = pl.Series(counts, dtype=pl.Int64)
        yield physical.cast(pl.Datetime(unit, zone) if letter == "M" else pl.Duration(unit))
    if days:
        yield pl.Series(counts, dtype=pl.Int32).cast(pl.Date)
    if kind == "time" and unit == "ns":
        yield pl.Series(counts, dtype=pl.Int64).cast(pl.Time)
    pa = pytest.importorskip("pyarrow") if ARROW else None
    if pa is not None:
        made = {
            "stamp": pa.date32() if days else pa.timestamp(unit),
            "instant": None if days else pa.timestamp(unit, zone),
            "duration": None if days else pa.duration(unit),
            "time": None if days else (pa.time64 if unit in ("us", "ns") else pa.time32)(unit),
        }[kind]
        narrow = (
            pa.int32() if made in (pa.date32(), pa.time32("s"), pa.time32("ms")) else pa.int64()
        )
        arrow = pa.array(counts, type=narrow).cast(made)
        yield (
            pd.Series(arrow.to_pandas(types_mapper=None), dtype=pd.ArrowDtype(made))
            if (unit != "ns")
            else pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow])))
        )


try:
    import pyarrow  # noqa: F401
except ImportError:
    ARROW = False
else:
    ARROW = True


@st.composite
def compared_columns(draw):
    kind = draw(KINDS)
    unit = draw(st.sampled_from([*UNITS] if kind == "stamp" else ["s", "ms", "us", "ns"]))
    middle = 86_399 * 10**9 if kind == "time" else NEAR
    near = st.integers(middle - 3 * UNITS[unit], middle + 3 * UNITS[unit])
    fitting = near.map(lambda count: in_day(kind, count) // UNITS[unit])
    counts = draw(st.lists(st.one_of(st.none(), fitting), min_size=1, max_size=6))
    return kind, unit, counts, Temporal(kind, in_day(kind, draw(near)))


@settings(max_examples=30, deadline=None)
@given(compared_columns())
def test_comparisons_are_those_of_whole_numbers(case):
    """Every column, in every library and unit, compares to the nanosecond."""
    kind, unit, counts, value = case
    for column in columns_of(kind, unit, counts):
        table = fk.Table({"x": column, "y": column})
        if any(count is not None for count in counts):
            assert table.kinds["x"] == kind
        for relation, compare in ORDERS.items():
            found = evaluate_proposition(Comparison("x", relation, value), table)
            expected = [
                c is not None and compare(c * UNITS[unit], value.nanoseconds) for c in counts
            ]
            assert found.tolist() == expected
        same = evaluate_proposition(Comparison("x", "=", ColumnName("y")), table)
        np.testing.assert_array_equal(same, ~table.missing("x"))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=5),
    st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=5),
    st.sampled_from(["D", "s", "ms", "us"]),
)
def test_two_columns_of_different_units(left, right, unit):
    size = min(len(left), len(right))
    ends = [None if v is None else Temporal("stamp", v * UNITS[unit]) for v in left[:size]]
    table = fk.Table(
        {
            "a": ends,
            "b": np.array(["NaT" if v is None else v for v in right[:size]], "M8[D]")
            if None in right
            else np.array(right[:size], "M8[D]"),
        }
    )
    for relation, compare in ORDERS.items():
        expected = [
            a is not None and b is not None and compare(a * UNITS[unit], b * DAY)
            for a, b in zip(left, right, strict=False)
        ]
        assert fk.rule(f"a {relation} `b`")(table).tolist() == expected


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.datetimes(dt.datetime(1800, 1, 1))), min_size=1, max_size=4)
)
def test_parts_of_the_calendar(moments):
    for column in (moments, np.array(moments, "M8[us]"), pl.Series(moments, dtype=pl.Datetime)):
        table = fk.Table({"x": column})
        for part, (least, _) in PARTS.items():
            got = [None if m is None else part_of(m, part) for m in moments]
            for number in {max(least, 3), *got} - {None}:
                leaf = Comparison("x", "=", number, part=part)
                assert evaluate_proposition(leaf, table).tolist() == [g == number for g in got]
                leaf = leaf.replaced(relation="!=")
                expected = [g is not None and g != number for g in got]
                assert evaluate_proposition(leaf, table).tolist() == expected


def part_of(moment, part):
    if part == "weekday":
        return moment.isoweekday()
    return (moment.month + 2) // 3 if part == "quarter" else getattr(moment, part)


def test_what_does_not_compare_is_told():
    aware = pd.Series(pd.to_datetime(["2020-02-01", None])).dt.tz_localize("Europe/Berlin")
    frame = pd.DataFrame(
        {"aware": aware, "naive": aware.dt.tz_localize(None), "n": [1, 2], "t": ["x", "2020-01-01"]}
    )
    frame["took"] = pd.to_timedelta([1, 2], "h")
    for text, sentence in {
        "aware >= 2020-02-01": "holds time stamps with a time zone; it is compared with 2020-02-01",
        "naive >= 2020-02-01T00:00Z": "without time zone; it is compared with 2020-02-01T00:00Z",
        "aware = `naive`": "differ in kind",
        "naive <= `took`": "differ in kind",
        "naive >= 3": "it is compared with 3",
        "naive = soon": "it is compared with 'soon'",
        "took < 10:30": "it is compared with 10:30, one of times of day",
        "month(aware) = 3": "depends on a time zone",
        "month(took) = 3": "which have no month",
        "month(n) = 3": "does not hold dates or times",
        "n >= 2020-01-01": "holds numbers; it is compared with 2020-01-01",
        "t >= 2020-01-01": "holds 'x'; it is compared with 2020-01-01",
        "n >= big": "holds numbers, but 'big' is a word",
        "t >= big": "text without an order",
        "naive": "Compare it with a value",
    }.items():
        with pytest.raises(fk.DataError, match=sentence):
            fk.rule(text)(frame)
    assert fk.rule("aware >= 2020-02-01T00:00+01:00")(frame).tolist() == [True, False]
    assert fk.rule("aware > 2020-01-31T23:00Z")(frame).tolist() == [False, False]
    assert fk.rule('naive = "2020-02-01" & took < "P1D"')(frame).tolist() == [True, False]
    assert fk.rule("t = 2020-01-01")(frame).tolist() == [False, True]
    assert fk.rule("t < 2020-01-02")({"t": ["2020-01-01 23:00", None]}).tolist() == [True, False]
    assert fk.rule("x >= 2020-01-01")({"x": [None, None]}).tolist() == [False, False]
    with pytest.raises(fk.DataError, match="with a time zone and others without"):
        fk.Table({"x": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]})
    with pytest.raises(fk.DataError, match=r"timedelta64\[M\]"):
        fk.Table({"x": np.array([1], "m8[M]")})


def test_periods_are_their_first_moments():
    months = pd.Series(pd.period_range("2020-01", periods=3, freq="M"))
    assert fk.rule("m >= 2020-02-01")(pd.DataFrame({"m": months})).tolist() == [False, True, True]


def test_tables_survive_pandas_and_selection():
    table = fk.Table(
        {
            "aware": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None],
            "clock": [dt.time(10, 30), None],
            "took": [dt.timedelta(1), None],
            "day": [dt.date(2020, 1, 1), None],
        }
    )
    assert dict(table.kinds) == {
        "aware": "instant", "clock": "time", "took": "duration", "day": "stamp"
    }  # fmt: skip
    for other in (
        table.to_pandas(), table[[0, 1]], table.select(table.names), fk.Table.of(table),
        pickle.loads(pickle.dumps(table)),
    ):  # fmt: skip
        assert dict(fk.Table.of(other).kinds) == dict(table.kinds)
        assert fk.Table.of(other).entry("clock", 0) == table.entry("clock", 0)
    assert table != table[[1, 0]]
    assert "10:30" in repr(table)
    assert "2020-01-01T00:00Z" in table._repr_html_()


# -- cut points ------------------------------------------------------------------------------------

LEVELS = [
    lambda m: (m.month, m.day, m.hour, m.minute, m.second, m.microsecond) == (1, 1, 0, 0, 0, 0),
    lambda m: (m.day, m.hour, m.minute, m.second, m.microsecond) == (1, 0, 0, 0, 0),
    lambda m: (m.hour, m.minute, m.second, m.microsecond) == (0, 0, 0, 0),
    lambda m: (m.minute, m.second, m.microsecond) == (0, 0, 0),
    lambda m: (m.second, m.microsecond) == (0, 0),
    lambda m: m.microsecond == 0,
]
STEPS = [None, None, *map(dt.timedelta, [1]), *(dt.timedelta(seconds=s) for s in (3600, 60, 1))]


def first_round_after(moment, level):
    """The first moment after another that is round at a level, step by step."""
    if level < 2:
        year, month = moment.year, moment.month + 1
        if month == 13 or level == 0:
            year, month = year + 1, 1
        return dt.datetime(year, month, 1)
    step, start = STEPS[level], dt.datetime(1970, 1, 1)
    return start + ((moment - start) // step + 1) * step


@settings(max_examples=38, deadline=None)
@given(
    st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1)),
    st.one_of(
        st.timedeltas(dt.timedelta(microseconds=1), dt.timedelta(900)),
        st.timedeltas(dt.timedelta(microseconds=1), dt.timedelta(minutes=5)),
    ),
)
def test_a_cut_has_the_coarsest_precision_that_separates(low, gap):
    high = low + gap
    frame = pd.DataFrame({"x": np.array([low, high], "M8[us]")})
    below, above = fk.PropositionEncoder(strategy="all").fit(frame).propositions_
    ends = [dt.datetime.fromisoformat(str(leaf.value)) for leaf in (below, above)]
    assert low <= ends[0] < high
    assert low < ends[1] <= high
    if ends[0] != ends[1]:  # neighbours of the unit, or whole days
        return
    level = next(k for k in range(7) if k == 6 or LEVELS[k](ends[1]))
    assert not any(first_round_after(low, coarser) < high for coarser in range(level))


@pytest.mark.parametrize(
    ("days", "names"),
    [
        (["2020-01-15", "2020-02-20"], ["x <= 2020-01-31", "x >= 2020-02-01"]),
        (["2020-01-31", "2020-02-01"], ["x <= 2020-01-31", "x >= 2020-02-01"]),
        (["2019-11-30", "2020-03-01"], ["x <= 2019-12-31", "x >= 2020-01-01"]),
        (["2020-02-03", "2020-02-28"], ["x <= 2020-02-14", "x >= 2020-02-15"]),
    ],
)
def test_dates_are_cut_at_the_first_of_a_year_or_month(days, names):
    for column in (np.array(days, "M8[D]"), pl.Series(days).str.to_date(), pd.to_datetime(days)):
        encoder = fk.PropositionEncoder().fit({"x": column})
        assert encoder.get_feature_names_out().tolist() == names


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ([dt.time(9, 12), dt.time(17, 5)], ["x <= 12:00", "x >= 12:00"]),
        ([dt.timedelta(hours=3), dt.timedelta(3)], ["x <= 2d", "x >= 2d"]),
        ([dt.timedelta(1), dt.timedelta(9)], ["x <= 4d", "x >= 5d"]),
        (
            np.array([NEAR, NEAR + 1], "M8[ns]"),
            ["x <= 2020-09-13T12:26:40.123456789", "x >= 2020-09-13T12:26:40.12345679"],
        ),
    ],
)
def test_times_and_durations_are_cut_at_round_ones(column, names):
    encoder = fk.PropositionEncoder().fit({"x": column})
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.transform({"x": column}).tolist() == [[1, 0], [0, 1]]


ZONES = st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=2))])


@st.composite
def dated_frames(draw):
    size = draw(st.integers(2, 12))

    def column(values):
        return draw(st.lists(st.one_of(st.none(), values), min_size=size, max_size=size))

    return {
        "when": column(st.datetimes(dt.datetime(2019, 1, 1), dt.datetime(2022, 1, 1))),
        "aware": column(st.datetimes(dt.datetime(2019, 1, 1), timezones=ZONES)),
        "day": column(st.dates(dt.date(2019, 1, 1), dt.date(2020, 1, 1))),
        "clock": column(st.times()),
        "took": column(st.timedeltas(dt.timedelta(-3), dt.timedelta(3))),
        "always": [0, 1] * (size // 2) + [0] * (size % 2),
    }  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    dated_frames(),
    st.integers(1, 3),
    st.sampled_from(["quantile", "uniform", "mdlp", "all"]),
    st.booleans(),
)
def test_propositions_are_what_their_names_say(columns, number, strategy, negations):
    table = fk.Table(columns)
    encoder = fk.PropositionEncoder(
        cut_points=number, strategy=strategy, negations=negations, nominal="auto"
    ).fit(table, columns["always"])
    assert pickle.loads(pickle.dumps(encoder)).propositions_ == encoder.propositions_
    for rows in (table, table[::-1]):
        found = encoder.transform(rows)
        np.testing.assert_array_equal(encoder.transform_packed(rows).unpacked(), found)
        for place, leaf in enumerate(encoder.propositions_):
            np.testing.assert_array_equal(found[:, place], evaluate_proposition(leaf, rows))
    names = encoder.get_feature_names_out()
    assert tuple(map(parse_rule, names)) == encoder.propositions_
    for name in table.kinds:
        known = {table.entry(name, row) for row in range(len(table))} - {None}
        cuts = [p for p in encoder.propositions_ if getattr(p, "relation", "") == ">="]
        cuts = [p for p in cuts if p.column == name]
        assert len(cuts) <= (len(known) - 1 if strategy == "all" else number)
        assert bool(cuts) == (len(known) > 1)
        for leaf in cuts:  # each separates
            assert 0 < evaluate_proposition(leaf, table).sum() < (~table.missing(name)).sum()


@settings(max_examples=20, deadline=None)
@given(dated_frames())
def test_nominal_dates_and_calendars(columns):
    table = fk.Table({name: columns[name] for name in ("when", "day", "clock", "always")})
    encoder = fk.PropositionEncoder(nominal="all", calendar=["month", "hour"]).fit(table)
    found = encoder.transform(table)
    for place, leaf in enumerate(encoder.propositions_):
        np.testing.assert_array_equal(found[:, place], evaluate_proposition(leaf, table))
    months = {m.month for m in columns["when"] if m is not None}
    named = [p for p in encoder.propositions_ if getattr(p, "part", None) == "month"]
    assert (
        sorted(p.value for p in named if p.column == "when")
        == sorted(months)[: 99 * (len(months) > 1)]
    )
    assert not any(p.column == "clock" for p in named)


def test_calendar_is_checked():
    for wrong in ("month", ["moon"], [3]):
        with pytest.raises(fk.ParameterError, match="calendar="):
            fk.PropositionEncoder(calendar=wrong).fit({"x": [1, 2]})
    aware = [dt.datetime(2020, m, 1, tzinfo=dt.UTC) for m in (1, 2)]
    with pytest.raises(fk.DataError, match="depends on a time zone"):
        fk.PropositionEncoder(calendar=["month"]).fit({"x": aware})
    with pytest.raises(fk.DataError, match="degrees need numbers"):
        fk.PropositionEncoder(graded={"x": "rank"}).fit({"x": aware})


def test_zones_and_units_at_predict():
    stamps = pd.Series(pd.date_range("2020-01-01", periods=40, freq="7h"))
    berlin = stamps.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    encoder = fk.PropositionEncoder().fit(pd.DataFrame({"x": berlin}))
    expected = encoder.transform(pd.DataFrame({"x": berlin}))
    for same in (
        berlin.dt.tz_convert("Asia/Tokyo"),
        berlin.dt.as_unit("ns"),
        berlin.dt.as_unit("s"),
    ):
        np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"x": same})), expected)
        in_utc = same.dt.tz_convert(None).to_numpy().astype("M8[us]")
        elsewhere = pl.Series("x", in_utc).dt.replace_time_zone("UTC")
        elsewhere = elsewhere.dt.convert_time_zone(str(same.dt.tz)).to_frame()
        np.testing.assert_array_equal(encoder.transform(elsewhere), expected)
    with pytest.raises(fk.DataError, match="with a time zone"):
        fk.PropositionEncoder().fit(pd.DataFrame({"x": stamps})).transform(
            pd.DataFrame({"x": berlin})
        )
    with pytest.raises(fk.DataError, match="without time zone"):
        encoder.transform(pd.DataFrame({"x": stamps}))


# -- learners and logic ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sales():
    rng = np.random.default_rng(0)
    n = 240
    when = pd.Timestamp("2019-11-03") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    took = pd.to_timedelta(rng.integers(0, 9 * 86400, n), "s")
    frame = pd.DataFrame({"when": when, "took": took})
    return frame, np.where(when >= "2020-06-01", "new", "old")


@pytest.mark.parametrize(
    "model",
    [
        fk.PRLClassifier(),
        fk.HKLClassifier(monotone={"when": -1}),
        fk.RuleListClassifier(),
        fk.RuleListClassifier(encoder=fk.PropositionEncoder(calendar=["month"])),
    ],
    ids=lambda model: type(model).__name__,
)
def test_learners_write_rules_about_dates(model, sales):
    frame, y = sales
    model.fit(frame, y)
    assert "when" in str(model.rules_)
    assert model.score(frame, y) > 0.9
    again = type(model.rules_).from_json(model.rules_.to_json())
    assert again == model.rules_
    for table in (frame, pl.from_pandas(frame)):
        np.testing.assert_array_equal(again.predict(table), model.predict(frame))


def test_the_calendar_is_learned():
    when = pd.Series(pd.date_range("2020-01-01", periods=400, freq="D"))
    y = np.where(when.dt.day_of_week >= 5, "rest", "work")
    frame = pd.DataFrame({"when": when})
    encoder = fk.PropositionEncoder(calendar=["weekday"])
    for model in (
        fk.PRLClassifier(encoder=encoder),
        fk.RuleListClassifier(encoder=encoder),
    ):
        assert model.fit(frame, y).score(frame, y) == 1.0
        assert "weekday(when) = S" in str(model.rules_)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([*ORDERS]), st.integers(-2, 2), st.booleans()),
        min_size=1, max_size=3,
    )
)  # fmt: skip
def test_logic_agrees_with_all_days(parts):
    """Rules about days, decided by logic, and on a table of all days and noons."""
    rules = [
        fk.rule(f"x {relation} {Temporal('stamp', day * DAY + noon * DAY // 2)}")
        for relation, day, noon in parts
    ]
    moments = [Temporal("stamp", half * DAY // 4) for half in range(-16, 17)]
    table = fk.Table({"x": [*moments, None]})
    assert bool(fk.mutually_exclusive(rules)) == bool(fk.mutually_exclusive(rules, table))
    assert bool(fk.exhaustive(rules)) == bool(fk.exhaustive(rules, table))
    present = fk.Table({"x": moments})
    assert bool(fk.exhaustive(rules, missing=False)) == bool(fk.exhaustive(rules, present))


def test_logic_of_parts():
    assert fk.mutually_exclusive(["month(x) <= June", "month(x) > June"])
    assert fk.exhaustive(["month(x) <= June", "month(x) > June"], missing=False)
    answer = fk.exhaustive(["weekday(x) in {Mon, Tue}", "weekday(x) >= 4"], missing=False)
    assert answer.witness == {"weekday(x)": 3}
    with pytest.raises(fk.FormulaError, match="month"):
        fk.mutually_exclusive(["month(x) = 2", "x >= 2020-03-01"])
