"""Reports: every learner has one, sums are its own scores, and no user's text is markup."""

import numpy as np
import pandas as pd
import pytest
from markup_reader import Page
from scipy.sparse import csr_array
from sklearn.preprocessing import OneHotEncoder

import formulakern as fk

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
FRAME = pd.DataFrame(
    {
        "size": [1, 2, 3, 4, 5, 6, 7, 8] * 5,
        "odor": ["foul", "none", "none", "foul", "musk"] * 8,
        HOSTILE: ["</script>", "'a'", "b&c", None] * 10,
        "weight": np.linspace(0, 1, 40),
    }
)
TWO = np.where(((FRAME["size"] >= 4) & (FRAME["odor"] != "foul")).to_numpy(), "<b>p</b>", "e")
THREE = np.array(["a", "b", "c"])[np.clip(FRAME["size"].to_numpy() // 3, 0, 2)]
NUMBER = FRAME["size"].to_numpy() * 2.0 + (FRAME["odor"] == "foul").to_numpy()
NUMERIC = FRAME[["size", "weight"]]
STRINGS = ["ACGTAC", "ACGTTT", "TTGTAC", "CCGTAC", "GGTTAA", "GATTAA", "GGTTCC", "GGATAA"]
KINDS = ["p", "p", "p", "p", "e", "e", "e", "e"]


def written(model, path, *args, **options):
    model.report(path / "report.html", *args, **options)
    page = Page((path / "report.html").read_text(encoding="utf-8"))
    page.check()
    return page


def totals(page):
    """For each row the sums, checked to add up."""
    found = []
    for row in page.json()["rows"]:
        for item in row["sums"]:
            terms = sum(amount for _, amount in item["x"]) + item["o"][1]
            assert item["b"] + terms == pytest.approx(item["v"], abs=1e-9)
        found.append({item["c"]: item["v"] for item in row["sums"]})
    return found


ADDITIVE = {
    "prl": (lambda: fk.PRLClassifier("conjunctions", C=10.0), TWO),
    "prl of three": (lambda: fk.PRLClassifier("conjunctions", C=10.0), THREE),
    "prl, ordered": (lambda: fk.PRLClassifier(C=10.0, ordinal=True), THREE),
    "hkl": (lambda: fk.HKLClassifier(C=100.0), TWO),
    "hkl of three": (lambda: fk.HKLClassifier(C=100.0), THREE),
    "hkl, ordered": (lambda: fk.HKLClassifier(C=100.0, ordinal=True), THREE),
    "hkl of numbers": (fk.HKLRegressor, NUMBER),
}


@pytest.mark.parametrize("name", ADDITIVE)
def test_sums_are_the_scores_of_the_rules(tmp_path, name):
    make, y = ADDITIVE[name]
    model = make().fit(FRAME, y)
    page = written(model, tmp_path, FRAME, y)
    rules, scores = model.rules_, model._scores(FRAME)
    for own, sums in zip(scores, totals(page), strict=True):
        if rules.classes is not None and len(rules.classes) > 2:
            assert sums == {
                f"The score of {rules.classes[k]}": pytest.approx(own[k])
                for k in np.argsort(-own, kind="stable")[:2]
            }
        else:
            assert list(sums.values()) == [pytest.approx(own[-1])]
    decided = model.decision_function(FRAME) if y is not NUMBER else model.predict(FRAME)
    if decided.ndim == 1:
        factor = 2 if "prl" in name and y is TWO else 1  # of two classes the difference
        ours = [factor * next(iter(sums.values())) for sums in totals(page)]
        assert np.allclose(ours, decided)
    listed = [found["data-value"] for found in page.all("td") if found.get("class") == "rule"]
    for item, text in zip(rules, listed, strict=False):
        words = str(item.rule)
        assert text == words or text.endswith(f" of {words.replace(' from ', ' (from ')})")


def test_lists_and_sets(tmp_path):
    model = fk.RuleListClassifier(random_state=0).fit(FRAME, TWO)
    page = written(model, tmp_path, FRAME, TWO)
    first = model.rules_.first_match(FRAME).tolist()
    for row, at in zip(page.json()["rows"], first, strict=True):
        *asked, last = row["steps"]
        assert last[:2] == [at, "decides"]
        assert [step[:2] for step in asked] == [[k, "false"] for k in range(at)]
        assert all(step[2].startswith("false: ") for step in asked)
    votes = fk.RuleListClassifier("cn2-unordered").fit(FRAME, THREE)
    page = written(votes, tmp_path, FRAME, THREE)
    covers = votes.rules_.covers(FRAME)
    expected = covers @ votes.rules_.votes
    for own, sums in zip(expected, totals(page), strict=True):
        assert sorted(sums.values()) == pytest.approx(sorted(own)[-2:])
    odors = FRAME[["odor"]]
    encoded = fk.RuleListClassifier("optimal").fit(odors, TWO)
    assert "decides" in str(written(encoded, tmp_path, odors, TWO).json()["rows"][0]["steps"])


KERNELS = {
    "svc": (lambda: fk.FormulaSVC("a & b"), FRAME, TWO),
    "svc of three": (lambda: fk.FormulaSVC("a & b", decision_function_shape="ovo"), FRAME, THREE),
    "graded": (lambda: fk.FormulaSVC("a & b", inputs="graded"), NUMERIC, TWO),
    "svr": (lambda: fk.FormulaSVR("a & b", C=100.0), FRAME, NUMBER),
    "search": (lambda: fk.FormulaSearch(["a", "a & b"], "radius-margin"), FRAME, TWO),
    "mkl": (lambda: fk.FormulaMKL(("a", "a & b")), FRAME, TWO),
    "strings": (lambda: fk.StringSVC("weighted_degree(3)"), STRINGS, KINDS),
    "strings of four": (
        lambda: fk.StringSVC("spectrum(2)", C=10.0, decision_function_shape="ovo"),
        STRINGS,
        list("pqrspqrs"),
    ),
    "spectra": (lambda: fk.StringSVC("spectrum(2)"), STRINGS, KINDS),
    "choquet": (lambda: fk.ChoquetSVC(C=10.0), NUMERIC, TWO),
    "choquet of three": (lambda: fk.ChoquetSVC(C=10.0, additivity=2), NUMERIC, THREE),
    "choquet of numbers": (lambda: fk.ChoquetRegressor(C=10.0), NUMERIC, NUMBER),
}


@pytest.mark.parametrize("name", KERNELS)
def test_sums_are_the_decisions_of_kernels(tmp_path, name):
    make, X, y = KERNELS[name]
    model = make().fit(X, y)
    page = written(model, tmp_path, X, y, max_rows=30)
    ours = [next(iter(sums.values())) for sums in totals(page)]
    numbers = y is NUMBER
    decided = model.predict(X) if numbers else model.decision_function(X)
    if decided.ndim == 1:
        assert np.allclose(ours, decided[:30])
    elif name in ("svc of three", "strings of four"):  # positive for the first of the pair
        names = model.classes_.tolist()
        pairs = [f"{a} (above 0) against {b}" for i, a in enumerate(names) for b in names[i + 1 :]]
        for own, sums in zip(decided, totals(page), strict=False):
            ((title, value),) = sums.items()
            assert value == pytest.approx(own[pairs.index(title)])
    said = page.text("p")
    if name == "graded":
        assert "No rules are listed" in said
    if name == "spectra":
        assert "No positions are listed" in said
    if X is STRINGS:  # support vectors are shown with their strings
        terms = page.json()["terms"]
        assert all(term.endswith(tuple(f": {text}" for text in STRINGS)) for term in terms)
    assert ("heaviest rules" in page.text("caption")) == (
        name in {"svc", "svc of three", "search", "mkl"}
    )


def test_new_rows_have_no_quality_unless_told(tmp_path):
    model = fk.FormulaOneClass("a & b").fit(FRAME)
    page = written(model, tmp_path, FRAME)
    assert "unknown: the report was made without y" in page.text("p")
    assert np.allclose([s.popitem()[1] for s in totals(page)], model.decision_function(FRAME))
    told = written(model, tmp_path, FRAME, model.predict(FRAME))
    assert "100.0%" in told.text("dd")
    assert "needs a y of 1" in written(model, tmp_path, FRAME, TWO).text("p")


def test_what_a_user_gives_is_text(tmp_path):
    model = fk.HKLClassifier(C=100.0).fit(FRAME, TWO)
    page = written(model, tmp_path, FRAME, TWO, title=HOSTILE)
    assert len(page.all("script")) == 2
    assert not page.all("img")
    assert not page.all("b") or all(not found for found in page.all("b"))
    assert HOSTILE in page.text("h1")
    assert HOSTILE in page.json()["columns"]
    assert "</script>" in str(page.json()["rows"])
    assert "<b>p</b>" in page.text("th")
    again = tmp_path / "report.html"
    first = again.read_bytes()
    model.report(again, FRAME, TWO, title=HOSTILE)
    assert again.read_bytes() == first


def test_figures_are_those_of_the_rows(tmp_path):
    known = np.arange(len(FRAME)) % 3 < 2
    model = fk.HKLClassifier(C=100.0).fit(FRAME[known], TWO[known])
    X, y = FRAME[~known].copy(), TWO[~known]
    X.loc[X.index[0], "odor"] = "new"
    X.loc[X.index[1], "weight"] = None
    page = written(model, tmp_path, X, y, max_rows=5)
    assert f"{model.score(X, y):.1%}" in page.text("dd")
    assert "The page contains the first 5 of 13 rows." in page.text("p")
    assert len(page.json()["rows"]) == 5
    assert "Values not seen in training" in page.text("p")
    assert "odor" in page.text("p")
    assert page.json()["rows"][0]["e"][1] == "new"
    predicted, places = model.predict(X), model.classes_.tolist()
    counts = [int(((y == a) & (predicted == b)).sum()) for a in places for b in places]
    cells = [data for path, data in page.texts if path.endswith("figure/div/table/tbody/tr/td")]
    assert [int(text) for text in cells] == counts


def test_lines_below_the_rules_are_those_of_the_print(tmp_path):
    """Within each of two groups y falls with z, and over both it rises."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    table = pd.DataFrame({"z": 7 * group + rng.integers(0, 8, 400), "group": group.astype(str)})
    score = 11 * group - table["z"] + 3 * rng.normal(size=400)
    y = np.where(score > score.median(), "b", "a")
    model = fk.HKLClassifier(linear=False).fit(table, y)
    lines = str(model.rules_).partition("* The precision")
    page = written(model, tmp_path, table, y)
    text = " ".join(page.text("p").replace("\xa0", " ").split())
    assert " ".join("".join(lines[1:]).split()) in text
    assert " z: " in lines[2]
    assert page.text("td").count("*") >= 1


def test_odd_tables(tmp_path):
    """Sparse ones, dates, other encoders, odd names, one row, new classes, preferences."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (40, 4))
    both = bits[:, 0] & bits[:, 1] == 1
    for model in (fk.HKLClassifier(C=10.0), fk.FormulaSVC("a & b"), fk.RuleListClassifier()):
        page = written(model.fit(csr_array(bits), both), tmp_path, csr_array(bits), both)
        assert "not a table with columns" in page.text("p")
    names = {"odd\ud800\x00": ["\x01", "b"] * 20}
    written(fk.HKLClassifier(C=10.0).fit(names, [0, 1] * 20), tmp_path, names, [0, 1] * 20)
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=40)})
    late = np.where(days["day"].dt.month > 1, "late", "early")
    model = fk.HKLClassifier(C=10.0).fit(days, late)
    written(model, tmp_path, days[:1], late[:1])
    page = written(model, tmp_path, days, np.where(late == "late", "later", late))
    assert "later" in page.text("th")
    assert "No ROC curve" in page.text("p")
    one_hot = fk.HKLClassifier(C=10.0, encoder=OneHotEncoder()).fit(FRAME[["odor"]], TWO)
    assert "odor" in written(one_hot, tmp_path, FRAME[["odor"]], TWO).text("th")
    wishes = [(0, "tea", "milk"), (1, "tea", "milk"), (2, "milk", "tea"), (3, "milk", "tea")]
    hours = {"hour": [7, 8, 16, 17]}
    ranked = fk.PRLClassifier(degree=1, C=10).fit_preferences(hours, wishes)
    assert "without y" in written(ranked, tmp_path, hours).text("p")
    products = fk.PRLClassifier("polynomial").fit(NUMERIC, TWO)
    totals(written(products, tmp_path, NUMERIC, TWO))


def test_what_is_refused(tmp_path):
    model = fk.HKLClassifier(C=100.0)
    with pytest.raises(Exception, match="not fitted"):
        model.report(tmp_path / "a.html", FRAME, TWO)
    model.fit(FRAME, TWO)
    for wrong, match in [({"max_rows": 0}, "max_rows"), ({"top": 0.5}, "top")]:
        with pytest.raises(fk.ParameterError, match=match):
            model.report(tmp_path / "a.html", FRAME, TWO, **wrong)
    with pytest.raises(fk.DataError, match="39"):
        model.report(tmp_path / "a.html", FRAME, TWO[:-1])
    assert list(tmp_path.iterdir()) == []
