"""Queries of rules, answered by databases, against what the rules predict."""

from collections import Counter

import numpy as np
import pytest

from tests.engines import ENGINES, why_no_postgres
from tests.sql_tables import differing, random_case

WITHOUT = {"postgres": why_no_postgres()}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    """The name of an engine, and a function that executes there."""
    if reason := WITHOUT.get(request.param):
        pytest.skip(reason)
    with ENGINES[request.param]() as execute:
        yield request.param, execute


def test_generated_tables(engine):
    """Every row of every table, for every kind of rules, whatever types are said."""
    name, execute = engine
    rng = np.random.default_rng(0)
    kinds = Counter()
    for _ in range(150):
        case = random_case(rng, name)
        kinds[type(case.model).__name__] += 1
        assert differing(case, name, execute) == []
    assert min(kinds.values()) > 10
    assert len(kinds) == 4
