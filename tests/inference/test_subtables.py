"""The tables of a hierarchy, from relations alone, against those that the codes of each dimension tell."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.inference.subtables import Subtable, subtables
from discreet.testing import cross_table, random_hierarchy, random_linked_table, random_table

SHAPES = {
    "2-D": (3, 4),
    "2-D, one hierarchy": ((6, 3), 3),
    "2-D, two hierarchies": ((6, 3), (4, 2)),
    "3-D": (2, 3, 2),
    "3-D, hierarchical": ((4, 2), (5, 2), 2),
    "3-D, deep": ((6, 4), 2, 2),
    "4-D": (2, 2, 2, 2),
    "4-D, hierarchical": ((4, 2), 2, (3, 2), 1),
}


def grown(seed: int, shape: tuple[int | tuple[int, int], ...]) -> Table:
    """Leaves, or leaves and levels, of each dimension."""
    rng = np.random.default_rng(seed)
    parts = [part if isinstance(part, int) else random_hierarchy(rng, part[0], levels=part[1]) for part in shape]
    return random_table(rng, parts)


def families(hierarchy: Hierarchy) -> list[tuple[int, ...]]:
    """Each code that has parts, and these."""
    return [(total, *parts.tolist()) for _, total, parts in hierarchy.equations()]


def by_codes(table: Table) -> set[frozenset[int]]:
    """The cells of one family a dimension, for all choices of families."""
    at = {tuple(code): cell for cell, code in enumerate(table.codes.T.tolist())}
    choices = product(*(families(hierarchy) for hierarchy in table.dimensions.values()))
    return {frozenset(at[code] for code in product(*chosen)) for chosen in choices}


def check(relations: sparse.csr_array, found: list[Subtable]) -> None:
    """What holds for any relations: all are in a table, and a table has all cells of its relations, each in one place."""
    seen = np.zeros(relations.shape[0], dtype=bool)
    for one in found:
        assert len(one.rows)
        assert np.all(np.diff(one.cells) > 0)
        assert np.all(np.diff(one.rows) > 0)
        assert np.isin(relations[one.rows].indices, one.cells).all()
        assert one.at.shape[1] == len(one.cells)
        assert one.at.min() >= 0
        seen[one.rows] = True
    assert seen.all()


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_a_table_is_one_family_of_each_dimension(kind, seed):
    table = grown(seed, SHAPES[kind])
    found = subtables(table.relations)
    check(table.relations, found)
    assert len(found) == len({one.cells.tobytes() for one in found})
    assert {frozenset(one.cells.tolist()) for one in found} == by_codes(table)


@pytest.mark.parametrize("kind", SHAPES)
def test_all_relations_between_the_cells_of_a_table_are_its(kind):
    table = grown(3, SHAPES[kind])
    for one in subtables(table.relations):
        within = np.isin(table.relations.indices, one.cells)
        whole = np.flatnonzero(np.add.reduceat(~within, table.relations.indptr[:-1]) == 0)
        assert one.rows.tolist() == whole.tolist()


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_where_a_cell_is_tells_its_code_in_each_dimension(kind, seed):
    table = grown(seed, SHAPES[kind])
    below = [{one[0]: set(one[1:]) for one in families(hierarchy)} for hierarchy in table.dimensions.values()]
    for one in subtables(table.relations):
        codes = table.codes[:, one.cells]
        assert len(one.at) == len(codes)
        told = set()
        for places in one.at:
            for d, code in enumerate(codes):
                pairs = set(zip(places.tolist(), code.tolist(), strict=True))
                if len(pairs) == len(set(places.tolist())) == len(set(code.tolist())):
                    told.add(d)
                    top = next(code for place, code in pairs if place == 0)
                    assert {code for place, code in pairs if place > 0} == below[d][top], "0 is the total"
        assert told == set(range(len(codes)))


def test_tables_above_come_before_those_below():
    table = grown(0, SHAPES["3-D, deep"])
    depth = table.dimensions["a"].depth
    levels = [depth[table.codes[0, one.cells]].min() for one in subtables(table.relations)]
    assert levels == sorted(levels)


def test_the_order_and_the_signs_of_relations_do_not_matter():
    table = grown(1, SHAPES["3-D, hierarchical"])
    expected = {one.cells.tobytes() for one in subtables(table.relations)}
    rng = np.random.default_rng(0)
    turned = sparse.diags_array(rng.choice([-1.0, 1.0], table.relations.shape[0])) @ table.relations
    mixed = sparse.csr_array(turned[rng.permutation(table.relations.shape[0])])
    found = subtables(mixed)
    check(mixed, found)
    assert {one.cells.tobytes() for one in found} == expected


def test_linked_tables_that_share_a_margin():
    """a × b and a × c: the total has three breakdowns, and b and c never cross."""
    table = random_linked_table(np.random.default_rng(0), (2, 3, 4))
    found = subtables(table.relations)
    check(table.relations, found)
    (one,) = found
    assert len(one.cells) == len(table)
    assert len(one.at) == 3
    assert len({tuple(place) for place in one.at.T.tolist()}) == len(table)


def test_tables_side_by_side_have_nothing_to_do_with_each_other():
    one, other = (cross_table("ab", "cde", np.ones((2, 3))).relations for _ in range(2))
    both = sparse.csr_array(sparse.block_diag([one, other]))
    found = subtables(both)
    check(both, found)
    n = one.shape[1]
    assert sorted(table.cells.tolist() for table in found) == [list(range(n)), list(range(n, 2 * n))]


def test_an_equation_without_a_total_is_a_table():
    relations = sparse.csr_array(np.array([[-1.0, 1, 1, 0, 0, 0], [0, 0, 1, 1, -1, -1]]))
    found = subtables(relations)
    check(relations, found)
    assert [one.cells.tolist() for one in found] == [[0, 1, 2], [2, 3, 4, 5]]


def test_groupings_that_do_not_nest_cross_like_dimensions():
    rng = np.random.default_rng(0)
    table = random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2),))
    (one,) = subtables(table.relations)
    check(table.relations, [one])
    assert len(one.cells) == len(table)
    assert len(one.at) == 2


@pytest.mark.parametrize("seed", range(5))
def test_groupings_that_do_not_nest_in_several_dimensions(seed):
    rng = np.random.default_rng(seed)
    not_nested = random_hierarchy(rng, 6, levels=3, trees=2)
    table = random_table(rng, (not_nested, random_hierarchy(rng, 4, levels=2), 2)[: 2 + seed % 2])
    check(table.relations, subtables(table.relations))


def test_a_total_with_one_part():
    table = random_table(np.random.default_rng(0), (1, 2))
    found = subtables(table.relations)
    check(table.relations, found)
    assert {frozenset(one.cells.tolist()) for one in found} == by_codes(table)


@pytest.mark.parametrize("seed", range(10))
def test_cells_that_are_missing(seed):
    """Not every combination of codes exists."""
    rng = np.random.default_rng(seed)
    full = grown(seed, ((4, 2), (4, 2), 2))
    kept = np.flatnonzero((rng.random(len(full)) < 0.8) | ~full.is_base)
    relations = sparse.csr_array(full.relations[:, kept])
    relations = sparse.csr_array(relations[np.diff(relations.indptr) > 1])
    check(relations, subtables(relations))


def test_no_relations_no_tables():
    assert subtables(sparse.csr_array((0, 3))) == []
    assert subtables(sparse.csr_array((0, 0))) == []


def test_relations_in_a_circle():
    """Each of three cells is said to be the total of the next and one more."""
    relations = sparse.csr_array(np.array([[-1.0, 1, 0, 1, 0, 0], [0, -1, 1, 0, 1, 0], [1, 0, -1, 0, 0, 1]]))
    check(relations, subtables(relations))


@settings(deadline=None, max_examples=150)
@given(
    st.integers(1, 8).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0, 0, 1, 1, -1, 2]), min_size=n, max_size=n).filter(any), min_size=1, max_size=7
        )
    )
)
def test_any_relations_are_divided_into_tables(rows):
    relations = sparse.csr_array(np.array(rows, dtype=float))
    check(relations, subtables(relations))
