"""scikit-learn's CalibratedClassifierCV gives probabilities to every classifier."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

import formulakern as fk
from formulakern.files.models import save

MODELS = [
    fk.FormulaSVC("a", decision_function_shape="ovr"),
    fk.FormulaSVCCV(Cs=[1, 10]),
    fk.FormulaMKL(("a", "a & b")),
    fk.FormulaSearch(("a", "a & b"), cv=2, random_state=0),
    fk.PRLClassifier(degree=1),
    fk.HKLClassifier(loss="hinge", C=10, tol=0.1),
    fk.HKLClassifierCV([10], [2], cv=2, loss="squared_hinge", tol=0.1),
]


def table(n=120, seed=0, classes=3):
    """Rows whose class is uncertain, and the probabilities of classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"kind": rng.choice(list("xyz"), n), "size": rng.normal(size=n), "old": rng.random(n) < 0.5}
    )
    score = 2.0 * (frame["kind"] == "x") + (frame["size"] > 0) - 1.0
    above = expit(3 * score.to_numpy()[:, None] - np.array([0.0, 2.0])[: classes - 1])
    chances = -np.diff(above, prepend=1, append=0, axis=1)
    drawn = (rng.random((n, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    return frame, np.array(["high", "low", "mid"])[[1, 2, 0]][drawn]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_new_rows(model, classes):
    X, y = table(classes=classes)
    Z, truth = table(600, 1, classes)
    assert not hasattr(model, "predict_proba")
    calibrated = CalibratedClassifierCV(clone(model), cv=3, ensemble=False).fit(X, y)
    found = calibrated.predict_proba(Z)
    assert found.shape == (600, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    names, counts = np.unique(truth, return_counts=True)
    ignorant = log_loss(truth, np.tile(counts / 600, (600, 1)), labels=names)
    assert log_loss(truth, found, labels=names) < 0.87 * ignorant
    [inside] = calibrated.calibrated_classifiers_
    plain = clone(model).fit(X, y)
    np.testing.assert_array_equal(plain.predict(Z), inside.estimator.predict(Z))


def test_any_table_can_hold_rows_out():
    import polars

    X, y = table()
    frames = [polars.DataFrame({name: X[name].tolist() for name in X}), fk.Table.of(X)]
    bits = (X["old"].to_numpy()[:, None] ^ (X[["kind"]].to_numpy() == list("xyz"))).astype(int)
    for plain, others in ((X, frames), (bits, [scipy.sparse.csr_array(bits)])):
        expected = CalibratedClassifierCV(fk.FormulaSVC(), ensemble=False).fit(plain, y)
        for given in others:
            model = CalibratedClassifierCV(fk.FormulaSVC(), ensemble=False).fit(given, y)
            found = model.predict_proba(given)
            np.testing.assert_allclose(found, expected.predict_proba(plain), atol=1e-6)


def test_an_ordered_hinge_or_string_model_has_them_too(tmp_path):
    """And is read as it was written."""
    X, y = table()
    strings = ["ACG", "CGT", "GGA", "ACT"] * 30
    numbers = X[["size"]].assign(double=X["size"] * 2).to_numpy()
    for model, rows in (
        (fk.HKLClassifier(loss="hinge", C=10, tol=0.1), X),
        (fk.StringSVC("spectrum(2)"), strings),
        (fk.ChoquetSVC(C=10.0), numbers),
    ):
        calibrated = CalibratedClassifierCV(model, ensemble=False).fit(rows, y)
        path = tmp_path / "model.json"
        save(calibrated, path)
        found = calibrated.predict_proba(rows)
        np.testing.assert_array_equal(fk.load(path).predict_proba(rows), found)


def test_the_hinge_loss_says_how():
    with pytest.raises(AttributeError) as told:
        _ = fk.HKLClassifier(loss="hinge").predict_proba
    assert "CalibratedClassifierCV" in str(told.value.__cause__)
