"""Systems made to deceive a solver: chains that amplify its tolerance or make it vanish, slacks of all sizes, near-copies.

Relations may blow up what a solver lets pass, or shrink what it must not. Nothing that is not so may be called safe. The truth
comes from the simplex method in fractions below, which shares no code with the audit.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.data.table import Table
from discreet.inference import congruent_tables
from discreet.inference.integer_system import IntegerSystem, integer_weights, nonintegral_relations
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, pose

Row = dict[str, float]
pytestmark = pytest.mark.usefixtures("levels_alone")

INF = math.inf
ENOUGH = 1 - Fraction(1, 10**7)  # the share of a level that counts as all of it
LINE = Fraction(1, 10**8)  # nearer to the line than this share the verdict is a matter of the last digit


class System:
    """Suppressed cells by name, each with a value, slack below and above, and levels down and up if it is sensitive."""

    def __init__(self) -> None:
        self.cells: dict[str, tuple[float, float, float]] = {}
        self.levels: dict[str, tuple[float, float]] = {}
        self.relations: list[Row] = []

    def cell(self, name: str, down: float, up: float | None = None, value: float = 0.0) -> str:
        self.cells[name] = value, down, down if up is None else up
        return name

    def holds(self, relation: Row | None = None, **weights: float) -> None:
        self.relations.append({**(relation or {}), **weights})

    def posed(self) -> tuple[Problem, Protection]:
        names = list(self.cells)
        value, down, up = (np.array(column, dtype=float) for column in zip(*self.cells.values(), strict=True))
        dense = np.array([[row.get(name, 0.0) for name in names] for row in self.relations])
        n = len(names)
        table = Table({}, np.zeros((0, n), int), value, sparse.csr_array(dense), names=tuple(names), rhs=dense @ value)
        status = np.array([Status.PRIMARY if name in self.levels else 0 for name in names], dtype=np.int8)
        lower, upper = (np.array([self.levels.get(name, (0, 0))[k] for name in names], dtype=float) for k in (0, 1))
        problem = Problem(table, status, np.ones(n), lower, upper, np.zeros(n), value - down, value + up)
        return problem, suppress(problem, np.ones(n, dtype=bool))

    def truth(self, problem: Problem, name: str) -> tuple[Fraction | float, Fraction | float]:
        """How far a cell goes down and up."""
        value = problem.table.value
        slacks = []
        for end in (problem.prior_lower, problem.prior_upper):
            slacks.append([_exact(a) - _exact(b) if np.isfinite(a) else a for a, b in zip(end, value, strict=True)])
        rows = [
            {list(self.cells).index(cell): _exact(weight) for cell, weight in row.items()} for row in self.relations
        ]
        cell = list(self.cells).index(name)
        return tuple(farthest(rows, *slacks, cell, sign) for sign in (-1, 1))


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def farthest(rows, low, high, cell, sign):
    """Maximise ``sign · d[cell]`` with all rows zero and ``low <= d <= high``: Bland's rule on a dense tableau.

    Every move is two columns, up and down, each with its bound; zero is feasible, so that the slacks are the first basis.
    """
    moves = [(i, way) for i in range(len(low)) for way in (1, -1) if (high[i] if way > 0 else low[i]) != 0]
    lines = [([Fraction(row.get(i, 0)) * way for i, way in moves], Fraction(0)) for row in rows]
    lines += [([-x for x in line], Fraction(0)) for line, _ in lines]  # = as <= and >=
    for k, (i, way) in enumerate(moves):
        slack = high[i] if way > 0 else -low[i]
        if slack != INF:
            lines.append(([Fraction(int(j == k)) for j in range(len(moves))], Fraction(slack)))
    m, n = len(lines), len(moves)
    tableau = [[*line, *(Fraction(int(r == j)) for j in range(m)), slack] for r, (line, slack) in enumerate(lines)]
    gain = [Fraction(sign * way if i == cell else 0) for i, way in moves] + [Fraction(0)] * (m + 1)
    basis = list(range(n, n + m))
    while True:
        entering = next((k for k in range(n + m) if gain[k] > 0), None)
        if entering is None:
            return -gain[-1]
        ratios = [(row[-1] / row[entering], basis[r], r) for r, row in enumerate(tableau) if row[entering] > 0]
        if not ratios:
            return INF
        r = min(ratios)[2]
        pivot = tableau[r][entering]
        tableau[r] = [x / pivot if x else x for x in tableau[r]]
        used = [k for k, x in enumerate(tableau[r]) if x]
        for row in (*(other for k, other in enumerate(tableau) if k != r), gain):
            if row[entering]:
                times = row[entering]
                for k in used:
                    row[k] -= times * tableau[r][k]
        basis[r] = entering


def check(system: System, known: dict[str, tuple[float, float]] | None = None) -> None:
    """Both modes say of each cell what is true of it, and intervals are right."""
    problem, protection = system.posed()
    for intervals in (True, False):
        checked = audit(problem, protection, intervals=intervals)
        for k, cell in enumerate(checked.cell):
            name = problem.table.names[cell]
            reach = known[name] if known else system.truth(problem, name)
            levels = [_exact(level) for level in system.levels[name]]
            for share, safe in ((ENOUGH - LINE, False), (ENOUGH + LINE, True)):
                enough = all(far >= level * share for far, level in zip(reach, levels, strict=True))
                if enough == safe:
                    assert checked.safe[k] == safe, (name, reach, levels, intervals)
            if intervals:
                value = problem.table.value[cell]
                found = value - checked.lower[k], checked.upper[k] - value
                size = max(abs(value), 1e-6)
                assert found == pytest.approx([float(far) for far in reach], rel=3e-7, abs=1e-9 * size), name


NEAR = (0.5, 1.0, 1 + 3e-7, 1.0001, 2.0, 10.0)  # levels as multiples of the reach


def power(rng: np.random.Generator, least: int, most: int) -> float:
    return float(f"1e{rng.integers(least, most)}")


@pytest.mark.parametrize("seed", range(40))
def test_amplified(seed):
    """Three cells add up, and so they do with y₀ − y₁; then each y is so many times the one before. Only y₀ is bounded."""
    rng = np.random.default_rng(seed)
    times = int(rng.choice([2, 3, 5, 10]))
    steps = int(rng.integers(2, 12 if times > 2 else 24))
    slack, large = power(rng, -6, 4), power(rng, 4, 13)
    reach = slack * times**steps
    if reach > large:
        large = 10 * reach
    chain = float(rng.choice([INF, large, 100 * reach]))
    system = System()
    system.cell("y0", slack)
    for name in "pqr":
        system.cell(name, large)
    for i in range(1, steps + 1):
        system.cell(f"y{i}", chain)
    group = dict.fromkeys("pqr", 1.0)
    system.holds(group)
    system.holds(group, y0=times, y1=-1)
    for i in range(1, steps):
        system.holds({f"y{i}": times, f"y{i + 1}": -1.0})
    system.levels[f"y{steps}"] = 0.0, reach * float(rng.choice(NEAR))
    known = {f"y{steps}": (reach, reach)}
    if rng.random() < 0.5:
        system.levels["p"] = large / 2, large / 10
        known["p"] = large, large
    check(system, known)


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 40))])
def test_attenuated(seed):
    """A group adds up to nothing, with and without a cell that is a tiny share of one of them: so none of that one is free."""
    rng = np.random.default_rng(seed)
    times, unit = int(rng.choice([2, 4, 5, 10])), bool(rng.integers(2))
    steps = round(float(rng.choice([7, 8, 9, 10, 11, 12, 13])) / math.log10(2 if unit else times))
    slack = power(rng, -3, 7)
    small = slack * float(rng.choice([1, 10, 1000])) if rng.random() < 0.8 else INF
    system = System()
    group = {system.cell(name, slack): 1.0 for name in ("c", "a0", "a1", "a2")[: int(rng.integers(3, 5))]}
    system.holds(group)
    before = "c"
    for i in range(steps):
        system.cell(f"z{i}", small)
        if unit:  # the one before is twice this one, by weights of one
            system.cell(f"y{i}", small)
            others = {system.cell(f"{name}{i}", slack): 1.0 for name in "pqr"}
            system.holds({before: 1.0, f"z{i}": -1.0, f"y{i}": -1.0})
            system.holds(others)
            system.holds({**others, f"z{i}": 1.0, f"y{i}": -1.0})
        else:
            system.holds({before: 1 / times, f"z{i}": -1.0} if rng.random() < 0.5 else {before: 1.0, f"z{i}": -times})
        before = f"z{i}"
    system.holds(group, **{before: 1.0})
    system.levels["c"] = (slack * float(rng.choice([1, 0.1, 1e-3])),) * 2
    check(system, {"c": (0.0, 0.0)})


@pytest.mark.parametrize("seed", range(40))
def test_hidden_behind_a_large_group(seed):
    """p + q + r = 0 and p + q + r + y − t = 0, so that t moves as y does, however large the others are."""
    rng = np.random.default_rng(seed)
    slack, large, many = power(rng, -4, 4), power(rng, 4, 13), int(rng.integers(1, 4))
    system = System()
    for name in "pqr":
        system.cell(name, large, value=float(rng.choice([0.0, large])))
        if rng.random() < 0.5:
            system.levels[name] = 0.0, large * float(rng.choice([0.1, 0.5, 1]))
    few = {system.cell(f"y{i}", slack): 1.0 for i in range(many)}
    system.cell("t", large)
    system.levels["t"] = 0.0, slack * many * float(rng.choice(NEAR))
    system.holds(dict.fromkeys("pqr", 1.0))
    system.holds({**dict.fromkeys("pqr", 1.0), **few}, t=-1)
    check(system)


@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(30, 60))])
def test_gadgets(seed):
    """Short chains of all kinds, closed in all ways, with slacks of all sizes."""
    rng = np.random.default_rng(seed)
    scale, system = power(rng, -6, 10), System()
    weights = ([2, 0.5], [10, 0.1], [2, 3, 5, 0.5, 1, 0.2, 10])[int(rng.integers(3))]

    def new() -> str:
        sizes = (INF, scale * power(rng, -6, 7), scale, 0.3 * scale, 1.5 * scale * power(rng, 0, 4), 0.0)
        down, up = (float(rng.choice(sizes, p=(0.25, 0.15, 0.2, 0.15, 0.2, 0.05))) for _ in range(2))
        return system.cell(f"x{len(system.cells)}", down, up)

    ends = []
    for _ in range(int(rng.integers(1, 3))):
        x = new()
        ends.append(x)
        for _ in range(int(rng.integers(1, 6))):
            y, weight = new(), float(rng.choice(weights)) * float(rng.choice([1, 1, 1, -1]))
            kind = int(rng.integers(4))
            if kind == 0:
                system.holds({x: weight, y: -1.0})
            elif kind == 1:
                group = {new(): 1.0, new(): 1.0}
                system.holds(group)
                system.holds({**group, x: weight, y: -1.0})
            elif kind == 2:
                system.holds({x: weight, y: -1.0, new(): 1.0})
            else:
                group = {new(): 1.0, new(): 1.0}
                system.holds({**group, x: weight})
                system.holds({**group, y: 1.0})
            x = y
        ends.append(x)
    p, q = (str(end) for end in rng.choice(ends, 2, replace=False))
    group = {new(): 1.0}
    system.holds({**group, p: 1.0})
    system.holds({**group, p: 1.0, q: float(rng.choice([1, -1]))})
    problem, _ = system.posed()
    for name in rng.choice(list(system.cells), 2, replace=False).tolist():
        reach = system.truth(problem, name)
        system.levels[name] = tuple(
            scale if far in (0, INF) else float(far) * float(rng.choice((*NEAR, 0.0))) for far in reach
        )
    check(system)


def test_no_room_below_is_none_even_if_it_is_minus_zero():
    """c₁ + c₃ = c₄ and c₁ + c₂ + c₃ = −c₄, nothing below zero: so c₂ and c₄ stay where they are."""
    system, far = System(), 9890385154.551
    for name, down, up in (("c1", far, 0), ("c2", 0, INF), ("c3", 0, INF), ("c4", 0, 0.5)):
        system.cell(name, down, up)
    system.holds(c1=1, c3=1, c4=-1)
    system.holds(c1=1, c2=1, c3=1, c4=1)
    system.levels = {"c1": (far / 2, 0.0), "c2": (0.0, 1e-3), "c3": (0.0, far), "c4": (0.0, 1e-3)}
    check(system)


@pytest.mark.parametrize("value", [0.037, 0.5])
def test_cells_of_very_different_size_in_one_relation(value):
    system, far = System(), 9890385154.551
    for name, amount in (("c1", far), ("c2", 0.0), ("c3", 0.0), ("c4", value)):
        system.cell(name, amount, INF, amount)
    system.holds(c1=1, c3=1, c4=-1)
    system.holds(c1=-1, c2=-1, c3=-1, c4=-1)
    system.levels = {"c1": (far / 2, 0.0), "c2": (0.0, 1e-3), "c3": (0.0, far / 3), "c4": (0.0, 1e-3)}
    check(system)


@pytest.mark.parametrize("more", [1e-4, 1e-7, 1e-10, 1e-12, 1e-13, 1e-14])
def test_relations_that_are_nearly_the_same_are_not_the_same(more):
    """a + b + c = 0 and a + b + (1 + ε) c = 0: c is known, however small ε is."""
    system = System()
    for name in "abc":
        system.cell(name, 10.0)
    system.holds(a=1, b=1, c=1)
    system.holds(a=1, b=1, c=1 + more)
    system.levels = {"a": (5.0, 5.0), "c": (5.0, 5.0)}
    check(system)


@pytest.mark.parametrize("slack", [1, 4, 40])
def test_thirds_of_whole_rooms_are_not_rounded(slack):
    """Three cells that move as one make up y: each goes a third as far, though all slacks and weights are whole."""
    system = System()
    for name in ("a", "b", "c", "p"):
        system.cell(name, 50.0, value=20.0)
    system.cell("y", float(slack), value=200.0)
    for name in ("a", "b", "c"):
        system.holds({name: 1.0}, p=1.0)
    system.holds(a=1, b=1, c=1, y=1)
    system.levels = {name: (0.3 * slack, 0.3 * slack) for name in ("a", "b", "c")}
    check(system)


@pytest.mark.parametrize("n", [300, 5000])
def test_a_long_relation_with_one_huge_room(n):
    """What is left of a huge total after many small cells were taken off has lost digits."""
    system, small = System(), 400.45 * 2.0**-12
    system.cell("total", 2.0**40 * 1.7 + n * small, value=2.0**40 * 1.7 + n * small)
    for i in range(n):
        system.cell(f"c{i}", small, value=small)
    system.holds({"total": -1.0, **{f"c{i}": 1.0 for i in range(n)}})
    system.levels["total"] = n * small * (1 - 1e-9), 0.0
    check(system, {"total": (n * small, n * small)})


@pytest.mark.parametrize("far", [1e150, 1e300])
def test_bounds_of_any_size(far):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 2.0}, upper=far)
    assert audit(problem, suppress(problem, np.ones(len(problem), dtype=bool))).passed


@pytest.mark.parametrize("weight", [1.2345678901234, 0.7071067811865476, 3.0000001])
def test_weights_that_make_no_small_whole_numbers_prove_nothing_by_themselves(weight):
    """In whole numbers they would be too large to add up without loss; exact arithmetic decides."""
    relations = sparse.csr_array(np.array([[1.0, weight, -1.0]]))
    grid = IntegerSystem.of(relations, np.full(3, -10.0), np.full(3, 10.0))
    assert grid.is_integral == bool(
        np.all(np.abs(integer_weights(relations).data) <= 2**31)
        and not nonintegral_relations(integer_weights(relations)).any()
    )
    assert not IntegerSystem.of(sparse.csr_array([[1.0, 2.0**40]]), np.full(2, -1.0), np.full(2, 1.0)).is_integral
    system = System()
    for name in "abc":
        system.cell(name, 10.0)
    system.holds(a=1, b=weight, c=-1)
    system.holds(a=1, b=-1, c=weight)
    system.levels = {"a": (5.0, 5.0), "b": (5.0, 5.0)}
    check(system)


def test_a_weight_that_nearly_cancels_out_is_a_weight():
    """x = y and x − 0.9999999999999 y = −z: so z is 10⁻¹³ of y, and y goes no farther than 10⁷."""
    system = System()
    system.cell("x", 1e9)
    system.cell("y", 1e9)
    system.cell("z", 1e-6)
    system.holds(x=1, y=-1)
    system.holds(x=1, y=-0.9999999999999, z=1)
    system.levels["y"] = 5e8, 5e8
    check(system)


def test_a_solver_that_never_comes_back_is_not_waited_for(monkeypatch):
    """Seen in this very system: within one iteration, so that only the clock can tell."""
    monkeypatch.setattr(congruent_tables, "MIN_SOLVER_SECONDS", 0.2)
    system, large, times, steps = System(), 1e4, 5, 12
    for i in range(steps + 1):
        system.cell(f"x{i}", large if i else 1e-8)
    for name in ("p", "q", "r", "y0", "u", "v", "s"):
        system.cell(name, large)
    system.holds(p=1, q=1, r=1)
    system.holds(u=1, v=1, s=1, p=1)
    system.holds(p=1, q=1, r=1, x0=1, y0=-1)
    system.holds(y0=times, x1=-1)
    for i in range(1, steps):
        system.holds({f"x{i}": times, f"x{i + 1}": -1.0})
    system.levels = {f"x{steps}": (0.0, 24.4140625), "p": (9000.0, 9000.0)}
    reach = 1e-8 * times**steps
    check(system, {f"x{steps}": (reach, reach), "p": (large, large)})


def test_a_solver_without_an_answer_leaves_it_to_exact_arithmetic(monkeypatch):
    """Whatever a solver does, verdicts are the same: here it runs out of time at once, every time."""
    solve = HighsModel.solve
    monkeypatch.setattr(HighsModel, "solve", lambda self, *limits, **more: solve(self, 0.0, 0))
    test_hidden_behind_a_large_group(0)
    test_amplified(1)
