"""A rule learner is one module and one row: ``fk.``, files, command line and report find it."""

import numpy as np
import pytest
from sklearn.base import clone

import formulakern as fk
from formulakern import registry
from formulakern.cli.parser import main

MODULE = '''
from dataclasses import dataclass

import numpy as np

from formulakern.estimators.rule_model import RuleClassifier
from formulakern.rules.features import Conjunction


@dataclass(eq=False, repr=False)
class BestPropositions(RuleClassifier):
    """For each class the propositions that are most of this class, one rule each."""

    n_rules: int = 3

    def _votes(self, table, codes, weights, deadline):
        covers, votes = table.unpacked().astype(float), []
        for k in range(len(self.classes_)):
            inside = np.where(codes == k, weights, 0.0) @ covers
            shares = inside / np.maximum(weights @ covers, 1e-9)
            for j in np.argsort(-shares, kind="stable")[: self.n_rules].tolist():
                other = (k + 1) % len(self.classes_)
                votes.append((Conjunction((j,)), float(shares[j]), k, other))
        return votes, None
'''


@pytest.fixture
def learner(tmp_path, monkeypatch):
    (tmp_path / "best_propositions.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    row = registry.Learner("BestPropositions", "best_propositions", "the best propositions")
    monkeypatch.setitem(registry.LEARNERS, "best", row)
    return tmp_path


def test_a_new_learner_is_reached_everywhere(learner, capsys):
    X = {"odor": ["foul", "none", "anise", "foul"] * 9, "ring": [1, 0, 0, 1] * 9}
    y = ["bad", "good", "good", "bad"] * 9
    model = fk.BestPropositions(n_rules=2).fit(X, y)
    assert model.score(X, y) == 1
    assert {item.winner for item in model.rules_} == {"bad", "good"}
    assert {item.precision for item in model.rules_} == {1.0}
    assert "odor = foul" in str(model.explain({"odor": ["foul"], "ring": [1]}))
    assert model.to_sql().startswith("SELECT")
    assert clone(model).get_params()["n_rules"] == 2
    model.save(learner / "own.json")
    np.testing.assert_array_equal(fk.load(learner / "own.json").predict(X), y)
    model.report(learner / "own.html", X, y)
    assert "BestPropositions" in (learner / "own.html").read_text(encoding="utf-8")
    with pytest.raises(fk.DataError, match="class"):
        fk.BestPropositions().fit(X, ["bad"] * 36)

    table = learner / "mushrooms.csv"
    rows = zip(X["odor"], X["ring"], y, strict=True)
    table.write_text("odor,ring,class\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    path = learner / "model.json"
    command = ["learn", str(table), "--model", "best", "--set", "n_rules=2", "--cv", "2"]
    assert main([*command, "-o", str(path)]) == 0
    assert "odor = foul" in capsys.readouterr().out
    assert main(["predict", str(path), str(table)]) == 0
    assert capsys.readouterr().out.count("bad") == 36
    assert main(["report", str(path), str(table), "-o", str(learner / "page.html")]) == 0
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    assert "the best propositions" in capsys.readouterr().out


def test_every_learner_is_public_and_documented():
    for row in registry.LEARNERS.values():
        made = getattr(fk, row.estimator)
        assert made.__module__ == row.module
        assert row.estimator in fk.__all__
        assert made().get_params() == clone(made()).get_params()
