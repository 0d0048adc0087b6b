"""Pictures show what was learned, on tiny models; refusals; colours; labels."""

import inspect
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import formulakern as fk
from formulakern.display import plots as style
from formulakern.rules.explanation import Explanation
from formulakern.rules.features import LinearTerm

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.pyplot")
matplotlib.use("agg")

TABLE = {"size": [1, 2, 3, 4, 5, 6], "kind": ["a", "b", "a", "b", "c", "c"]}
RULES = [fk.rule("size >= 3"), fk.rule("kind = a"), fk.rule("size <= 4 & kind = b")]


@pytest.fixture(autouse=True)
def no_figures_stay_open():
    yield
    matplotlib.pyplot.close("all")


def votes(*winners, weights=(2.0, 0.5, 1.0), classes=("no", "yes"), intercept=(-0.25, 0.25)):
    losers = [next(c for c in classes if c != w) if len(classes) == 2 else None for w in winners]
    parts = zip(RULES, weights, winners, losers, strict=True)
    items = [fk.WeightedRule(*part, 3, 0.5, 0.75, 0.5) for part in parts]
    return fk.RuleEnsemble.of(items, classes, intercept)


def number():
    items = [fk.WeightedRule(r, w) for r, w in zip(RULES, (2.0, -0.5, 1.0), strict=True)]
    return fk.RuleEnsemble.of(items, None, [10.0], "price")


def widths(ax):
    return [float(bar.get_width()) for bar in ax.patches]


def ticks(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def test_bars_are_weights():
    ax = fk.plot.rule_weights(votes("yes", "no", "yes"))
    assert widths(ax) == [2.0, 1.0, -0.5]  # to the left: for the first class
    assert ticks(ax) == ["size >= 3", "size <= 4 & kind = b", "kind = a"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top
    assert [text.get_text() for text in ax.texts] == ["2.0", "1.0", "0.5"]
    assert widths(fk.plot.rule_weights(number(), top=2)) == [2.0, 1.0]
    several = votes("a", "b", "c", weights=(2, -3, 1), classes="abc", intercept=(0, 0, 0))
    ax = fk.plot.rule_weights(several)
    assert widths(ax)[:3] == [-3.0, 2.0, 1.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    colours = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches]
    assert colours[:3] == [style.colour_of(1), style.colour_of(0), style.colour_of(2)]
    one = fk.WeightedRule(RULES[0], -3.0, "b", votes=(1.0, -3.0, 2.0))
    ax = fk.plot.rule_weights(fk.RuleEnsemble.of([one], "abc"))
    assert widths(ax) == [-3.0, 2.0, 1.0]
    assert [bar.get_x() for bar in ax.patches] == [0.0, 0.0, 2.0]


def test_bars_are_counts():
    items = (fk.ClassRule(RULES[0], "x", (3, 1)), fk.ClassRule(RULES[1], "y", (0, 2)))
    listed = fk.RuleList(items, ("x", "y"), "y", (1, 4))
    ax = fk.plot.rule_counts(listed)
    assert widths(ax) == [3.0, 0.0, 1.0, 1.0, 2.0, 4.0]  # class by class
    assert ticks(ax) == ["x: size >= 3", "y: kind = a", "y: otherwise"]
    assert [text.get_text() for text in ax.texts] == ["4", "2", "5"]
    uncounted = fk.RuleList((fk.ClassRule(RULES[0], "x"),), ("x", "y"))
    with pytest.raises(fk.ParameterError, match=r"rules.with_counts\(X, y\)"):
        fk.plot.rule_counts(uncounted)
    with pytest.raises(fk.ParameterError, match=r"fk.plot.rule_weights\(model\)"):
        fk.plot.rule_counts(number())
    with pytest.raises(fk.ParameterError, match=r"fk.plot.rule_counts\(model\)"):
        fk.plot.rule_weights(listed)


class Explained:
    """A model that has only an ensemble, for functions that need no estimator."""

    def __init__(self, rules):
        self.rules_ = rules

    def explain(self, X):
        return Explanation.of(self.rules_, self.rules_.values(X))


@pytest.mark.parametrize(
    "rules",
    [
        votes("yes", "no", "yes"),
        votes("a", "b", "c", classes="abc", intercept=(0.5, 0.25, 0)),
        votes("a", "a", "c", weights=(2, -3, 1), classes="abc", intercept=(0, 0, 1)),
        number(),
    ],
)
@pytest.mark.parametrize("row", range(6))
def test_waterfall_adds_up(rules, row):
    X = {name: values[row : row + 1] for name, values in TABLE.items()}
    ax = fk.plot.waterfall(Explained(rules), X)
    starts = [float(bar.get_x()) for bar in ax.patches]
    ends = [a + b for a, b in zip(starts, widths(ax), strict=True)]
    np.testing.assert_allclose(starts[1:-1], ends[:-2])  # each begins where the last one ends
    assert starts[0] == starts[-1] == 0
    assert ends[-1] == pytest.approx(ends[-2])
    scores = rules.scores(X)[0]
    if len(scores) == 3:
        first, second = np.sort(scores)[::-1][:2]
        assert ends[-1] == pytest.approx(first - second)
    else:
        assert ends[-1] == pytest.approx(scores.max())  # of two classes, the one above 0
    assert len(ends) == 2 + np.count_nonzero(rules.covers(X)[0] & _told(rules, scores))


def _told(rules, scores):
    """Mark the rules that change the difference of the two largest scores, or the number."""
    if rules.classes is None:
        return np.ones(len(rules), dtype=bool)
    k, j = np.argsort(-scores, kind="stable")[:2]
    return rules.votes[:, k] != rules.votes[:, j]


def test_waterfall_of_chosen_classes_and_few_rules():
    rules = votes("a", "b", "a", weights=(2, 3, 1), classes="abc", intercept=(0.5, 0, 0))
    X = {"size": [3], "kind": ["b"]}
    model = Explained(rules)
    ax = fk.plot.waterfall(model, X, label="c", against="a")
    assert widths(ax) == [-0.5, -2.0, -1.0, -3.5]
    assert ax.get_xlabel() == "score of c − score of a"
    with pytest.raises(fk.DataError, match=r"one row; got 6. Pass X\[i : i \+ 1\]"):
        fk.plot.waterfall(model, TABLE)
    many = fk.RuleEnsemble.of([fk.WeightedRule(fk.rule(f"size >= {k}"), 1.0) for k in range(6)])
    ax = fk.plot.waterfall(Explained(many), {"size": [9]}, top=2)
    assert widths(ax) == [0, 1, 1, 4, 6]
    assert ticks(ax)[3] == "4 other rules"
    with pytest.raises(fk.ParameterError, match=r"label='d'; expected one of \['a', 'b', 'c'\]"):
        fk.plot.waterfall(model, X, label="d")
    with pytest.raises(fk.ParameterError, match="expected two classes"):
        fk.plot.waterfall(model, X, label="c", against="c")
    listed = fk.RuleList((fk.ClassRule(RULES[0], "x"),), ("x", "y"))
    with pytest.raises(fk.ParameterError, match="For a list of rules, use print"):
        fk.plot.waterfall(listed, X)
    levels = fk.RuleEnsemble.of(
        [fk.WeightedRule(RULES[0], 2.0)], levels=("low", "high"), thresholds=[1.0]
    )
    ax = fk.plot.waterfall(Explained(levels), X)
    assert [line.get_xdata()[0] for line in ax.get_lines()][-1] == 1.0


def colours(ax):
    """Return the colours of the bars by their labels."""
    faces = (matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches)
    return dict(zip(ticks(ax), faces, strict=False))  # the largest parts come first


@pytest.mark.parametrize("row", range(6))
def test_a_class_has_one_colour(row):
    """A class has the colour of its number; parts of a number have those of the first classes."""
    X = {name: values[row : row + 1] for name, values in TABLE.items()}
    for rules in (votes("yes", "no", "yes"), votes("no", "no", "yes"), number()):
        weights, steps = fk.plot.rule_weights(rules), fk.plot.waterfall(Explained(rules), X)
        known = colours(weights)
        told = {text: face for text, face in colours(steps).items() if text in known}
        assert told.items() <= known.items()
        assert told or not rules.covers(X).any()
    three = votes("a", "b", "c", classes="abc", intercept=(0, 0, 0))
    drawn = colours(fk.plot.waterfall(Explained(three), X, label="b", against="c"))
    known = colours(fk.plot.rule_weights(three))
    for text, cover in zip(map(str, RULES[1:]), three.covers(X)[0, 1:], strict=True):
        assert drawn.get(text) == (known[text] if cover else None)


def test_linear_terms_say_what_their_weights_give():
    term = fk.WeightedRule(LinearTerm("size", 2, 6), 2.0, "no", "yes")
    rules = fk.RuleEnsemble.of([term], ("no", "yes"))
    assert ticks(fk.plot.rule_weights(rules)) == ["+0.5 per unit of size (from 2 to 6)"]
    ax = fk.plot.waterfall(Explained(rules), {"size": [3], "kind": ["a"]}, label="yes")
    assert ticks(ax)[1] == "-0.5 per unit of size (from 2 to 6)"
    assert widths(ax)[1] == -0.5


def test_overlap_counts_shared_rows():
    rules = votes("yes", "no", "yes")
    covers = rules.covers(TABLE)
    ax = fk.plot.rule_overlap(rules, TABLE)
    expected = [[int((a & b).sum()) for b in covers.T] for a in covers.T]
    assert [int(text.get_text()) for text in ax.texts] == np.ravel(expected).tolist()
    either = [[int((a | b).sum()) for b in covers.T] for a in covers.T]
    np.testing.assert_allclose(ax.images[0].get_array(), np.array(expected) / either)
    assert ticks(ax) == ["size >= 3  (1)", "kind = a  (2)", "size <= 4 & kind = b  (3)"]
    never = fk.RuleEnsemble.of([fk.WeightedRule(fk.rule("size >= 99"), 1.0)])
    assert fk.plot.rule_overlap(never, TABLE).images[0].get_array().tolist() == [[0.0]]


def test_coverage_and_precision():
    y = np.array(["no", "no", "yes", "yes", "yes", "no"])
    rules = votes("yes", "no", "yes")
    ax = fk.plot.coverage_precision(rules, TABLE, y)
    points = {c.get_label(): c.get_offsets().data.tolist() for c in ax.collections}
    for k, name in enumerate(rules.classes):
        expected = [
            [cover.mean(), (y[cover] == name).mean()]
            for cover, item in zip(rules.covers(TABLE).T, rules, strict=True)
            if item.winner == name
        ]
        np.testing.assert_allclose(points[f"for {name}"], expected, err_msg=str(k))
    assert {line.get_ydata()[0] for line in ax.get_lines()} == {0.5}
    ax = fk.plot.coverage_precision(rules, named=1)
    assert ax.collections[1].get_offsets().data.tolist() == [[0.5, 0.75]] * 2
    assert [t.get_text() for t in ax.texts if t.arrow_patch is not None] == ["size >= 3"]
    items = (fk.ClassRule(RULES[0], "x", (3, 1)), fk.ClassRule(RULES[1], "y", (0, 2)))
    ax = fk.plot.coverage_precision(fk.RuleList(items, ("x", "y"), "y", (1, 3)))
    assert [c.get_offsets().data.tolist() for c in ax.collections] == [[[0.4, 0.75]], [[0.2, 1.0]]]
    assert [line.get_ydata()[0] for line in ax.get_lines()] == [0.4, 0.6]
    for given, sentence in (
        ((fk.RuleSet(items, ("x", "y")),), "share rows. Pass X and y"),
        ((number(), TABLE, y), "predict a number"),
        ((rules, TABLE), "X and y belong together"),
        ((fk.RuleEnsemble.of([fk.WeightedRule(RULES[0], 1.0, 0, 1)], (0, 1)),), "Pass X and y"),
    ):
        with pytest.raises(fk.ParameterError, match=sentence):
            fk.plot.coverage_precision(*given)


def test_gram_is_ordered_by_class():
    generator = np.random.default_rng(0)
    X, y = generator.integers(0, 2, (12, 5)), generator.choice(["b", "a", "c"], 12)
    k = fk.kernel("a & b")
    ax = fk.plot.gram(k, X, y)
    order = np.argsort(y, kind="stable")
    assert ax.images[0].get_array().tolist() == k(X)[np.ix_(order, order)].tolist()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]
    ends = np.cumsum([np.count_nonzero(y == c) for c in "ab"]) - 0.5
    assert sorted({line.get_xdata()[0] for line in ax.get_lines()} - {0}) == ends.tolist()
    numbers = generator.normal(size=12)
    found = fk.plot.gram(k(X) - 3.0, y=numbers)
    order = np.argsort(numbers)
    assert found.images[0].get_array().tolist() == (k(X) - 3.0)[np.ix_(order, order)].tolist()
    assert found.images[0].get_cmap().name == style.DIVERGING
    assert fk.plot.gram(k, X).get_xlabel() == "12 rows"
    table = {"size": [*TABLE["size"]] * 2, "kind": [*TABLE["kind"]] * 2}
    svm = fk.FormulaSVC("a").fit(table, ["no", "no", "yes", "yes", "yes", "no"] * 2)
    K = svm.gram(table)
    assert np.array_equal(np.diag(K), np.ones(12))
    few = svm.gram(table, {n: v[:3] for n, v in table.items()})
    np.testing.assert_allclose(few, K[:, :3], rtol=1e-14)
    assert fk.plot.gram(svm, table).images[0].get_array().tolist() == K.tolist()


def test_kernel_pca_is_scikit_learns():
    from sklearn.decomposition import KernelPCA

    generator = np.random.default_rng(1)
    X, y = generator.integers(0, 2, (20, 6)), np.repeat(["no", "yes"], 10)
    K = fk.kernel("a & b")(X)
    ax = fk.plot.kernel_pca(fk.kernel("a & b"), X, y, components=(0, 2))
    theirs = KernelPCA(3, kernel="precomputed").fit_transform(K)[:, [0, 2]]
    ours = np.concatenate([points.get_offsets().data for points in ax.collections])
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-9)
    assert [points.get_label() for points in ax.collections] == ["no", "yes"]
    assert ax.get_ylabel().startswith("component 3: ")
    ax = fk.plot.kernel_pca(K, y=generator.normal(size=20))
    assert len(ax.collections) == 1
    for given, kind, sentence in (
        ({"components": (0, 20)}, fk.ParameterError, "below the number of rows, 20"),
        ({"components": 3}, fk.ParameterError, "expected two integers"),
        ({"y": [1, 2]}, fk.DataError, r"y has shape \(2,\); expected \(20,\)"),
    ):
        with pytest.raises(kind, match=sentence):
            fk.plot.kernel_pca(K, **given)


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        ((fk.kernel("a"),), fk.ParameterError, "a kernel needs rows. Pass X"),
        (("a & b", [[1, 0]]), fk.ParameterError, "this is str; expected a kernel"),
        ((np.ones((2, 3)),), fk.DataError, r"shape \(2, 3\); expected \(n_rows, n_rows\)"),
        (([[np.nan]],), fk.DataError, "not finite"),
        ((fk.FormulaSVC(), [[1]]), NotFittedError, "this FormulaSVC is not fitted"),
    ],
)
def test_what_is_no_kernel_is_refused(given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        fk.plot.gram(*given)


RESULTS = {
    "C": np.array([1.0, 100.0, 1.0, 100.0]),
    "depth_penalty": np.array([2.0, 2.0, 4.0, 4.0]),
    "mean_score": np.array([0.5, 0.75, np.nan, 0.6]),
    "std_score": np.array([0.2, 0.1, np.nan, 0.3]),
    "mean_rules": np.array([3.0, 9.0, np.nan, 5.0]),
} | {f"split{k}_score": np.zeros(4) for k in range(5)}


def test_paths_of_a_cross_validation():
    ax = fk.plot.cv_results(SimpleNamespace(cv_results_=RESULTS, best_index_=1))
    lines = ax.containers
    points = [line.lines[0].get_xydata().tolist() for line in lines]
    assert points == [[[1.0, 0.5], [100.0, 0.75]], [[100.0, 0.6]]]
    bars = [[s[:, 1].tolist() for s in line.lines[2][0].get_segments()] for line in lines]
    np.testing.assert_allclose(bars[0], [[0.4, 0.6], [0.7, 0.8]])  # 0.2 and 0.1, over √4
    assert [line.get_label() for line in lines] == ["depth penalty 2", "depth penalty 4"]
    assert ax.get_xscale() == "log"
    assert ax.collections[-1].get_offsets().data.tolist() == [[100.0, 0.75]]
    ax = fk.plot.cv_results(RESULTS, x="mean_rules")
    assert ax.get_lines()[0].get_xydata().tolist() == [[3.0, 0.5], [9.0, 0.75]]
    with pytest.raises(fk.ParameterError, match="x='depth'"):
        fk.plot.cv_results(RESULTS, x="depth")
    with pytest.raises(fk.ParameterError, match="no setting has a score"):
        fk.plot.cv_results(RESULTS | {"mean_score": np.full(4, np.nan)})
    model = fk.HKLClassifier()
    model.rules_ = number()
    with pytest.raises(fk.ParameterError, match="HKLClassifier has no cv_results_"):
        fk.plot.cv_results(model)


@pytest.mark.parametrize(
    ("draw", "model"),
    [
        (fk.plot.rule_weights, fk.HKLClassifier()),
        (fk.plot.rule_counts, fk.RuleListClassifier()),
        (fk.plot.history, fk.PRLClassifier()),
        (fk.plot.cv_results, fk.HKLClassifierCV()),
        (fk.plot.search_results, fk.FormulaSearch()),
    ],
)
def test_what_is_not_fitted_is_refused(draw, model):
    with pytest.raises(NotFittedError, match=f"this {type(model).__name__} is not fitted. Call"):
        draw(model)
    with pytest.raises(fk.ParameterError, match="this is Variable; expected"):
        draw(fk.parse("a"))


def test_other_refusals():
    with pytest.raises(fk.ParameterError, match="the model has no rules"):
        fk.plot.rule_weights(fk.RuleEnsemble.of([], (0, 1)))
    with pytest.raises(fk.ParameterError, match="top=0; expected"):
        fk.plot.rule_weights(number(), top=0)
    with pytest.raises(fk.ParameterError, match="ax is int; expected matplotlib axes"):
        fk.plot.rule_weights(number(), ax=3)
    svm = fk.FormulaSVC()
    svm.kernel_ = fk.kernel("a")
    with pytest.raises(fk.ParameterError, match=r"Pass model.rules\(\)"):
        fk.plot.rule_weights(svm)


def test_given_axes_are_used():
    ax, other = matplotlib.pyplot.figure().subplots(1, 2)
    assert fk.plot.rule_weights(number(), ax=ax) is ax
    assert fk.plot.rule_weights(number(), ax=other) is other
    assert fk.plot.gram(np.eye(2), ax=ax) is ax
    assert len(matplotlib.pyplot.get_fignums()) == 1


@pytest.mark.parametrize("width", [3.3, 6.4])
def test_long_rules_are_not_cut(width):
    text = " & ".join(f"`a column of a long name {k}` = value{k}" for k in range(6)) + " & c = $x$"
    items = [fk.WeightedRule(fk.rule(text.replace("$x$", "x") + f" & n >= {k}"), 1.0 + k)
             for k in range(4)]  # fmt: skip
    items.append(fk.WeightedRule(fk.rule('price = "$5$"'), 9.0))
    ax = matplotlib.pyplot.figure(figsize=(width, 4), layout="constrained").subplots()
    fk.plot.rule_weights(fk.RuleEnsemble.of(items), ax=ax)
    ax.figure.canvas.draw()
    boxes = [tick.get_window_extent() for tick in ax.get_yticklabels()]
    assert all(box.x0 >= 0 for box in boxes)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert ax.bbox.width > 0.3 * ax.figure.bbox.width
    assert ticks(ax)[1].endswith("…")


def test_text_follows_dark_styles():
    with matplotlib.style.context("dark_background"):
        ax = fk.plot.waterfall(Explained(number()), {"size": [3], "kind": ["a"]})
        lines = {matplotlib.colors.to_hex(line.get_color()) for line in ax.get_lines()}
    assert lines == {"#ffffff"}


#: What eyes without cones for red (protanopia) and green (deuteranopia) make of linear RGB.
#: Machado, Oliveira & Fernandes (2009), severity 1.  doi:10.1109/TVCG.2009.113
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def linear(colour):
    parts = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(parts):
    """CIE L*a*b* of linear RGB."""
    to_xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    xyz = to_xyz @ np.clip(parts, 0, 1) / [0.9505, 1, 1.0888]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", BLINDNESS)
def test_colours_are_told_apart(eyes):
    seen = [lab(np.array(BLINDNESS[eyes]) @ linear(colour)) for colour in style.COLOURS]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(distances) > 12  # 2.3 is just noticeable
    assert np.linalg.norm(seen[0] - seen[1]) > 50  # two classes


@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_colours_have_contrast(ground):
    def luminance(colour):
        return linear(colour) @ [0.2126, 0.7152, 0.0722] + 0.05

    for colour in style.COLOURS:
        low, high = sorted([luminance(colour), luminance(ground)])
        assert high / low >= 3


def test_every_picture_is_documented():
    """Docstrings have the same sections in the same order."""
    for name in fk.plot.__all__:
        text = inspect.getdoc(getattr(fk.plot, name))
        heads = re.findall(r"\n(\w+)\n-+\n", text)
        assert [head for head in heads if head not in ("Notes", "References")] == [
            "Parameters", "Returns", "Raises", "Examples",
        ]  # fmt: skip
        assert "MissingDependencyError" in text
