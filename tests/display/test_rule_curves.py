"""Curves of a score against the number of rules."""

import numpy as np
import pytest

import formulakern as fk
from formulakern.display.rule_curves import plot_rule_curves

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


def test_several_learners_on_given_axes():
    from matplotlib import pyplot

    axes = pyplot.figure().subplots()
    curves = {"a": ([4, 1, 2], [0.9, 0.5, np.nan]), "b": (np.arange(3), np.array([0.1, 0.2, 0.2]))}
    assert plot_rule_curves(curves, "macro F1", axes) is axes
    drawn = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert drawn == {"a": [[1, 0.5], [4, 0.9]], "b": [[0, 0.1], [1, 0.2], [2, 0.2]]}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("number of rules", "macro F1")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert plot_rule_curves({}).get_legend() is None
    pyplot.close("all")


@pytest.mark.parametrize("curve", [([1, 2], [0.5]), (3, 4), ([[1]], [[2]])])
def test_what_is_no_curve_is_refused(curve):
    with pytest.raises(fk.ParameterError, match=r"curve 'a' .* expected two lists of one length"):
        plot_rule_curves({"a": curve})
