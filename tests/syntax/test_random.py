from collections import Counter

import pytest

import formulakern as fk


def test_equal_seeds_give_equal_formulas_and_different_ones_differ():
    drawn = [fk.random_formula(random_state=seed) for seed in range(50)]
    assert drawn == [fk.random_formula(random_state=seed) for seed in range(50)]
    assert len(set(drawn)) > 30


def test_every_leaf_is_a_variable_of_its_own_in_order_of_the_text():
    for seed in range(200):
        formula = fk.random_formula(p=0.6, random_state=seed)
        names = [variable.name for variable in formula.variables]
        assert names == [f"x{i + 1}" for i in range(formula.n_leaves)]
        assert fk.parse(str(formula)) == formula


def test_root_is_never_a_bare_literal_and_connectives_are_drawn_evenly():
    roots = Counter()
    for seed in range(3000):
        roots[fk.random_formula(p=0.0, random_state=seed).connective.name] += 1
    assert len(roots) == 11
    # a double negation at the root is a "not" as well: ten connectives share 10/11
    assert all(0.06 < count / 3000 < 0.13 for count in roots.values())


@pytest.mark.parametrize(("p", "eta"), [(-0.1, 0.7), (1.0, 0.7), (0.4, 0.0), (0.4, -1)])
def test_parameters_out_of_range_are_refused(p, eta):
    with pytest.raises(fk.ParameterError, match=r"^(p|eta)=.*; expected"):
        fk.random_formula(p, eta)


def test_runaway_growth_is_refused():
    with pytest.raises(fk.FormulaSizeError, match="smaller p"):
        fk.random_formula(p=0.999, eta=0.001, random_state=0)
