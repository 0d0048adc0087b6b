import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import datasets
from formulakern.estimators.svm import FormulaSVC

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "cut points are quantiles of the rows, and libsvm stops at a tolerance",
}


@parametrize_with_checks(
    [FormulaSVC(), FormulaSVC("a -> b", "free", normalize=False)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
