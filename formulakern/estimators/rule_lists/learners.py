"""The parameters of a rule list: checked before work begins, and turned into a learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from formulakern.checks import check_choice, check_integer, check_number
from formulakern.estimators.targets import random_source
from formulakern.learning.covering.cn2 import BeamOptions, cn2_list, cn2_set
from formulakern.learning.covering.one_rule import one_rule
from formulakern.learning.covering.ripper import RipperOptions, ripper
from formulakern.learning.covering.sequential import LearnedRules, TrainingTable

__all__ = ["LEARNERS", "SHORT", "covering_learner"]

LEARNERS = ("ripper", "irep", "cn2", "cn2-unordered", "oner", "optimal")
#: What a limit of None is, and what it is for lists that are proven to be optimal.
UNLIMITED = 2**31
SHORT = {"max_rules": 3, "max_conditions": 2}

Learner: TypeAlias = Callable[[TrainingTable], LearnedRules]


def covering_learner(estimator: Any) -> Learner:
    """Check the parameters of an estimator; its learner, if that is one of sequential covering.

    Parameters
    ----------
    estimator : RuleListClassifier

    Raises
    ------
    ParameterError
        If one is out of its range.
    """
    check_choice("learner", estimator.learner, LEARNERS)
    for name in ("max_rules", "max_conditions"):
        check_integer(name, getattr(estimator, name), otherwise="None for the default")
    check_integer("optimizations", estimator.optimizations, 0)
    check_integer("beam_width", estimator.beam_width)
    check_integer("cut_points", estimator.cut_points)
    check_number("min_weight", estimator.min_weight, 0, otherwise="None for the default")
    check_number("significance", estimator.significance, 0, np.nextafter(1, 0))
    check_number("min_bucket", estimator.min_bucket, 0, above=True)
    check_number("penalty", estimator.penalty, 0)
    check_number("tol", estimator.tol, 0)
    check_number("time_limit", estimator.time_limit, 0, otherwise="None for no limit")
    limits = [
        UNLIMITED if limit is None else int(limit)
        for limit in (estimator.max_conditions, estimator.max_rules)
    ]
    least = None if estimator.min_weight is None else float(estimator.min_weight)
    if estimator.learner == "oner":
        return partial(one_rule, min_bucket=float(estimator.min_bucket))
    if estimator.learner in ("cn2", "cn2-unordered"):
        beam = BeamOptions(
            int(estimator.beam_width),
            float(estimator.significance),
            1.0 if least is None else least,
            *limits,
        )
        return partial(cn2_list if estimator.learner == "cn2" else cn2_set, options=beam)
    options = RipperOptions(
        estimator.learner == "ripper",
        int(estimator.optimizations),
        2.0 if least is None else least,
        *limits,
    )
    seed = random_source(estimator.random_state).randint(2**31 - 1, size=4)
    return partial(ripper, options=options, generator=np.random.default_rng(seed))
