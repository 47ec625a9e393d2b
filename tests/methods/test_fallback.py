"""Where a solver gives up, the result is a safe pattern or a clear message, never a traceback."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from discreet import audit, protect
from discreet.errors import NoSafePatternError
from discreet.methods import with_options
from discreet.methods.context import Run
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.suppress.kelly import Kelly
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import Outcome, Solution
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, pose


@dataclass(frozen=True)
class Gives:
    """A method whose solver gives up."""

    name = "gives up"
    at_most: int | None = None
    error: type[ArithmeticError] = ZeroDivisionError

    def protect(self, problem: Problem, run: Run) -> Protection:
        raise self.error("beyond all sense")


def small() -> Problem:
    return pose(cross_table("ABC", "xyz", [[10, 20, 30], [40, 50, 60], [70, 80, 90]]), {"A × x": 5})


@pytest.mark.parametrize("error", [ZeroDivisionError, OverflowError, FloatingPointError, ArithmeticError])
def test_another_method_takes_over(error):
    problem = small()
    found = protect(problem, Gives(error=error))
    assert audit(problem, found).passed
    assert np.array_equal(found.suppressed, protect(problem).suppressed)
    assert "by another method" in found.report.note


def test_where_that_gives_up_too_everything_is_suppressed_if_that_is_safe(monkeypatch):
    problem = small()
    monkeypatch.setattr(Kelly, "protect", Gives.protect)
    monkeypatch.setattr(Kelly, "error", ZeroDivisionError, raising=False)
    found = protect(problem, Gives())
    assert found.suppressed.all()
    assert audit(problem, found).passed
    fixed = np.where(problem.status == Status.PRIMARY, Status.PRIMARY, Status.PUBLISHED)
    with pytest.raises(NoSafePatternError, match="levels or bounds are of very different size"):
        protect(problem.with_columns(status=fixed), Gives())


def test_a_limited_number_of_cells_is_not_exceeded():
    with pytest.raises(NoSafePatternError, match="levels or bounds are of very different size"):
        protect(small(), Gives(at_most=4))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("optimal", "The program over the cuts of patterns could not be solved: failed"),
        ("intervals", "The program over the cuts of widths could not be solved: failed"),
        ("first-model", "The solver could not solve an attacker's program: failed"),
        ("round-first-model", "The solver could not solve the program: failed"),
    ],
)
def test_programs_that_are_not_solved_are_named(method, message, monkeypatch):
    def failed(model: HighsModel, *limits: float | None, **more: float) -> Solution:
        return Solution(Outcome.FAILED, np.nan, np.zeros(len(model._cost)), np.zeros(0), np.nan, None, 0)

    monkeypatch.setattr(HighsModel, "solve", failed)
    with pytest.raises(ArithmeticError, match=message):
        with_options(method).protect(small(), Run())


def test_methods_that_publish_other_values_say_it_in_words(monkeypatch):
    monkeypatch.setattr(Intervals, "protect", Gives.protect)
    monkeypatch.setattr(Intervals, "error", ZeroDivisionError, raising=False)
    with pytest.raises(NoSafePatternError, match="of very different size"):
        protect(small(), "intervals")
