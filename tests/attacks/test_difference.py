"""Two publications of the same cells, or of sums of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.planted import safe_table

from discreet import Hierarchy, InputError, Table, attacks, audit, suppress
from discreet.testing import cross_table, pose, suppressing


@pytest.mark.parametrize("seed", range(8))
def test_two_patterns_of_one_table_are_attacked_as_the_cells_that_both_hide(seed):
    """Each is safe; what both together suppress is what an audit must look at."""
    found = safe_table(seed, (4, 5))
    rng = np.random.default_rng(seed)
    other = suppress(found.problem, found.suppressed & (rng.random(len(found.problem)) < 0.7))
    seen = attacks.difference(attacks.Public.of(found), attacks.Public.of(other))
    both = suppress(found.problem, found.suppressed & other.suppressed)
    score = attacks.score(seen, attacks.Truth.of(found))
    assert not score.wrong.any()
    truth = audit(found.problem, both, cells=np.flatnonzero(found.suppressed))
    np.testing.assert_allclose(seen.lower, truth.lower, atol=1e-6)
    np.testing.assert_allclose(seen.upper, truth.upper, atol=1e-6)


def test_the_first_publication_alone_is_no_news():
    view = attacks.Public.of(safe_table(1))
    seen = attacks.difference(view, view)
    assert not seen.narrower.any()
    assert seen.public.relations.shape == view.relations.shape


def test_tables_that_contradict_each_other_are_refused():
    """The second table has other values: it was revised, or its categories are not what they seem."""
    first = cross_table(["N", "E", "S"], ["a", "b"], [[10, 20], [20, 40], [30, 60]], names=("region", "sector"))
    second = cross_table(["NE", "S"], ["a", "b"], [[31, 60], [30, 60]], names=("region", "sector"))
    view = attacks.Public.of(suppressing(pose(first, {"N × a": 2.0}), "N × b", "E × a", "E × b"))
    other = attacks.Public.of(suppressing(pose(second, {})))
    with pytest.raises(attacks.Contradiction, match="No table agrees with"):
        attacks.difference(view, other, sums=attacks.merged(other, "region", "NE", ["N", "E"], view))


def test_a_merged_category_pins_what_is_left():
    rows = {"N": 10, "E": 20, "S": 30, "W": 40}
    first = cross_table(list(rows), ["a", "b"], [[v, 2 * v] for v in rows.values()], names=("region", "sector"))
    second = cross_table(["NE", "SW"], ["a", "b"], [[30, 60], [70, 140]], names=("region", "sector"))
    problem = pose(first, {"N × a": 2.0, "E × a": 2.0, "S × a": 2.0})
    view = attacks.Public.of(suppressing(problem, "N × b", "E × b", "S × b"))
    other = attacks.Public.of(suppressing(pose(second, {})))
    sums = attacks.merged(other, "region", "NE", ["N", "E"], view) | attacks.merged(
        other, "region", "SW", ["S", "W"], view
    )
    seen = attacks.difference(view, other, sums=sums)
    assert seen.range("S × a") == (30, 30)
    assert seen.range("N × a") == (0, 30)
    score = attacks.score(seen, attacks.Truth.of(suppressing(problem, "N × b", "E × b", "S × b")))
    assert score.labels(score.compromised) == ["S × a"]
    assert {"alone_lower", "narrower"} <= set(seen.frame())


def test_sums_must_name_cells_that_are_there_once():
    view = attacks.Public.of(safe_table(1))
    with pytest.raises(InputError, match="no cell"):
        attacks.join(view, sums={"nowhere": ["a0 × b0"]})
    with pytest.raises(InputError, match="The sum 'a0 × b0' has a cell twice"):
        attacks.join(view, sums={"a0 × b0": ["a0 × b1", "a0 × b1"]})
    with pytest.raises(InputError, match="Both views need dimension 'z' and the same dimensions"):
        attacks.merged(view, "z", "x", ["y"], view)


def test_views_over_other_hierarchies_share_the_cells_they_share():
    one = Table.from_cells({"r": Hierarchy.flat(["n", "s"])}, [0, 1, 2], [30, 10, 20])
    two = Table.from_cells({"r": Hierarchy.flat(["n", "e", "w"])}, [0, 1, 2, 3], [30, 10, 5, 15])
    views = [
        attacks.Public.of(suppressing(pose(t, {}), *suppressed))
        for t, suppressed in ((one, ("n", "s")), (two, ("e", "w")))
    ]
    assert attacks.difference(*views).range("s") == (20, 20)
