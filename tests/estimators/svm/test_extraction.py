"""Rules of a machine: every heaviest feature, and nothing but, against enumeration."""

import itertools
import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

import formulakern as fk
from formulakern import Variable, boolean
from formulakern.deadline import Deadline
from formulakern.estimators.base import propositions_of
from formulakern.learning.kernel_machines import pair_weights
from formulakern.syntax.formula import evaluate
from tests import oracle

RNG = np.random.default_rng(0)


def machine(kernel, n=5, rows=30, classes=2, C=10.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, n))
    X[0], X[1] = 0, 1  # a row without and one with everything
    y = (X[:, 0] & X[:, 1]) | (1 - X[:, 2])
    y[rng.random(rows) < 0.15] ^= 1
    if classes > 2:
        y = (y + X[:, 3] * rng.integers(0, 2, rows)) % classes
    names = np.array(["no", "yes", "other"])
    return SVC(kernel=kernel, C=C, tol=1e-8).fit(X, y), X, y, names


def enumerated(formula, X, weights, reading):
    """|Σ weights·φ| of every different Boolean feature, largest first, by substitution."""
    variables = list(formula.variables)
    if reading == "free":
        assert len(variables) == formula.n_leaves
    once = {}
    for choice in itertools.product(range(X.shape[1]), repeat=len(variables)):
        if reading == "distinct" and len(set(choice)) < len(choice):
            continue
        known = dict(zip(variables, choice, strict=True))
        truth = evaluate(formula, lambda leaf, known=known: X[:, known[leaf]].astype(bool))
        truth = np.broadcast_to(truth, len(X))
        once[oracle._boolean_function(formula, variables, choice)] = weights @ truth
    values = np.abs(list(once.values()))
    return np.sort(values)[::-1]


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
@pytest.mark.parametrize(
    "text", ["a & b & c", "a | b", "a & ~b", "(a & ~b) | c", "a ^ b", "a -> b", "x", "~a & ~b"]
)
def test_the_heaviest_features_are_found(reading, text):
    kernel = fk.kernel(text, variables=reading)
    svc, X, y, _ = machine(kernel)
    result = fk.extract_rules(svc, kernel, X, y, top=12)
    assert result.proven
    weights = svc.dual_coef_[0]
    expected = enumerated(fk.parse(text), X[svc.support_], weights, reading)
    got = np.array([item.weight for item in result])
    np.testing.assert_allclose(got, expected[: len(got)], atol=1e-7)
    assert len(got) >= min(12, int((expected > 1e-7).sum()))  # the rest is the solver's noise
    if len(expected) > 12:
        assert expected[12] <= result.bounds[1, 0] + 1e-7
    check_rules(result, svc, X, y)


def ordered_machine(kernel):
    """A machine on the propositions at every cut point of two numbers."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 7, (40, 2))
    X = np.concatenate([c[:, None] <= np.arange(6) for c in numbers.T], axis=1).astype(np.int64)
    y = (numbers[:, 0] > 2) ^ (numbers[:, 1] > 3) ^ (rng.random(40) < 0.1)
    return SVC(kernel=kernel, C=10.0, tol=1e-8).fit(X, y), X, y


@pytest.mark.parametrize("text", ["a & b & c", "a | b", "(a & ~b) | c"])
def test_the_heaviest_features_of_ordered_propositions_are_found(text):
    """Propositions at every cut point are bounded together."""
    kernel = fk.kernel(text, variables="distinct")
    svc, X, y = ordered_machine(kernel)
    result = fk.extract_rules(svc, kernel, X, y, top=12)
    assert result.proven
    weights = svc.dual_coef_[0]
    expected = enumerated(fk.parse(text), X[svc.support_], weights, "distinct")
    np.testing.assert_allclose([item.weight for item in result], expected[:12], atol=1e-7)
    assert expected[12] <= result.bounds[True, False] + 1e-7
    check_rules(result, svc, X, y)


def check_rules(result, svc, X, y, factor=1.0):
    """Each rule, evaluated as a rule, has the stated weight, support and precision."""
    table = {f"x{j}": X[:, j].astype(bool) for j in range(X.shape[1])}
    weights = svc.dual_coef_[0] * factor
    for item in result:
        truth = item.rule(table)
        value = weights @ truth[svc.support_]
        assert abs(value) == pytest.approx(item.weight, rel=1e-6, abs=1e-9)
        assert (value > 0) == (item.winner == svc.classes_[1])
        assert item.support == truth.sum()
        assert item.coverage == pytest.approx(truth.mean())
        if truth.any():
            assert item.precision == pytest.approx(np.mean(y[truth] == item.winner))


FAMILIES = {
    "monotone_conjunctive": lambda: boolean.monotone_conjunctive(2),
    "monotone_disjunctive": lambda: boolean.monotone_disjunctive(2),
    "monotone_dnf": lambda: boolean.monotone_dnf(2, 2),
    "monotone_cnf": lambda: boolean.monotone_cnf(2, 2),
    "conjunctive": lambda: boolean.conjunctive(3),
    "disjunctive": lambda: boolean.disjunctive(2),
    "d_dnf": lambda: boolean.d_dnf(3),
    "sadohara_dnf": boolean.sadohara_dnf,
    "sadohara_monotone_dnf": boolean.sadohara_monotone_dnf,
    "parametric": lambda: boolean.parametric_dnf(0.5),
    "parametric monotone": lambda: boolean.parametric_dnf(2.0, monotone=True),
    "all_subsets": boolean.all_subsets,
    "anova": lambda: boolean.anova(2),
    "polynomial": lambda: boolean.polynomial(3, 0.5),
    "choice": lambda: fk.kernel("atleast[2,3](x)", variables="distinct"),
    "exactly": lambda: fk.kernel("exactly[1,3](~x)", variables="distinct"),
    "of formulas": lambda: fk.kernel("all[2](a | b)", variables="distinct"),
    "scaled": lambda: 2.5 * boolean.anova(2),
    "sum": lambda: boolean.anova(1) + 0.5 * fk.kernel("a | b", variables="distinct"),
    "cosine": lambda: boolean.all_subsets().normalized(),
    "cosine of a sum": (boolean.anova(1) + boolean.d_dnf(2)).normalized,
    "probability": lambda: fk.kernel("a & b", variables="distinct", scale="probability"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_all_features_together_are_the_whole_hypothesis(name):
    kernel = FAMILIES[name]()
    svc, X, y, _ = machine(kernel, seed=3)
    result = fk.extract_rules(svc, kernel, X, y, top=100_000)
    assert result.proven
    weights = svc.dual_coef_[0]
    rows = X[svc.support_]
    squared_norm = weights @ kernel(rows) @ weights
    assert sum(item.weight**2 for item in result) == pytest.approx(squared_norm, rel=1e-8)


@pytest.mark.parametrize("name", ["conjunctive", "monotone_disjunctive", "anova", "probability"])
def test_all_features_of_ordered_propositions_are_the_whole_hypothesis(name):
    kernel = FAMILIES[name]()
    svc, X, y = ordered_machine(kernel)
    result = fk.extract_rules(svc, kernel, X, y, top=100_000)
    assert result.proven
    weights, rows = svc.dual_coef_[0], X[svc.support_]
    squared_norm = weights @ kernel(rows) @ weights
    assert sum(item.weight**2 for item in result) == pytest.approx(squared_norm, rel=1e-8)


@pytest.mark.parametrize("name", ["conjunctive", "cosine", "sum", "choice"])
def test_the_top_is_the_head_of_all(name):
    kernel = FAMILIES[name]()
    svc, X, y, _ = machine(kernel, seed=4)
    everything = [item.weight for item in fk.extract_rules(svc, kernel, X, y, top=100_000)]
    some = fk.extract_rules(svc, kernel, X, y, top=5)
    np.testing.assert_allclose([item.weight for item in some], everything[:5], atol=1e-7)
    assert some.bounds[1, 0] >= (everything[5:] or [0.0])[0] * (1 - 1e-9)


def test_products_are_conjunctions_of_features():
    kernel = fk.kernel("a | b") * fk.kernel("~c")
    svc, X, y, _ = machine(kernel, seed=5)
    result = fk.extract_rules(svc, kernel, X, y, top=5)
    expected = enumerated(fk.parse("(a | b) & ~c"), X[svc.support_], svc.dual_coef_[0], "bound")
    np.testing.assert_allclose([item.weight for item in result], expected[:5], atol=1e-7)
    check_rules(result, svc, X, y)


def test_domains_limit_what_is_found():
    domains = {"left": [0, 1], "right": [2, 3, 4]}
    kernel = fk.kernel("a:left & ~b:right", domains=domains)
    svc, X, y, _ = machine(kernel, seed=6)
    result = fk.extract_rules(svc, kernel, X, y, top=100)
    assert 0 < len(result) <= 6
    for item in result:
        first, second = item.rule.columns
        assert first in ("x0", "x1")
        assert second in ("x2", "x3", "x4")


def test_several_classes_give_rules_for_every_pair():
    kernel = boolean.d_dnf(2)
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (60, 5))
    y = np.array(["red", "green", "blue"])[X[:, 0] + X[:, 1]]
    svc = SVC(kernel=kernel, C=10, tol=1e-8).fit(X, y)
    result = fk.extract_rules(svc, kernel, X, y, top=3)
    assert set(result.bounds) == {("blue", "green"), ("blue", "red"), ("green", "red")}
    assert len(result) == 9
    table = {f"x{j}": X[:, j].astype(bool) for j in range(5)}
    for winner, loser, weights in pair_weights(svc):
        values = [
            (weights @ item.rule(table)[svc.support_], item)
            for item in result
            if {item.winner, item.loser} == {winner, loser}
        ]
        assert len(values) == 3
        for value, item in values:
            assert abs(value) == pytest.approx(item.weight, rel=1e-6)
            assert item.winner == (winner if value > 0 else loser)
            right = y == item.winner
            assert item.precision == pytest.approx(right[item.rule(table)].mean())
            assert item.base_rate == pytest.approx(right.mean())


def test_rules_speak_the_words_of_the_table():
    X, y = fk.datasets.tic_tac_toe()
    model = fk.FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
    result = model.rules(top=8)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    names = list(X.names)
    assert {frozenset(names.index(c) for c in item.rule.columns) for item in result} == {
        frozenset(line) for line in lines
    }
    assert all(item.winner == "positive" and item.precision == 1 for item in result)
    assert all(" = x" in str(item.rule) for item in result)
    np.testing.assert_array_equal(
        result.ensemble.covers(X).any(axis=1), np.asarray(y) == "positive"
    )
    assert "Proven" in str(result)


def test_a_time_limit_leaves_a_valid_bound(monkeypatch):
    kernel = fk.kernel("any[3](all[3](x))", variables="distinct")
    svc, X, y, _ = machine(kernel, n=40, rows=150, seed=8)
    with monkeypatch.context() as counted:
        counted.setattr(Deadline, "clock", staticmethod(itertools.count().__next__))
        result = fk.extract_rules(svc, kernel, X, y, top=3, time_limit=10)
    longer = fk.extract_rules(svc, kernel, X, y, top=3, time_limit=0.5)
    assert not result.proven
    assert "time limit" in str(result)
    assert longer[0].weight <= result.bounds[1, 0] * (1 + 1e-9)


def test_progress_is_told():
    kernel = boolean.d_dnf(3)
    svc, X, y, _ = machine(kernel, n=9, rows=80)
    shares = []
    fk.extract_rules(svc, kernel, X, y, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_precomputed_machine_is_read_too():
    kernel = boolean.anova(2)
    svc, X, y, _ = machine(kernel)
    again = SVC(kernel="precomputed", C=10, tol=1e-8).fit(kernel(X), y)
    np.testing.assert_allclose(
        [item.weight for item in fk.extract_rules(again, kernel, X, y)],
        [item.weight for item in fk.extract_rules(svc, kernel, X, y)],
        rtol=1e-5,
    )


def test_another_kernel_is_refused():
    kernel, other = boolean.anova(2), boolean.anova(3)
    svc, X, y, _ = machine(kernel)
    with pytest.raises(fk.ParameterError, match="was trained with"):
        fk.extract_rules(svc, other, X, y)
    again = SVC(kernel="precomputed", C=10).fit(kernel(X), y)
    for wrong in (other, 2 * kernel, 0.5 * kernel, kernel.normalized()):
        with pytest.raises(fk.ParameterError, match="not an optimum"):
            fk.extract_rules(again, wrong, X, y)
    with pytest.raises(fk.ParameterError, match="not an optimum"):
        fk.extract_rules(again, kernel, X[::-1], y)
    with pytest.raises(fk.ParameterError, match="not an optimum"):
        fk.extract_rules(SVC(kernel="rbf").fit(X, y), kernel, X, y)
    linear = fk.kernel("x")
    assert len(fk.extract_rules(SVC(kernel="linear").fit(X, y), linear, X, y, top=5)) == 5


def test_bad_input_is_told():
    kernel = boolean.anova(2)
    svc, X, y, _ = machine(kernel)
    with pytest.raises(fk.ParameterError, match="30 rows, but X has 20"):
        fk.extract_rules(svc, kernel, X[:20], y[:20])
    with pytest.raises(fk.DataError, match="one class per row"):
        fk.extract_rules(svc, kernel, X, y[:20])
    with pytest.raises(fk.ParameterError, match="differs in"):
        fk.extract_rules(svc, kernel, X, y + 1)
    with pytest.raises(fk.ParameterError, match="fitted sklearn"):
        fk.extract_rules(kernel, svc, X, y)
    with pytest.raises(fk.ParameterError, match="kernel of this library"):
        fk.extract_rules(svc, "a & b", X, y)
    with pytest.raises(fk.ParameterError, match="3 names for 5"):
        fk.extract_rules(svc, kernel, X, y, names=["a", "b", "c"])
    for top in (0, -1, 2.5, True):
        with pytest.raises(fk.ParameterError, match="top"):
            fk.extract_rules(svc, kernel, X, y, top=top)
    for kernel in (boolean.tanimoto(), boolean.dnf(2, 2), boolean.anova(1) * boolean.anova(2)):
        svc, X, y, _ = machine(kernel)
        with pytest.raises(fk.ParameterError, match="cannot be listed"):
            fk.extract_rules(svc, kernel, X, y)


def test_names_become_rules_where_they_are_rules():
    leaves = propositions_of(["color = red", "`two words` >= 3", "plain", "two words"])
    assert [str(leaf) for leaf in leaves] == [
        "color = red",
        "`two words` >= 3",
        "plain",
        "`two words`",
    ]
    assert isinstance(leaves[3], Variable)


# -- simplification ---------------------------------------------------------------------------


def test_the_curve_of_tic_tac_toe_reaches_the_machine():
    X, y = fk.datasets.tic_tac_toe()
    y = np.asarray(y)
    train = np.arange(len(y)) % 3 > 0
    model = fk.FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X[train], y[train])
    curve = fk.simplify_svm(model, X[train], y[train], X[~train], y[~train], top=10)
    assert curve.train_accuracy.shape == curve.test_accuracy.shape == (10,)
    assert curve.train_accuracy[7] == 1.0
    assert curve.test_accuracy[7] == 1.0
    assert curve.model_train_accuracy == 1.0
    for k in (1, 8):
        predicted = curve.ensembles[k - 1].predict(X[~train])
        assert np.mean(predicted == y[~train]) == curve.test_accuracy[k - 1]
    assert str(curve).splitlines()[-1].split()[0] == "all"
    pytest.importorskip("pandas")
    assert curve.to_frame().shape == (10, 3)


def test_intercepts_never_do_worse_than_the_largest_class():
    X, y = fk.datasets.balance_scale()
    y = np.asarray(y)
    model = fk.FormulaSVC("a & b", C=1).fit(X, y)
    curve = fk.simplify_svm(model, X, y, top=6)
    largest = max(np.unique(y, return_counts=True)[1]) / len(y)
    assert (curve.train_accuracy >= largest - 1e-12).all()
    assert len(curve.test_accuracy) == 0


@pytest.mark.parametrize("limit", ["auto", 4, 1])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rules_are_chosen(limit, n_classes):
    X, y = fk.datasets.balance_scale()
    y = np.asarray(y)
    of = np.arange(len(y)) if n_classes == 3 else np.flatnonzero(y != "B")
    train, other = of[of % 3 > 0], of[of % 3 == 0]
    model = fk.FormulaSVC("a & b", C=10).fit(X[train], y[train])
    few = fk.simplify_svm(model, X[train], y[train], X[other], y[other], max_rules=limit)
    most = 15 if limit == "auto" else limit
    assert 1 <= len(few.rules) <= most
    assert {str(rule) for rule in few.rules.rules} <= {str(item.rule) for item in few.extraction}
    for rows, reached in ((train, few.rules_train_accuracy), (other, few.rules_test_accuracy)):
        assert reached == np.mean(few.rules.predict(X[rows]) == y[rows])
    if limit == "auto":  # better than as many of the heaviest
        assert few.rules_train_accuracy > few.train_accuracy[14]
    for item in few.rules:
        covered = item.rule(X[train])
        assert item.support == covered.sum()
        assert item.coverage == pytest.approx(covered.mean())
    assert str(few).splitlines()[-2].split()[:2] == [str(len(few.rules)), "chosen"]


def test_chosen_rules_differ_in_the_rows_that_they_cover():
    X = np.random.default_rng(4).integers(0, 2, (120, 4))
    y = X[:, 0] & X[:, 1] | X[:, 2] & X[:, 3]
    X = np.hstack([X, X])  # every rule has others of the same rows
    model = fk.FormulaSVC("a & b", encoder=None).fit(X, y)
    few = fk.simplify_svm(model, X, y)
    covers = few.rules.covers({f"x{j}": column for j, column in enumerate(X.T)})
    assert len(np.unique(covers, axis=1).T) == len(few.rules) > 1
    assert few.rules_train_accuracy == 1.0


def test_without_a_limit_no_rules_are_chosen():
    X, y = fk.datasets.monks(1)
    model = fk.FormulaSVC("a & b", C=1).fit(X, y)
    curve = fk.simplify_svm(model, X, y, top=5, max_rules=None)
    assert curve.rules is curve.ensembles[-1]
    assert curve.rules_train_accuracy == curve.train_accuracy[-1]
    assert "chosen" not in str(curve)
    same = np.asarray(y) == np.asarray(y)[0]  # nothing to choose by
    alone = fk.simplify_svm(model, X[same], np.asarray(y)[same], top=5)
    assert alone.rules is alone.ensembles[-1]
    for wrong in (0, 1.5, "few"):
        expected = f"max_rules={wrong!r}; expected an integer, at least 1, or None for no limit"
        with pytest.raises(fk.ParameterError, match=re.escape(expected)):
            fk.simplify_svm(model, X, y, max_rules=wrong)


def test_simplification_without_an_encoder():
    rng = np.random.default_rng(9)
    X = rng.integers(0, 2, (80, 6))
    y = X[:, 0] & X[:, 1]
    model = fk.FormulaSVC("a & b", encoder=None, C=100).fit(X, y)
    curve = fk.simplify_svm(model, X, y, top=3)
    assert curve.train_accuracy[0] == 1.0
    assert str(curve.ensembles[0][0].rule) == "x0 & x1"


def test_simplification_refuses_what_does_not_fit():
    X, y = fk.datasets.monks(1)
    model = fk.FormulaSVC("a & b", C=1).fit(X, y)
    with pytest.raises(fk.ParameterError, match="belong together"):
        fk.simplify_svm(model, X, y, X)
    with pytest.raises(fk.ParameterError, match="takes a fitted FormulaSVC"):
        fk.simplify_svm(SVC(), X, y)
    with pytest.raises(fk.DataError, match="one class per row"):
        fk.simplify_svm(model, X, np.asarray(y)[:5])


def test_columns_that_are_called_like_constants_are_columns():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(3).integers(0, 2, (40, 4))
    y = X[:, 0] & X[:, 2]
    for names in (["0", "1", "true", "false"], range(4)):
        kernel = fk.kernel("all[2](x)")
        (rule,) = fk.extract_rules(SVC(kernel=kernel).fit(X, y), kernel, X, y, names=names, top=1)
        table = dict(zip(map(str, names), X.astype(bool).T, strict=True))
        np.testing.assert_array_equal(rule.rule(table), y == 1)
        frame = fk.FormulaSVC(kernel, encoder=None).fit(
            pd.DataFrame(X, columns=[*map(str, names)]), y
        )
        assert frame.rules(1)[0].rule == rule.rule


def test_a_column_is_not_repeated_in_a_rule():
    X = np.random.default_rng(8).integers(0, 2, (60, 3))
    y = X[:, 0]
    for text in ("~a & ~b & ~c", "(a | b) & c", "(a & ~b) | c"):
        for item in fk.FormulaSVC(text, encoder=None).fit(X, y).rules(50):
            for part in (item.rule.formula, *item.rule.formula.arguments):
                if str(part.connective and part.connective.name) in ("and", "or"):
                    assert len(set(part.arguments)) == len(part.arguments)


@pytest.mark.parametrize("limit", ["soon", -1, float("nan")])
def test_a_bad_time_limit_is_told(limit):
    X, y = fk.datasets.tic_tac_toe()
    model = fk.FormulaSVC("all[2](x)").fit(X[::9], y[::9])
    with pytest.raises(fk.ParameterError, match="time_limit"):
        model.rules(time_limit=limit)


@pytest.mark.parametrize("encoder", ["encoded before", "one-hot"])
def test_simplification_whatever_encoded_the_table(encoder):
    """Names of encoded columns are rules about a table that is not there, or plain names."""
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"c": random.choice(list("abc"), 80), "d": random.choice(list("xy"), 80)})
    y = ((frame.c == "a") & (frame.d == "x")).astype(int)
    if encoder == "one-hot":
        X, model = frame, fk.FormulaSVC("all[2](x)", encoder=OneHotEncoder())
    else:
        X = fk.PropositionEncoder().set_output(transform="pandas").fit_transform(frame)
        model = fk.FormulaSVC("all[2](x)", encoder=None)
    curve = fk.simplify_svm(model.fit(X, y), X, y, X[:20], y[:20], top=2)
    assert curve.train_accuracy[0] == curve.test_accuracy[0] == 1.0


@pytest.mark.parametrize("encoder", ["auto", None])
def test_simplification_of_sparse_tables_and_lists(encoder):
    X = np.random.default_rng(1).integers(0, 2, (60, 5))
    y = X[:, 0] & X[:, 1]
    for table in (csr_matrix(X), X.tolist()):
        model = fk.FormulaSVC("all[2](x)", encoder=encoder).fit(table, y)
        assert fk.simplify_svm(model, table, y, top=1).train_accuracy == [1.0]
