"""What holds for every method, whatever it publishes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass
from hashlib import sha256

import numpy as np
import pytest

from discreet import methods
from discreet.data.record_keys import N_KEYS
from discreet.errors import InputError
from discreet.methods import METHODS, SUPPRESSION, Traits, protect, traits_of, uses_secret, with_options
from discreet.problem import Problem
from discreet.protection import Decision, suppress
from discreet.testing import cross_table, pose

SECRET = sha256(b"the same in every run").hexdigest()
OPTIONS = {name: {"base": 5} for name in METHODS if traits_of(METHODS[name]).kind == "rounding"}


@pytest.fixture(params=METHODS)
def name(request) -> str:
    return request.param


def small(name: str) -> Problem:
    """Counts in four rows and columns, two of them sensitive."""
    rng = np.random.default_rng(3)
    table = cross_table("abcd", "wxyz", rng.integers(6, 40, (4, 4)).tolist())
    count = table.value.astype(np.int64)
    table = table.with_columns(is_count=True, count=count, extra={"key": (count * 7919.0) % N_KEYS})
    return pose(table, {"a × w": 2.0, "c × y": 2.0})


def protected(name: str, problem: Problem, **more: object):
    return protect(problem, with_options(name, **OPTIONS.get(name, {})), secret=SECRET, time_limit=20, **more)


def test_it_says_what_it_can_do(name):
    method = METHODS[name]
    assert isinstance(vars(method)["traits"], Traits)
    assert method.name == name
    assert (method.__doc__ or "").strip()
    assert (name in SUPPRESSION) == traits_of(method).suppresses


def test_its_options_are_fields_of_a_frozen_dataclass_that_can_be_imported(name):
    method = METHODS[name]
    assert is_dataclass(method)
    assert getattr(methods, method.__name__) is method
    made = with_options(name)
    assert made == method()
    for option in fields(method):
        with pytest.raises(FrozenInstanceError):
            setattr(made, option.name, None)


def test_what_it_publishes_holds_the_truth_and_leaves_the_problem_alone(name):
    problem = small(name)
    before = problem.digest
    found = protected(name, problem)
    value = problem.table.value
    assert problem.digest == before
    assert found.problem.table is problem.table or np.array_equal(found.problem.table.value, value)
    assert np.all((found.lower <= value) & (value <= found.upper))
    assert np.all(np.isnan(found.published) == found.suppressed)
    assert found.report.method == name
    exactly = found.decision == Decision.PUBLISHED
    assert np.array_equal(found.published[exactly], value[exactly])
    if traits_of(METHODS[name]).suppresses:
        assert found.only_suppresses
        assert found.suppressed[problem.primaries].all()


def test_the_same_secret_and_seed_give_the_same_result(name):
    problem = small(name)
    first, second = protected(name, problem), protected(name, problem)
    for column in ("published", "lower", "upper"):
        np.testing.assert_array_equal(getattr(first, column), getattr(second, column))
    assert (first.report.secret == SECRET) == uses_secret(with_options(name))


def test_a_bound_is_proven_by_those_that_say_so_and_is_not_above_the_cost(name):
    report = protected(name, small(name)).report
    if not traits_of(METHODS[name]).proves_bound:
        assert report.bound is None
    if report.bound is not None:
        assert report.bound <= report.cost * (1 + 1e-9)


def test_only_suppression_takes_a_start(name):
    problem = small(name)
    start = np.ones(len(problem), dtype=bool)
    if traits_of(METHODS[name]).suppresses:
        assert protected(name, problem, start=start).only_suppresses
    else:
        with pytest.raises(InputError, match="suppresses no cells: start"):
            protected(name, problem, start=start)


class Everything:
    """Suppresses all that may be."""

    name = "everything"

    def protect(self, problem, run):
        return suppress(problem, problem.status != 2)


def test_a_method_of_ones_own_is_treated_like_the_others():
    """What it suppresses without need is its own decision; what can be computed all the same is published or protected."""
    problem = small("everything")
    found = protect(problem, Everything())
    assert traits_of(Everything()) == Traits()
    assert found.only_suppresses
    assert found.suppressed[problem.primaries].all()
