"""Tables: what they refuse, what they show, and when two of them are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from discreet.data.hierarchy import Hierarchy
from discreet.data.relations import from_equations
from discreet.data.table import Table
from discreet.errors import TableError

ROWS = Hierarchy.flat(["A", "B", "C"])
COLUMNS = Hierarchy.flat(["I", "II", "III"])

# Daalmans & de Waal 2010, table 3, totals first. As printed, row C adds up to 1150; it should be 1550.
CORRECTED = [2700, 950, 800, 950, 450, 100, 200, 150, 700, 250, 150, 300, 1550, 600, 450, 500]
PRINTED = [1150 if value == 1550 else value for value in CORRECTED]


def two_way(value: Any = CORRECTED, **columns: Any) -> Table:
    return Table.from_cells({"row": ROWS, "column": COLUMNS}, np.indices((4, 4)).reshape(2, -1), value, **columns)


def one_way(value: Any, **columns: Any) -> Table:
    return Table.from_cells({"row": ROWS}, range(len(value)), value, **columns)


def assert_keeps_quiet(error: pytest.ExceptionInfo[TableError], *values: float) -> None:
    """Neither the message nor what rides along gives away a value."""
    message = str(error.value) + repr(error.value.offenders)
    for value in values:
        assert f"{value:g}" not in message
        assert str(value) not in message


# -- additivity ------------------------------------------------------------------------------------------------


def test_the_table_of_daalmans_and_de_waal_is_refused_as_printed():
    """000, table 3: the total of row C is misprinted, which spoils its row and its column."""
    with pytest.raises(TableError, match="2 totals differ") as error:
        two_way(PRINTED).check_additive()
    assert sorted(error.value.offenders) == ["C × Total", "Total × Total"]
    assert_keeps_quiet(error, 1150, 1550, 2700, 400)


def test_the_table_of_daalmans_and_de_waal_adds_up_once_corrected():
    table = two_way()
    assert table.check_additive() is table


def test_rounded_totals_pass_with_a_larger_tolerance():
    table = one_way([10, 3.3, 3.3, 3.3])
    with pytest.raises(TableError, match="tolerance="):
        table.check_additive()
    with pytest.raises(TableError, match="'Total'"):
        table.check_additive(tolerance=0.1 / 19.9 * 0.99)
    table.check_additive(tolerance=0.1 / 19.9 * 1.01)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6, 1e13])
def test_the_tolerance_goes_with_the_size_of_the_values(scale):
    value = np.array([1.0, 0.1, 0.2, 0.7]) * scale
    one_way(value).check_additive()
    with pytest.raises(TableError):
        one_way(value * [1 + 1e-8, 1, 1, 1]).check_additive()


def test_large_values_that_cancel_are_judged_by_what_is_added():
    """Profits: the total is small beside its parts, and no more exact than they are."""
    one_way([0.3, 1e15, -1e15, 0.25]).check_additive()
    one_way([0, 1e15, -1e15, 0]).check_additive()


def test_empty_totals_are_exactly_zero():
    one_way([0, 0, 0, 0]).check_additive()
    with pytest.raises(TableError):
        one_way([1e-12, 0, 0, 0]).check_additive()


@pytest.mark.parametrize(("weights", "rhs"), [([-1, 1, np.nan], 0.0), ([-1, 1, 1], np.nan)])
def test_relations_that_are_not_numbers_hold_for_no_table(weights, rhs):
    relation = from_equations([([0, 1, 2], weights)], 3)
    with pytest.raises(TableError, match=r"not additive|weights beyond"):
        Table({}, [], [3, 1, 2], relation, names=("t", "a", "b"), rhs=np.array([rhs])).check_additive()


def test_a_relation_may_add_up_to_a_constant():
    relation = from_equations([([0, 1], [1, 1])], 2)
    Table({}, [], [30, 70], relation, names=("a", "b"), rhs=np.array([100])).check_additive()
    with pytest.raises(TableError, match="'equation 1'") as error:
        Table({}, [], [30, 71], relation, names=("a", "b"), rhs=np.array([100])).check_additive()
    assert_keeps_quiet(error, 30, 71, 100)


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e15, 1e15, allow_subnormal=False), min_size=1, max_size=50),
    st.integers(0, 6),
)
def test_sums_in_floating_point_are_additive_enough(parts, decimals):
    parts = np.round(parts, decimals)
    flat = Hierarchy.flat(map(str, range(len(parts))))
    Table.from_cells({"d": flat}, range(len(parts) + 1), [parts.sum(), *parts]).check_additive()


# -- validation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["value", "magnitude", "jobs"])
def test_every_cell_needs_finite_numbers(column, bad):
    columns = {
        "value": np.array([600.0, 100, 200, 300]), "magnitude": np.array([600.0, 100, 200, 300]),
        "jobs": np.array([60.0, 10, 20, 30]),
    }  # fmt: skip
    columns[column][2] = bad
    with pytest.raises(TableError, match=f"1 cells have no finite {column}, e\\.g\\. 'B'") as error:
        one_way(columns["value"], magnitude=columns["magnitude"], extra={"jobs": columns["jobs"]})
    assert error.value.offenders == ["B"]
    assert_keeps_quiet(error, 600, 200, 300)


@pytest.mark.parametrize("bad", [[5.0, np.nan], [np.inf, 0.0], [np.inf, -np.inf]])
def test_largest_contributions_are_finite_too(bad):
    with pytest.raises(TableError, match="no finite top contributions"):
        one_way([6, 6, 0, 0], top=np.array([[5.0, 1.0], bad, [0, 0], [0, 0]]))


@pytest.mark.parametrize("counts", [[3, -1, 2, 2], [3, 1.0, np.nan, 2]])
def test_counts_are_counts(counts):
    with pytest.raises(TableError, match=r"1 cells have (a negative|no finite) count"):
        one_way([321, 123, 99, 99], count=counts)


@pytest.mark.parametrize(
    ("column", "content"),
    [
        ("count", [1, 2, 3]),
        ("magnitude", np.ones(5)),
        ("top", np.zeros((3, 2))),
        ("top_contributor", np.zeros((5, 2))),
        ("requested", np.zeros((3, 2), bool)),
        ("names", ("a", "b")),
        ("extra", {"jobs": np.ones(3)}),
    ],
)
def test_columns_have_one_entry_a_cell(column, content):
    with pytest.raises(TableError, match=r"4 cells, but columns of other lengths: '(jobs|\w+)'") as error:
        one_way([6, 1, 2, 3], **{column: content})
    assert error.value.offenders == ["jobs" if column == "extra" else column]


def test_relations_are_about_the_cells_of_the_table():
    with pytest.raises(TableError, match="'relations'"):
        Table({}, [], [1, 2], sparse.csr_array((0, 3)), names=("a", "b"))


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param(np.zeros((2, 15)), id="too few"),
        pytest.param(np.zeros((2, 17)), id="too many"),
        pytest.param(np.indices((4, 4)).reshape(2, -1).T, id="one row a cell"),
        pytest.param(np.zeros(32), id="in one line"),
        pytest.param([], id="none"),
    ],
)
def test_codes_are_one_row_a_dimension(codes):
    """A transposed array has as many numbers, and must not be cut up differently without a word."""
    with pytest.raises(TableError, match="2 dimensions and 16 cells"):
        Table.from_cells({"row": ROWS, "column": COLUMNS}, codes, CORRECTED)
    with pytest.raises(TableError, match="2 dimensions and 16 cells"):
        Table({"row": ROWS, "column": COLUMNS}, codes, CORRECTED, sparse.csr_array((0, 16)))


@pytest.mark.parametrize("code", [-1, 4])
def test_codes_are_in_the_hierarchy(code):
    with pytest.raises(TableError, match="1 cells have codes outside the hierarchy of 'row'"):
        Table.from_cells({"row": ROWS}, [0, 1, code], [3, 1, 2])


def test_cells_occur_once():
    with pytest.raises(TableError, match="1 cells occur more than once"):
        Table.from_cells({"row": ROWS}, [0, 1, 1], [2, 1, 1])
    with pytest.raises(TableError, match="same name: 'a'"):
        Table({}, [], [1, 2, 3], sparse.csr_array((0, 3)), names=("a", "b", "a"))


def test_missing_totals_are_named_once_with_what_to_do():
    with pytest.raises(TableError, match=r"2 totals are missing.*unpublished_totals=True") as error:
        Table.from_cells({"row": ROWS, "column": COLUMNS}, [[1, 1, 0], [1, 0, 2]], [111, 222, 333])
    assert sorted(error.value.offenders) == ["Total × I", "Total × Total"]
    assert_keeps_quiet(error, 111, 222, 333)


def test_a_table_of_no_cells():
    table = Table.from_cells({"row": ROWS}, [], [])
    assert len(table) == 0
    assert table.labels() == []
    assert len(table.check_additive().frame()) == 0


# -- looking at it ---------------------------------------------------------------------------------------------


def test_repr_shows_the_shape_and_no_value():
    table = two_way(response="turnover")
    assert repr(table) == "Table(turnover by row × column: 16 cells, 8 relations)"
    assert str(table) == repr(table)
    unnamed = Table({}, [], [1234.5], sparse.csr_array((0, 1)), names=("a",))
    assert repr(unnamed) == "Table(value: 1 cells, 0 relations)"


def test_cells_are_found_by_label_or_by_codes():
    table = two_way()
    assert table.label(5) == "A × I"
    assert table.labels([5, 0]) == ["A × I", "Total × Total"]
    assert table.labels(5) == ["A × I"]
    assert len(table.labels()) == len(table) == 16
    assert table.index("A × I") == table.index(("A", "I")) == 5
    assert all(table.index(label) == i for i, label in enumerate(table.labels()))
    with pytest.raises(TableError, match="no cell 'A × IV'") as error:
        table.index(("A", "IV"))
    assert error.value.offenders == ["A × IV"]
    assert_keeps_quiet(error, *CORRECTED)


def test_named_cells_are_found_by_name():
    table = Table({}, [], [1, 2], sparse.csr_array((0, 2)), names=("x 1", "x 2"))
    assert table.index("x 2") == 1
    assert table.labels() == ["x 1", "x 2"]
    assert table.frame().columns.tolist() == ["cell", "value"]


def test_unicode_codes_make_labels():
    hierarchy = Hierarchy.flat(["Île de", "日本"], total="Σ")
    table = Table.from_cells({"région": hierarchy}, range(3), [3, 1, 2])
    assert table.index("Île de") == 1
    assert "région" in repr(table)


def test_codes_that_would_make_labels_ambiguous_are_refused():
    """ "a × b" × "c" and "a" × "b × c" would be the same label, and a pattern file could suppress the wrong cell."""
    with pytest.raises(TableError, match="separates codes in labels"):
        Table.from_cells({"d": Hierarchy.flat(["a × b", "c"])}, range(3), [3, 1, 2])


def test_the_finest_cells_are_no_totals_of_others():
    nested = Hierarchy.from_pairs([("A", ""), ("B", ""), ("a", "A")])
    table = Table.from_cells({"d": nested}, [0, 1, 2, 3], [3, 1, 2, 1])
    assert table.is_base.tolist() == [False, False, True, True]


def test_the_grid_counts_empty_cells_too():
    assert two_way().n_combinations == 16
    assert Table.from_cells({"row": ROWS, "column": COLUMNS}, [[0], [0]], [0]).n_combinations == 16
    long = Hierarchy.flat(map(str, range(9_999)))
    assert Table.from_cells(dict.fromkeys("abcdefgh", long), np.zeros((8, 1)), [0]).n_combinations == 10**32


def test_a_frame_has_all_columns():
    table = one_way([6, 1, 2, 3], count=[3, 1, 1, 1], top=[[3, 2], [1, 0], [2, 0], [3, 0]], response="turnover")
    frame = table.frame()
    assert frame.columns.tolist() == ["row", "turnover", "count", "top1", "top2"]
    assert frame["row"].tolist() == ["Total", "A", "B", "C"]
    assert frame["top1"].tolist() == [3, 1, 2, 3]


def test_magnitude_is_the_absolute_value_unless_given():
    assert one_way([-6, -1, -2, -3]).magnitude.tolist() == [6, 1, 2, 3]
    assert one_way([0, 1, -1, 0], magnitude=[2, 1, 1, 0]).magnitude.tolist() == [2, 1, 1, 0]


def test_values_are_kept_exactly():
    value = [1e15 + 0.25, 1e15, 0.1, 0.15]
    assert one_way(value).value.tolist() == value


# -- digest ----------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 15), st.sampled_from([-1e-9, 1e-9, 1.0]))
def test_any_change_of_a_value_changes_the_digest(cell, change):
    table = two_way()
    value = table.value.copy()
    value[cell] += change
    assert table.with_columns(value=value).digest != table.digest


def test_the_same_table_has_the_same_digest_every_time():
    assert two_way().digest == two_way().digest
    wide = two_way()
    relations = sparse.csr_array(wide.relations)
    relations.indices, relations.indptr = relations.indices.astype(np.int64), relations.indptr.astype(np.int64)
    assert wide.with_columns(relations=relations).digest == wide.digest, "however wide the integers are"


def test_checking_a_table_does_not_change_its_digest():
    """SciPy sorts the terms of a relation when it first needs them sorted."""
    checked = two_way()
    checked.check_additive()
    assert checked.digest == checked.with_columns().digest == two_way().digest


def test_the_order_in_which_a_relation_lists_its_terms_does_not_matter():
    tables = [
        Table({}, [], [3, 1, 2], from_equations([equation], 3), names=("t", "a", "b"))
        for equation in [([0, 1, 2], [-1, 1, 1]), ([2, 0, 1], [1, -1, 1])]
    ]
    assert tables[0].digest == tables[1].digest


def test_the_digest_tells_codes_dimensions_names_and_relations_apart():
    relation = from_equations([([0, 1], [-1, 1])], 2)
    renamed = {"row": Hierarchy.flat(["A", "B", "D"]), "column": COLUMNS}
    several = [
        two_way(),
        two_way(CORRECTED[::-1]),
        two_way().with_columns(dimensions=renamed),
        two_way().with_columns(dimensions={"rows": ROWS, "column": COLUMNS}),
        two_way().with_columns(codes=two_way().codes[::-1]),
        two_way().with_columns(relations=two_way().relations[1:], rhs=None),
        one_way([1, 1]),
        Table({"r": Hierarchy.flat(["A"], "owTotal")}, [0, 1], [1, 1], relation),
        Table({"row": Hierarchy.flat(["A"])}, [0, 1], [1, 1], relation),
        Table({}, [], [1, 1], relation, names=("a", "b")),
        Table({}, [], [1, 1], relation, names=("a", "c")),
        Table({}, [], [1, 1], relation, names=("a", "c"), rhs=np.array([1e-9])),
        Table({}, [], [1, 1], from_equations([([0, 1], [1, -1])], 2), names=("a", "b")),
    ]
    assert len({table.digest for table in several}) == len(several)


@pytest.mark.parametrize("weight", [1e-9, 1e-5, 1e5, 1e16, 1e300])
def test_relations_beyond_what_a_solver_can_be_trusted_with_are_refused(weight):
    """With a weight of 1e-9 the solver drops the term, and an exactly computable cell would be called safe."""
    with pytest.raises(TableError, match="Rescale the cells"):
        Table({}, np.zeros((0, 3)), [100, 500, 500], sparse.csr_array([[weight, 1, -1]]), names=("a", "b", "c"))


def test_terms_with_weight_zero_are_no_terms():
    table = Table(
        {},
        np.zeros((0, 2)),
        [5, 5],
        sparse.csr_array(([1.0, -1.0, 0.0], ([0, 0, 1], [0, 1, 0])), (2, 2)),
        names=("a", "b"),
    )
    assert table.relations.nnz == 2


def test_terms_given_in_parts_are_added_up():
    """A sparse array may have several entries in one place, which means their sum."""
    parts = sparse.csr_array(([1.0, 0.5, 0.5, -1.0, 2.0, -2.0], [0, 1, 1, 2, 0, 0], [0, 6]), shape=(1, 3))
    before = parts.nnz
    table = Table({}, np.zeros((0, 3)), [1, 2, 2], parts, names=tuple("abc"))
    plain = Table({}, np.zeros((0, 3)), [1, 2, 2], sparse.csr_array([[1.0, 1.0, -1.0]]), names=tuple("abc"))
    assert table.relations.toarray().tolist() == [[1, 1, -1]]
    assert table.relations.nnz == 3
    assert table.digest == plain.digest
    assert parts.nnz == before  # the caller's own is left alone


# -- who contributes ---------------------------------------------------------------------------------------------------


def test_without_contributions_the_largest_tell_who_is_in_the_finest_cells():
    who = np.array([[-1, -1], [0, 1], [1, -1], [0, -1]])
    table = one_way(
        [60, 30, 20, 10], top=[[41, 19], [30, -1], [20, 0], [10, 0]], top_contributor=who, contributors=("f", "g")
    )
    given = table.respondents()
    assert given.names == ("f", "g")
    assert [given.of(0)[0].tolist(), given.of(0)[1].tolist()] == [[1, 3], [30, 10]]
    assert given.of(1)[1].tolist() == [1, 20]  # in absolute value
    nameless = one_way([60, 30, 20, 10], top=[[41, 19], [29, 1], [20, 0], [10, 0]]).respondents()
    assert nameless.names == ("respondent 1 of A", "respondent 2 of A", "respondent 1 of B", "respondent 1 of C")


def test_a_table_knows_its_respondents_if_it_lists_all_contributors():
    values, top = [60, 30, 20, 10], [[41, 19], [29, 1], [20, 0], [10, 0]]
    assert one_way(values, top=top, count=[4, 2, 1, 1]).knows_respondents
    assert not one_way(values, top=top, count=[5, 3, 1, 1]).knows_respondents
    assert not one_way(values, top=top).knows_respondents


def test_a_table_that_knows_nobody_says_so():
    with pytest.raises(TableError, match="holds no contributors"):
        two_way().respondents()
