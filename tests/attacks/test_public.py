"""Attacks see what the public sees: no field of a public view holds what is suppressed."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.attacks.planted import SQUARE, safe_table

from discreet import Hierarchy, InputError, attacks, audit, publish
from discreet.progress import Silent
from discreet.testing import cross_table, pose, suppressing


@pytest.fixture
def square():
    problem = pose(cross_table(["x", "c"], ["x", "b"], [[10, 5], [7, 8]]), {"x × x": 2.0})
    return suppressing(problem, *SQUARE)


def test_a_public_view_holds_no_hidden_value():
    found = safe_table(3, (5, 6))
    table = found.problem.table
    secret = set(table.value[found.suppressed]) - set(table.value[~found.suppressed]) - {0.0, 1.0}
    view = attacks.Public.of(found)
    for field in fields(view):
        held = getattr(view, field.name)
        if isinstance(held, np.ndarray):
            assert not secret & set(held.ravel().tolist()), field.name
    assert np.isnan(view.published[found.suppressed]).all()


def test_a_changed_secret_leaves_the_public_view_and_what_is_found_as_they_are(square):
    other = pose(cross_table(["x", "c"], ["x", "b"], [[6, 9], [11, 4]]), {"x × x": 2.0})
    one, two = attacks.Public.of(square), attacks.Public.of(suppressing(other, *SQUARE))
    assert one.lower.tolist() == two.lower.tolist()
    for name in ("exact", "cycles", "fit", "midpoint-fit", "sample"):
        found = [attacks.ATTACKS[name].find(view, attacks.Knowledge(draws=50), Silent()) for view in (one, two)]
        assert found[0].frame().equals(found[1].frame())


def test_a_release_gives_the_same_view_as_the_protection(square):
    problem = square.problem
    release = publish(problem, square, audit(problem, square))
    view = attacks.Public.from_release(release, problem.table.dimensions)
    assert attacks.exact(view).frame().equals(attacks.exact(attacks.Public.of(square)).frame())


def test_a_release_needs_its_hierarchies(square):
    release = publish(square.problem, square, audit(square.problem, square))
    with pytest.raises(InputError, match="give a hierarchy for each"):
        attacks.Public.from_release(release, {})
    others = {name: Hierarchy.flat(["p", "q"]) for name in release.codes}
    with pytest.raises(
        InputError, match=r"4 codes are not in the hierarchies, e.g. 'x', 'c'.* Give the hierarchies of the release"
    ):
        attacks.Public.from_release(release, others)


def test_every_column_of_a_view_is_about_all_cells(square):
    with pytest.raises(InputError, match="view has 9 cells, but another number of entries in 'lower'"):
        replace(attacks.Public.of(square), lower=np.zeros(4))


def test_counts_must_be_there(square):
    with pytest.raises(InputError, match="The table does not know how many respondents its cells have"):
        attacks.Public.of(square, counts=True)
    with pytest.raises(InputError, match="make it with counts=True"):
        attacks.shrink(attacks.Public.of(square), 10)


def test_cells_that_are_not_there_are_named(square):
    found = attacks.exact(attacks.Public.of(square))
    with pytest.raises(InputError, match=r"There is no cell 'y' in .* Cells are named as in its labels"):
        found.range("y")
    with pytest.raises(InputError, match="The attack 'exact' says nothing about the cell 'Total × x'"):
        found.range("Total × x")


def test_what_contradicts_itself_is_refused(square):
    view = attacks.Public.of(square)
    with pytest.raises(InputError, match="No table agrees with"):
        attacks.exact(view.with_bounds(np.full(9, -np.inf), np.where(np.isnan(view.published), 1.0, np.inf)))
