"""A table for each code: no total over them, and nothing lost that a reader could still add up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.separate import separate
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import InputError
from discreet.testing import random_hierarchy, random_table


def records(seed: int = 1, n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "town": rng.choice(["p", "q", "r"], n),
            "branch": rng.choice(list("ab"), n),
            "size": rng.choice(["small", "large"], n),
            "firm": [f"f{i}" for i in rng.integers(0, 30, n)],
            "turnover": rng.integers(1, 1000, n),
            "jobs": rng.integers(1, 9, n),
        }
    )


def tabulated(data: pd.DataFrame, *by: str) -> Table:
    return tabulate(data, list(by), "turnover", contributor="firm", extra=["jobs"])


def test_each_code_has_the_table_of_its_own_records():
    data = records()
    each = separate(tabulated(data, "town", "branch", "size"), "town")
    assert not each.complete, "the total is not zero, but published nowhere"
    assert each.n_empty == 0
    rows = 0
    for town in ("p", "q", "r"):
        own = tabulated(data[data.town == town], "branch", "size")
        at = np.flatnonzero(each.codes[0] == each.dimensions["town"].index(town))
        part = each.only(at)
        assert [label.removeprefix(f"{town} × ") for label in part.labels()] == own.labels()
        for name in ("value", "count", "magnitude", "top"):
            np.testing.assert_array_equal(getattr(part, name), getattr(own, name))
        np.testing.assert_array_equal(part.extra["jobs"], own.extra["jobs"])
        assert (part.relations != own.relations).nnz == 0
        rows += part.relations.shape[0]
    assert each.relations.shape[0] == rows, "no relation between towns"


def test_a_total_that_another_table_shows_stays_with_what_adds_up_to_it():
    data = records()
    tables = [("town", "branch", "size"), ("branch",)]
    linked = separate(link(*(tabulated(data, *by) for by in tables)), "town", shown=[["branch"]])
    at_total = [label for label in linked.labels() if label.startswith("Total")]
    assert at_total == ["Total × Total × Total", "Total × a × Total", "Total × b × Total"]
    total = linked.index("Total × a × Total")
    towns = [linked.index(f"{town} × a × Total") for town in "pqr"]
    rows = [set(row.nonzero()[1]) for row in linked.relations.toarray()[:, None, :]]
    assert {total, *towns} in rows


def test_so_it_does_for_each_of_several_responses():
    data = records()
    tables = [
        tabulate(data, list(by), response)
        for by in (("town", "branch"), ("branch",))
        for response in ("turnover", "jobs")
    ]
    each = separate(link(*tables), "town", shown=[["branch"]])
    totals = {label for label in each.labels() if " Total × " in label}
    assert totals == {f"{r} × Total × {b}" for r in ("turnover", "jobs") for b in ("Total", "a", "b")}


def test_dimensions_that_are_not_there():
    table = tabulated(records(), "town", "branch")
    with pytest.raises(InputError, match="no dimension 'city'"):
        separate(table, "city")
    with pytest.raises(InputError, match="no dimension 'size'"):
        separate(table, "town", shown=[["size"]])


def rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


def keeps_all_that_follows(whole: Table, part: Table) -> bool:
    """Relations between the cells that are left: as many independent ones as follow from the relations of all cells."""
    left = {label: i for i, label in enumerate(whole.labels())}
    kept = [left[label] for label in part.labels()]
    full = whole.relations.toarray()
    return rank(part.relations.toarray()) == rank(full) - rank(np.delete(full, kept, axis=1))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 2))
def test_no_relation_that_a_reader_could_work_out_is_lost(seed, levels, trees):
    """Also with groups, and with groupings that do not nest."""
    rng = np.random.default_rng(seed)
    towns = random_hierarchy(rng, 4, levels=levels, trees=trees)
    table = random_table(rng, (towns, 2, random_hierarchy(rng, 3, levels=2)))
    each = separate(table, "a")
    assert len(each) < len(table)
    assert keeps_all_that_follows(table, each)
    assert keeps_all_that_follows(table, separate(each, "b")), "and without two totals"


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([[["b"]], [["b"], ["c"]], [["c", "b"]], [["c"], ["d"]], [["d", "b"]]]))
def test_nor_where_other_tables_show_the_total(seed, shown):
    rng = np.random.default_rng(seed)
    full = random_table(rng, (3, 2, 2, 2))
    by = [["a", "b", "c"], *shown]
    linked = link(*(margin(full, names) for names in by))
    assert keeps_all_that_follows(linked, separate(linked, "a", shown=shown))


def margin(full: Table, names: list[str]) -> Table:
    """The table by some dimensions only."""
    every = list(full.dimensions)
    at = np.all([full.codes[d] == 0 for d, name in enumerate(every) if name not in names], axis=0)
    dimensions: dict[str, Hierarchy] = {name: full.dimensions[name] for name in every if name in names}
    rows = [every.index(name) for name in dimensions]
    return Table.from_cells(dimensions, full.codes[rows][:, at], full.value[at])
