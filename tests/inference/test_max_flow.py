"""Network flows: which components are networks, and that flows find in them what linear programs find."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet.arrays import FloatArray
from discreet.data.table import Table
from discreet.inference import max_flow_kernel as flow_kernel
from discreet.inference.congruent_tables import components
from discreet.inference.deviations import ComponentFindings
from discreet.inference.max_flow import Network, fits_integers, network, search_network
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.testing import random_hierarchy, random_table

TABLES = {
    "1-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 9, levels=3),)),
    "2-D": lambda rng: random_table(rng, (4, 5), negative=0.2),
    "2-D, one hierarchy": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2), 3)),
    "2-D, one deep hierarchy": lambda rng: random_table(rng, (3, random_hierarchy(rng, 10, levels=3)), negative=0.1),
    "2-D, one very deep hierarchy": lambda rng: random_table(rng, (random_hierarchy(rng, 16, levels=4), 2)),
}
BOUNDS = {
    "sign": lambda rng, size: (-size, np.full(len(size), np.inf)),
    "whole": lambda rng, size: (-np.rint(size), np.rint(2 * size)),
    "cents": lambda rng, size: (-size, np.round(size * rng.random(len(size)), 2)),
    "floats": lambda rng, size: (-size * rng.random(len(size)), size * rng.random(len(size))),
    "zeros": lambda rng, size: tuple(s * np.where(rng.random(len(size)) < 0.3, 0, np.rint(size)) for s in (-1, 1)),
    "often none": lambda rng, size: tuple(np.where(rng.random(len(size)) < 0.5, s * np.inf, s * size) for s in (-1, 1)),
    "hardly any": lambda rng, size: tuple(np.where(rng.random(len(size)) < 0.9, s * np.inf, s * size) for s in (-1, 1)),
}
Component = tuple[sparse.csr_array, FloatArray, FloatArray]


def parts(rng: np.random.Generator, table: Table, share: float) -> Iterator[tuple[sparse.csr_array, FloatArray]]:
    """Components when this share of the cells is suppressed, with the sizes of their cells."""
    for cells, relations in components(table.relations, rng.random(len(table)) < share):
        yield relations, table.magnitude[cells]


def cases(kind: str, bounds: str, seeds: int = 2) -> Iterator[tuple[np.random.Generator, Component, Network]]:
    for seed in range(seeds):
        rng = np.random.default_rng([seed, list(TABLES).index(kind), list(BOUNDS).index(bounds)])
        for relations, size in parts(rng, TABLES[kind](rng), rng.choice([0.5, 0.7, 1.0])):
            if len(size) == 1:
                continue
            net = network(relations)
            assert net is not None
            low, high = BOUNDS[bounds](rng, size)
            yield rng, (relations, low, high), net


def explore(net: Network, component: Component, **options) -> ComponentFindings:
    """All intervals, by default."""
    n = len(component[1])
    asked = {"targets": np.arange(n), "level": np.zeros((2, n)), "sliding": np.zeros(n), "intervals": True} | options
    return search_network(net, *component[1:], **asked)


def solve(component: Component, column: int, side: int) -> float:
    """How far a column moves, by a plain linear program. No bound here is farther away than a million."""
    relations, low, high = component
    bounds = np.stack([low, high], axis=1)
    bounds[column] = np.clip(bounds[column], -1e7, 1e7)
    goal = np.where(np.arange(len(low)) == column, 1 - 2 * side, 0)
    solved = linprog(goal, A_eq=relations, b_eq=np.zeros(relations.shape[0]), bounds=bounds, method="highs-ds")
    assert solved.status == 0
    return abs(solved.x[column]) if abs(solved.x[column]) < 9e6 else np.inf


def check_tables(found: ComponentFindings, component: Component) -> None:
    """Every table keeps the relations and the bounds, and its largest multiple shows what it is said to show."""
    relations, low, high = component
    difference = np.zeros((len(found.tables), len(low)))
    for k, table in enumerate(found.tables):
        assert len(np.unique(table.cells)) == len(table.cells)
        difference[k, table.cells] = table.amount
    whole = all((bound[np.isfinite(bound)] % 1 == 0).all() for bound in (low, high))
    off = np.abs(relations @ difference.T).max(axis=0, initial=0.0)
    assert (off <= (0.0 if whole else 1e-12 * np.abs(difference).max(axis=1, initial=0.0))).all()
    assert (difference >= low).all()
    assert (difference <= high).all()
    assert set(found.shown.ravel().tolist()) | {-1} == {-1, *range(len(found.tables))}
    for side, column in zip(*np.nonzero(found.shown >= 0), strict=True):
        way = difference[found.shown[side, column]]
        way = way if (way[column] > 0) == (side == 1) else -way
        moving = way != 0
        multiple = (np.where(way > 0, high, low)[moving] / way[moving]).min()
        assert multiple * abs(way[column]) == pytest.approx(found.reach[side, column], rel=1e-9)
    assert (found.reach[found.shown < 0] == 0).all()


def safe(found: ComponentFindings, level: FloatArray, sliding: FloatArray) -> list[bool]:
    enough = (found.reach >= level * (1 - LEVEL_TOLERANCE)).all(axis=0) & (
        found.reach.sum(axis=0) >= sliding * (1 - LEVEL_TOLERANCE)
    )
    return enough.tolist()


# -- how far ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("kind", TABLES)
def test_flows_reach_what_linear_programs_reach(kind, bounds):
    for rng, component, net in cases(kind, bounds):
        found = explore(net, component)
        assert found.reach.tolist() == found.limit.tolist()
        check_tables(found, component)
        for column in rng.permutation(len(component[1]))[:3]:
            expected = [solve(component, column, side) for side in (0, 1)]
            assert found.reach[:, column] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("kind", TABLES)
def test_a_verdict_follows_from_the_intervals_and_claims_no_more(kind, bounds):
    """Levels of all sizes, some out of reach, some needed in both directions together."""
    for rng, component, net in cases(kind, bounds):
        exact = explore(net, component)
        far = np.where(np.isfinite(exact.reach), exact.reach, 50.0)
        level = far * rng.choice([0.0, 0.3, 0.9, 1.0, 1.2], far.shape)
        sliding = far.sum(axis=0) * rng.choice([0.0, 0.5, 0.9, 1.0, 1.2], far.shape[1])
        quick = explore(net, component, level=level, sliding=sliding, intervals=False)
        check_tables(quick, component)
        assert safe(quick, level, sliding) == safe(exact, level, sliding)
        assert (quick.reach <= exact.reach * (1 + 1e-9)).all()
        assert (quick.limit >= exact.reach * (1 - 1e-9)).all()
        short = quick.reach < level * (1 - LEVEL_TOLERANCE)
        assert (quick.limit == quick.reach)[short].all()


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_order_of_targets_does_not_matter(bounds):
    for rng, component, net in cases("2-D, one hierarchy", bounds):
        found = explore(net, component)
        turned = explore(net, component, targets=rng.permutation(len(component[1])))
        assert turned.reach == pytest.approx(found.reach, rel=1e-12 if bounds == "floats" else 0, abs=0)


def test_only_targets_are_looked_at():
    for _, component, net in cases("2-D", "whole"):
        every, some = explore(net, component), explore(net, component, targets=np.array([0]))
        assert some.reach[:, 0].tolist() == every.reach[:, 0].tolist()
        assert not some.reach[:, 1:].any()
        assert (some.shown[:, 1:] == -1).all()


def test_results_do_not_depend_on_keeping_tables_or_on_the_size_of_the_buffer(monkeypatch):
    for _, component, net in cases("2-D", "cents"):
        found, bare = explore(net, component), explore(net, component, certify=False)
        monkeypatch.setattr(flow_kernel, "MIN_BUFFER_SIZE", 0)
        often_emptied = explore(net, component)
        monkeypatch.undo()
        assert bare.reach.tolist() == often_emptied.reach.tolist() == found.reach.tolist()
        assert bare.tables == []
        assert (bare.shown == -1).all()
        assert often_emptied.shown.tolist() == found.shown.tolist()
        assert [t.amount.tolist() for t in often_emptied.tables] == [t.amount.tolist() for t in found.tables]


def test_one_table_shows_what_it_can_about_all_targets_in_it():
    """A square of cells: one cycle, moved once, settles both directions of all four."""
    relations = sparse.csr_array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    component = relations, -np.ones(4), np.full(4, 2.0)
    found = explore(network(relations), component, level=np.full((2, 4), 0.5), intervals=False)
    assert len(found.tables) == 1
    assert (found.reach >= 0.5).all()


@pytest.mark.parametrize("spread", [3, 6, 9, 12])
def test_whole_numbers_of_any_size_are_exact(spread):
    """Cells of 1 beside cells of 10¹²: no digit is lost in either."""
    rng = np.random.default_rng(spread)
    for relations, _ in parts(rng, random_table(rng, (5, 5)), 0.7):
        net, n = network(relations), relations.shape[1]
        low, high = -np.floor(10 ** rng.uniform(0, spread, n)), np.floor(10 ** rng.uniform(0, spread, n))
        found = explore(net, (relations, low, high))
        check_tables(found, (relations, low, high))
        assert (found.reach % 1 == 0).all()


def test_bounds_that_were_worked_out_a_hair_too_wide_are_taken_for_what_they_are():
    """Propagation leaves 1261.0000000013; the answer is as whole as the table."""
    for _, (relations, low, high), net in cases("2-D", "whole"):
        expected = explore(net, (relations, low, high))
        found = explore(net, (relations, low * (1 + 3e-12), high * (1 + 3e-12)))
        assert found.reach.tolist() == expected.reach.tolist() == found.limit.tolist()


def test_tables_in_floats_keep_the_relations_to_the_last_digit_too():
    """Bounds that are not round are cut to whole multiples of a power of two; where flows stop, nothing else is lost."""
    for _, (relations, low, high), net in cases("2-D", "floats"):
        found = explore(net, (relations, low, high))
        for table in found.tables:
            difference = np.zeros(len(low))
            difference[table.cells] = table.amount
            assert not (relations @ difference).any()
            assert ((low <= difference) & (difference <= high)).all()
        assert (found.reach <= found.limit).all()
        assert found.limit == pytest.approx(found.reach, rel=1e-9)


def test_a_slack_that_is_rounded_to_zero_gives_no_limit():
    """A slack of 3 beside one of 10¹⁹ is rounded to zero; then the limit of its cell is not known."""
    component = sparse.csr_array([[1.0, 1.0, 1.0]]), -np.array([np.pi, 3.0, 1e19]), np.array([np.pi, 3.0, 1e19])
    found = explore(network(component[0]), component)
    assert found.reach.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert found.limit.tolist() == [component[2].tolist()] * 2


# -- without end ------------------------------------------------------------------------------------------------


def test_a_cell_is_endless_if_a_cycle_is():
    """x − y = 0, y − z = 0, with no bounds above: they go up together for ever, and down to the nearest bound."""
    component = sparse.csr_array([[1.0, -1, 0], [0, 1, -1]]), np.array([-3.0, -2, -5]), np.full(3, np.inf)
    found = explore(network(component[0]), component)
    assert found.reach.tolist() == [[2, 2, 2], [np.inf] * 3]
    assert len(set(found.tables[found.shown[1, 0]].amount.tolist())) == 1
    check_tables(found, component)


def test_a_free_cell_is_not_endless_by_itself():
    """x goes anywhere, but only as far as y and z take what it leaves behind."""
    free, some = np.array([np.inf, 2, 3]), np.array([[1.0, 1, 1]])
    found = explore(network(sparse.csr_array(some)), (sparse.csr_array(some), -free, free))
    assert found.reach.tolist() == [[5, 2, 3], [5, 2, 3]]


def test_hidden_totals_let_cells_rise_without_end_but_not_fall():
    rng = np.random.default_rng(0)
    table = random_table(rng, (3, 3), zeros=0)
    (cells, relations), *_ = components(table.relations, np.ones(len(table), dtype=bool))
    component = relations, -table.value[cells], np.full(len(cells), np.inf)
    found = explore(network(relations), component)
    assert (found.reach[1] == np.inf).all()
    assert found.reach[0] == pytest.approx(table.value[cells])
    check_tables(found, component)


# -- odd networks -----------------------------------------------------------------------------------------------


def test_a_cell_in_no_relation_moves_as_it_likes():
    component = sparse.csr_array((0, 2)), np.array([-1.0, 0.0]), np.array([np.inf, 2.5])
    found = explore(network(component[0]), component)
    assert found.reach.tolist() == [[1, 0], [np.inf, 2.5]]
    check_tables(found, component)


def test_a_cell_alone_in_a_relation_does_not_move_and_pins_others():
    relations = sparse.csr_array([[1.0, 0, 0, 0], [1, -1, 0, 0], [0, 1, 1, 1]])
    found = explore(network(relations), (relations, np.full(4, -2.0), np.full(4, 1.0)))
    assert found.reach.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1]]
    assert found.limit.tolist() == found.reach.tolist()


def test_parallel_cells_add_up():
    """Four cells between the same two relations."""
    relations = sparse.csr_array([[1.0, 1, 1, 1], [-1, -1, -1, -1]])
    found = explore(network(relations), (relations, -np.arange(1.0, 5), np.arange(1.0, 5)))
    assert found.reach.tolist() == [[1, 2, 3, 4], [1, 2, 3, 4]]
    tight = explore(network(relations), (relations, -np.array([9.0, 1, 1, 1]), np.array([9.0, 2, 1, 1])))
    assert tight.reach[:, 0].tolist() == [4, 3]


def test_cells_of_one_relation_only_go_to_the_ground():
    relations = sparse.csr_array([[1.0, 1, 0], [0, -1, 1]])
    found = explore(network(relations), (relations, np.array([-4.0, -3, -9]), np.array([1.0, 7, 9])))
    assert found.reach.tolist() == [[4, 1, 1], [1, 4, 4]]


# -- what is a network --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 1.0])
def test_tables_with_one_hierarchy_are_networks_whatever_is_hidden(kind, share):
    rng = np.random.default_rng([list(TABLES).index(kind), int(10 * share)])
    for _ in range(5):
        for relations, _ in parts(rng, TABLES[kind](rng), share):
            assert network(relations) is not None


@pytest.mark.parametrize(
    "shape", [(3, 3, 3), (2, 2, 2, 2), (5, 4, 2)], ids=["three-way", "four-way", "three-way, oblong"]
)
@pytest.mark.parametrize("share", [0.8, 1.0])
def test_tables_of_more_dimensions_are_refused(shape, share):
    rng = np.random.default_rng(len(shape))
    relations, _ = max(parts(rng, random_table(rng, shape, zeros=0), share), key=lambda part: part[0].shape[1])
    assert network(relations) is None


def test_two_crossed_hierarchies_are_refused():
    rng = np.random.default_rng(0)
    table = random_table(rng, (random_hierarchy(rng, 6, levels=2), random_hierarchy(rng, 6, levels=2)), zeros=0)
    ((relations, _),) = parts(rng, table, 1.0)
    assert network(relations) is None


def test_groupings_that_do_not_nest_are_refused():
    rng = np.random.default_rng(0)
    table = random_table(rng, (random_hierarchy(rng, 8, levels=2, trees=2), 3), zeros=0)
    ((relations, _),) = parts(rng, table, 1.0)
    assert network(relations) is None


def test_other_weights_than_one_are_refused():
    assert network(sparse.csr_array([[1.0, 2, -1]])) is None


def test_relations_that_cannot_be_turned_to_opposite_signs_are_refused():
    """x + y, y + z and z + x with something else each: an odd cycle."""
    odd = [[1.0, 1, 0, 1, 0, 0, 1], [0, 1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1, 1]]
    assert network(sparse.csr_array(odd)) is None
    even = [[1.0, 1, 0, 1, 0, 0, -1], [0, -1, 1, 0, 1, 0, 0], [-1, 0, -1, 0, 0, 1, 1]]
    assert network(sparse.csr_array(even)) is not None


def test_a_relation_is_left_out_only_if_it_is_implied():
    """Three relations share three cells. As it stands the third says something new; their sum would not."""
    rows = np.array([[1.0, 1, 1, 1, 0], [-1, -1, -1, 0, 1]])
    assert network(sparse.csr_array(np.vstack([rows, [[1, -1, 1, 0, 0]]]))) is None
    assert network(sparse.csr_array(np.vstack([rows, rows.sum(axis=0)]))) is not None


def test_a_relation_is_never_left_out_by_chance():
    """In earlier versions one random circulation decided what is implied; these cells happen to sum to zero in it."""
    cells = [1, 3, 4, 7, 8, 10, 11, 13, 16, 17, 18, 22, 25, 29, 33, 35, 37, 43]
    cells += [48, 50, 51, 53, 54, 57, 59, 60, 63, 69, 70, 71, 73, 74, 75, 77, 81, 85]
    flow = np.random.default_rng(0).integers(-(2**62), 2**62, 92)
    assert flow[cells].sum() == 0  # modulo 2 to the 64
    rows = np.zeros((3, 92))
    rows[0, :91], rows[1, :90], rows[1, 91], rows[2, cells] = 1, -1, 1, 1
    assert network(sparse.csr_array(rows)) is None


def merged(relations: sparse.csr_array) -> sparse.csr_array:
    """As long as a relation holds one cell only, leave that out; as long as one holds two, replace one by the other."""
    matrix = relations.toarray()
    while (np.count_nonzero(matrix, axis=1) <= 2).any():
        row = matrix[np.argmax(np.count_nonzero(matrix, axis=1) <= 2)].copy()
        *kept, gone = np.flatnonzero(row)
        for column in kept:
            matrix[:, column] -= matrix[:, gone] * (row[column] / row[gone])
        matrix = np.delete(matrix, gone, axis=1)
        matrix = matrix[matrix.any(axis=1)]
    distinct = {tuple(row * row[np.flatnonzero(row)[0]]) for row in matrix}  # copies may have all signs turned
    return sparse.csr_array(np.array(sorted(distinct)).reshape(len(distinct), matrix.shape[1]))


@pytest.mark.parametrize("kind", [kind for kind in TABLES if "2-D" in kind])
def test_networks_are_found_after_cells_were_merged(kind):
    """Merging uses up relations that would have been left out: the network has to be put together in another way."""
    rng = np.random.default_rng(list(TABLES).index(kind))
    met = seen = 0
    for _ in range(12):
        for raw, _ in parts(rng, TABLES[kind](rng), 0.7):
            relations = merged(raw)
            n = relations.shape[1]
            if n < 3:
                continue
            net = network(relations)
            met, seen = met + (net is not None), seen + 1
            if net is not None:
                component = relations, -rng.integers(0, 9, n).astype(float), rng.integers(0, 9, n).astype(float)
                found = explore(net, component)
                check_tables(found, component)
                for column in rng.permutation(n)[:2]:
                    expected = [solve(component, column, side) for side in (0, 1)]
                    assert found.reach[:, column] == pytest.approx(expected, abs=1e-6)
    assert met >= 0.9 * seen > 0


def test_importing_the_package_does_not_load_the_compiler():
    subprocess.run([sys.executable, "-c", "import discreet, sys; assert 'numba' not in sys.modules"], check=True)


# -- numbers of very different size -------------------------------------------------------------------------------


@pytest.mark.parametrize("tiny", [1e-6, 1e-9, 1e-12, 1e-15])
def test_hardly_any_room_is_not_none(tiny):
    """Rounded to whole numbers of a millionth, slack of a billionth would be none, and the cell beside it known."""
    for _, (relations, low, high), net in cases("2-D", "whole"):
        low, high = np.where(np.arange(len(low)) % 3, low, -tiny), np.where(np.arange(len(low)) % 3, high, tiny)
        found = explore(net, (relations, low, high))
        whole = explore(net, (relations, np.rint(low / tiny), np.rint(high / tiny)))
        assert found.reach == pytest.approx(whole.reach * tiny, rel=1e-4, abs=0)


def test_flows_are_left_to_linear_programs_where_rounding_errors_would_swamp_them():
    assert fits_integers(-np.array([1e12, 3.0]), np.array([0.001, np.inf]))  # whole thousandths
    assert fits_integers(-np.array([np.pi, 3.0]), np.array([1e8, np.inf]))
    assert not fits_integers(-np.array([np.pi, 3.0]), np.array([1e10, np.inf]))
    assert fits_integers(-np.array([100.0, 3.0]), np.array([1e-9, np.inf]))  # whole billionths
    assert not fits_integers(-np.array([100.0, 3.0]), np.array([1e-9 * np.pi, np.inf]))
    assert fits_integers(np.full(2, -np.inf), np.full(2, np.inf))
