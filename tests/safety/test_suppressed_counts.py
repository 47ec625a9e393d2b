"""Tables of counts: readers know that a suppressed cell is not zero where zeros are published, and that cells are whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.safety.reader import FEW_AND_MANY, interval, released

from discreet import assess, audit, protect, publish, tabulate
from discreet.errors import InputError, NoSafePatternError
from discreet.problem import Problem
from discreet.protection import suppress


def ones() -> pd.DataFrame:
    """One record each in A, B, C × x, y, z, seven each in D × x, y, z, and six in D × w."""
    small = [(r, c) for r in "ABC" for c in "xyz"]
    return pd.DataFrame(small + [("D", c) for c in "xyz" for _ in range(7)] + [("D", "w")] * 6, columns=["r", "c"])


def drawn(seed: int, **options: object) -> Problem:
    """A random table of counts of two or three dimensions, many of them small, with the threshold rule."""
    rng = np.random.default_rng(seed)
    names = ["r", "c"] if seed % 3 else ["r", "c", "d"]
    sizes = [4, 4, 3][: len(names)]
    counts = rng.poisson(rng.choice([1.0, 2.5, 9.0], size=sizes))
    cells = np.argwhere(counts > 0)
    frame = pd.DataFrame(np.repeat(cells, counts[counts > 0], axis=0), columns=names).astype(str)
    table = tabulate(frame, dict.fromkeys(names), store_empty="zeros" in options)
    return assess(table, "FREQ(3)", **options)


@pytest.mark.parametrize("method", ["kelly", "optimal", "hypercube", "modular", "intervals"])
def test_nine_ones_are_not_published_as_three_sums_of_three(method):
    problem = assess(tabulate(ones(), {"r": None, "c": None}), "FREQ(3)")
    protection = protect(problem, method)
    checked = audit(problem, protection)
    assert checked.passed
    assert np.isnan(protection.published[problem.table.index("A × Total")])
    frame = checked.frame()
    assert (frame.lower == 1).all()
    assert (frame.upper >= 3).all()


def test_the_audit_refuses_the_nine_ones():
    problem = assess(tabulate(ones(), {"r": None, "c": None}), "FREQ(3)")
    checked = audit(problem, suppress(problem, problem.status == 1))
    assert len(checked.exposed) == 9
    assert np.array_equal(checked.lower, checked.upper)


def test_zeros_that_may_be_suppressed_leave_zero_possible():
    """With the same pattern a row may then be 0, 0 and 3, as nobody knows which zeros are suppressed."""
    table = tabulate(ones(), {"r": None, "c": None}, store_empty=True)
    problem = assess(table, "FREQ(3)", zeros="suppressible")
    assert not problem.readers_exclude_zeros
    assert (problem.lower[problem.primaries] == 1).all()
    checked = audit(problem, protect(problem))
    assert checked.passed
    assert (checked.lower == 0).all()


def test_zeros_that_may_be_suppressed_must_be_stored():
    with pytest.raises(InputError, match="store_empty=True"):
        assess(tabulate(ones(), {"r": None, "c": None}), "FREQ(3)", zeros="suppressible")


def test_zeros_that_are_so_by_definition_stay_published():
    table = tabulate(ones(), {"r": None, "c": None}, store_empty=True)
    problem = assess(table, "FREQ(3)", zeros="suppressible", statuses={"A × w": "published"})
    assert problem.status[table.index("A × w")] == 2
    assert problem.status[table.index("B × w")] == 0


@pytest.mark.parametrize("seed", FEW_AND_MANY)
def test_small_counts_of_random_tables_keep_their_interval_in_whole_numbers(seed):
    """A reader who knows that × is at least 1 and whole holds all counts up to 3 possible that the listed cells allow."""
    problem = drawn(seed)
    method = ("kelly", "optimal", "hypercube", "modular")[seed % 4]
    try:
        protection = protect(problem, method)
    except NoSafePatternError:
        return
    checked = audit(problem, protection)
    assert checked.passed
    known = released(protection, publish(problem, protection, checked))
    listed = problem.table.added_up((problem.table.value > 0).astype(float))
    for cell in problem.primaries:
        low, high = interval(problem.table, known, cell, least=1.0, whole=True)
        assert low == listed[cell]  # a total of two cells that are listed is at least 2
        assert high >= 3
        assert high > low


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_with_suppressible_zeros_small_counts_may_be_zero(seed):
    problem = drawn(seed, zeros="suppressible")
    protection = protect(problem, ("kelly", "optimal")[seed % 2])
    checked = audit(problem, protection)
    assert checked.passed
    known = released(protection, publish(problem, protection, checked))
    for cell in problem.primaries:
        low, high = interval(problem.table, known, cell, whole=True)
        assert low == 0
        assert high >= 3


def test_random_tables_have_a_pattern():
    def possible(seed: int) -> bool:
        try:
            return audit(problem := drawn(seed), protect(problem)).passed
        except NoSafePatternError:
            return False

    assert sum(possible(seed) for seed in range(12)) == 12
