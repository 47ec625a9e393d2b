"""The relations of a table against a slow construction, cell by cell."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from discreet.data.hierarchy import ROOT, Hierarchy
from discreet.data.relations import additive, after_elimination, from_equations, stack
from discreet.errors import TableError
from discreet.testing import random_hierarchy

Relation = frozenset[tuple[int, float]]


def written(matrix: sparse.csr_array) -> Counter[Relation]:
    """Relations as sets of (cell, coefficient), and how often each is there."""
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return Counter(
        frozenset(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)) for a, b in ends
    )


def groups(hierarchy: Hierarchy) -> set[tuple[int, tuple[int, ...]]]:
    """Every total with its parts, once, whatever the number of trees."""
    return {
        (total, parts)
        for parent in hierarchy.parents
        for total in range(len(hierarchy))
        if (parts := tuple(int(i) for i in np.flatnonzero(parent == total)))
    }


def by_hand(hierarchies: list[Hierarchy], codes: np.ndarray) -> tuple[Counter[Relation], set[tuple[int, ...]]]:
    """Every total of every combination of the codes of the other dimensions: stored parts against a stored total."""
    stored = {tuple(map(int, cell)): i for i, cell in enumerate(codes.T)}
    relations: Counter[Relation] = Counter()
    missing = set()
    for d, hierarchy in enumerate(hierarchies):
        others = [range(len(h)) if e != d else [0] for e, h in enumerate(hierarchies)]
        for place, (total, parts) in product(product(*others), groups(hierarchy)):

            def cell(code: int, place=place, d=d) -> tuple[int, ...]:
                return (*place[:d], code, *place[d + 1 :])

            found = [stored[cell(part)] for part in parts if cell(part) in stored]
            if found and cell(total) in stored:
                relations[frozenset([(stored[cell(total)], -1.0), *((i, 1.0) for i in found)])] += 1
            elif found:
                missing.add(cell(total))
    return relations, missing


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Hierarchy], np.ndarray]:
    """One to five random hierarchies, some of several trees, and some of their cells in any order."""
    k = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    hierarchies = []
    for _ in range(k):
        kind = draw(st.sampled_from(["flat", "chain", "tree", "two trees"] if k < 4 else ["flat", "chain"]))
        if kind == "flat":
            hierarchies.append(Hierarchy.flat(f"p{i}" for i in range(draw(st.integers(0, 3)))))
        elif kind == "chain":
            hierarchies.append(Hierarchy.from_pairs([("A", "Total"), ("A1", "A"), ("A11", "A1")][: 5 - min(k, 4)]))
        elif kind == "tree":
            hierarchies.append(random_tree(rng, draw(st.integers(1, 8 - 2 * k))))
        else:
            hierarchies.append(random_hierarchy(rng, 4, levels=2, trees=2))
    every = np.indices([len(h) for h in hierarchies]).reshape(k, -1)
    chosen = rng.permutation(np.flatnonzero(rng.random(every.shape[1]) < draw(st.sampled_from([0.1, 0.5, 0.9, 1.0]))))
    return hierarchies, every[:, chosen].astype(np.int32)


def random_tree(rng: np.random.Generator, parts: int) -> Hierarchy:
    parents = [ROOT, *(int(rng.integers(i)) for i in range(1, parts + 1))]
    return Hierarchy(tuple(f"c{i}" for i in range(parts + 1)), np.array(parents))


def added_up(hierarchies: list[Hierarchy], rng: np.random.Generator) -> np.ndarray:
    """A full table of whole numbers, every total the sum over the leaves below it."""
    grid = rng.integers(0, 50, [len(h) for h in hierarchies])
    for axis, hierarchy in enumerate(hierarchies):
        leaf, code = hierarchy.ancestors
        sums = np.zeros((len(hierarchy), len(hierarchy)))
        sums[code, leaf] = 1
        grid = np.moveaxis(np.tensordot(sums, grid, axes=(1, axis)), 0, axis)
    return grid


@settings(deadline=None, max_examples=150)
@given(tables())
def test_relations_equal_those_found_one_by_one(table):
    hierarchies, codes = table
    matrix, missing = additive(hierarchies, codes)
    relations, totals = by_hand(hierarchies, codes)
    assert written(matrix) == relations
    assert set(missing) == totals
    assert len(missing) == len(totals), "a total that several dimensions miss is one missing total"
    assert matrix.shape == (sum(relations.values()), codes.shape[1])


@settings(deadline=None, max_examples=50)
@given(tables(), st.integers(0, 2**32))
def test_full_tables_satisfy_their_relations(table, seed):
    hierarchies, _ = table
    values = added_up(hierarchies, np.random.default_rng(seed)).ravel()
    codes = np.indices([len(h) for h in hierarchies]).reshape(len(hierarchies), -1).astype(np.int32)
    matrix, missing = additive(hierarchies, codes)
    assert missing == []
    assert np.all(matrix @ values == 0)


def test_a_relation_lists_the_parts_and_subtracts_the_total():
    matrix, missing = additive([Hierarchy.flat("ab")], np.array([[2, 0, 1]]))
    assert matrix.toarray().tolist() == [[1, -1, 1]]
    assert missing == []


def test_a_chain_of_single_children_repeats_the_value():
    chain = Hierarchy.from_pairs([("A", "Total"), ("A1", "A"), ("A11", "A1")])
    matrix, _ = additive([chain], np.arange(4).reshape(1, -1))
    assert matrix.toarray().tolist() == [[-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]]


@pytest.mark.parametrize("cells", [0, 1])
def test_tables_of_no_cell_and_of_one(cells):
    flat = Hierarchy.flat("ab")
    matrix, missing = additive([flat, flat], np.zeros((2, cells), dtype=np.int32))
    assert matrix.shape == (0, cells)
    assert missing == []


def test_dimensions_that_are_only_a_total_add_no_relations():
    flat = Hierarchy.flat("ab")
    matrix, _ = additive([Hierarchy.flat([]), flat], np.array([[0, 0, 0], [0, 1, 2]]))
    assert matrix.toarray().tolist() == [[-1, 1, 1]]


def test_cells_that_occur_twice_are_refused_by_name():
    """Their contributions would be added twice without a word."""
    flat = Hierarchy.flat("ab")
    with pytest.raises(TableError, match=r"1 cells occur more than once, e\.g\. 'Total × b'") as error:
        additive([flat, flat], np.array([[0, 0, 1, 0, 0], [0, 2, 2, 2, 2]]))
    assert error.value.offenders == ["Total × b"]


@pytest.mark.parametrize("shape", [[300] * 8, [2**16] * 4, [2, 2**17, 3, 2**17, 2**17, 2**17]], ids=str)
def test_more_combinations_than_a_64_bit_number_can_count(shape):
    """Their product exceeds 2⁶², so combinations must be renumbered on the way; too many to try them all here."""
    assert np.prod(shape, dtype=object) > 2**62
    rng = np.random.default_rng(1)
    hierarchies = [Hierarchy.flat(map(str, range(1, size))) for size in shape]
    points = rng.integers(1, shape, (6, len(shape)))
    points[1, 1:] = points[0, 1:]  # two cells that share a margin
    cells = {
        tuple(int(code * keep) for code, keep in zip(point, kept, strict=True))
        for point in points
        for kept in product((0, 1), repeat=len(shape))
    }
    codes = rng.permutation(np.array(sorted(cells)), axis=0).T.astype(np.int32)
    matrix, missing = additive(hierarchies, codes)
    stored = {tuple(map(int, cell)): i for i, cell in enumerate(codes.T)}
    expected: dict[tuple[int, tuple[int, ...]], set[tuple[int, float]]] = {}
    for cell, i in stored.items():
        for d in np.flatnonzero(cell).tolist():
            total = (*cell[:d], 0, *cell[d + 1 :])
            expected.setdefault((d, total), {(stored[total], -1.0)}).add((i, 1.0))
    assert missing == []
    assert written(matrix) == Counter(frozenset(terms) for terms in expected.values())


def test_two_hundred_thousand_cells():
    sizes = (60, 59, 58)
    hierarchies = [Hierarchy.flat(map(str, range(size))) for size in sizes]
    values = added_up(hierarchies, np.random.default_rng(7))
    codes = np.indices(values.shape).reshape(3, -1).astype(np.int32)
    matrix, missing = additive(hierarchies, codes)
    assert codes.shape[1] > 200_000
    assert missing == []
    assert matrix.shape[0] == 60 * 59 + 61 * 59 + 61 * 60  # a total for each combination of the other two
    assert np.all(matrix @ values.ravel() == 0)


# -- totals that are published nowhere -------------------------------------------------------------------------


def test_the_parts_of_an_unpublished_total_take_its_place():
    # Total = A + B and A = a1 + a2, with A as the last cell.
    relations = from_equations([([0, 4, 1], [-1, 1, 1]), ([4, 2, 3], [-1, 1, 1])], 5)
    assert after_elimination(relations, 4).toarray().tolist() == [[-1, 1, 1, 1]]


def test_two_ways_to_add_up_an_unpublished_total_give_the_same():
    relations = from_equations([([4, 0, 1], [-1, 1, 1]), ([4, 2, 3], [-1, 1, 1])], 5)
    assert written(after_elimination(relations, 4)) in (
        written(from_equations([([0, 1, 2, 3], [1, 1, -1, -1])], 4)),
        written(from_equations([([0, 1, 2, 3], [-1, -1, 1, 1])], 4)),
    )


@settings(deadline=None, max_examples=100)
@given(tables(), st.integers(0, 2**32), st.floats(0, 1))
def test_what_remains_is_all_that_follows_for_the_published_cells(table, seed, share):
    """Linear algebra's opinion: the relations left allow exactly what the full relations allow."""
    hierarchies, _ = table
    hierarchies = hierarchies[:2]
    rng = np.random.default_rng(seed)
    codes = np.indices([len(h) for h in hierarchies]).reshape(len(hierarchies), -1)
    leaves = np.all([h.is_leaf[row] for h, row in zip(hierarchies, codes, strict=True)], axis=0)
    suppressed = ~leaves & (rng.random(len(leaves)) < share)
    codes = np.concatenate([codes[:, ~suppressed], codes[:, suppressed]], axis=1).astype(np.int32)
    cells = int((~suppressed).sum())
    full, _ = additive(hierarchies, codes)
    left = after_elimination(full, cells)
    assert left.shape[1] == cells
    dense = full.toarray()
    _, sizes, axes = np.linalg.svd(dense) if dense.size else (None, np.zeros(0), np.eye(dense.shape[1]))
    allowed = axes[int((sizes > 1e-9).sum()) :, :cells]
    assert np.allclose(left @ allowed.T, 0)
    assert rank(left.toarray()) + rank(allowed) == cells


def rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


# -- small helpers ---------------------------------------------------------------------------------------------


def test_equations_one_by_one():
    matrix = from_equations([([2, 0], [1.0, -1.0]), ([], []), ([1], [0.5])], 3)
    assert matrix.toarray().tolist() == [[-1, 0, 1], [0, 0, 0], [0, 0.5, 0]]
    assert from_equations([], 3).shape == (0, 3)


def test_stacking_keeps_each_relation_once_whatever_the_order_of_its_terms():
    one = from_equations([([0, 1, 2], [-1, 1, 1]), ([3, 1], [-1, 1])], 4)
    other = from_equations([([2, 0, 1], [1, -1, 1]), ([], []), ([2, 3], [1, -1])], 4)
    assert stack([one, other]).toarray().tolist() == [[-1, 1, 1, 0], [0, 1, 0, -1], [0, 0, 1, -1]]
    assert one.indices.tolist() == [0, 1, 2, 3, 1], "stacking leaves its arguments alone"
    assert other.data.tolist() == [1, -1, 1, 1, -1]
    assert stack([from_equations([], 4)]).shape == (0, 4)
