"""Boxes: deviations of the corners of a box, found without a linear program."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import numpy as np
import pytest

from discreet.arrays import DOWN, UP
from discreet.audit import audit, certificate, verify
from discreet.inference.boxes import Boxes
from discreet.inference.subtables import subtables
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import pose, random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (4, 5)),
    "3-D": lambda rng: random_table(rng, (3, 3, 2)),
    "4-D": lambda rng: random_table(rng, (2, 2, 2, 2)),
    "hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 3, 2)),
    "linked": random_linked_table,
}


def slack_of(problem: Problem) -> np.ndarray:
    slack = problem.slack(problem.attackers()[0]).copy()
    slack[:, problem.status == Status.PUBLISHED] = 0.0
    return slack


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(8))
def test_a_box_is_a_deviation_that_reaches_both_levels(kind, seed):
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    problem = random_problem(rng, TABLES[kind](rng))
    relations, slack = problem.table.relations, slack_of(problem)
    boxes, found = Boxes(relations, subtables(relations)), 0
    for p in range(len(problem)):
        down, up = (0.3 * slack[:, p]).clip(max=2.0)
        box = boxes.around(p, (down, up), problem.cost, slack)
        if box is None or not max(down, up) > 0:
            continue
        found += 1
        change = np.zeros(len(problem))
        change[box.cells] = box.amount
        assert np.all(relations @ change == 0)
        assert change[p] > 0
        for level, side in ((up, UP), (down, DOWN)):
            sign = 1 if side == UP else -1
            moved = sign * change / change[p] * level
            assert np.all(moved <= slack[UP] * (1 + 1e-8))
            assert np.all(-moved <= slack[DOWN] * (1 + 1e-8))
    if kind in ("2-D", "3-D"):
        assert found


@pytest.mark.parametrize("seed", range(10))
def test_the_box_is_the_cheapest_of_all(seed):
    rng = np.random.default_rng(seed)
    problem = pose(random_table(rng, (3, 3, 3)), {})
    table, slack = problem.table, slack_of(problem)
    boxes, cell = Boxes(table.relations, subtables(table.relations)), {}
    for i, codes in enumerate(table.codes.T.tolist()):
        cell[tuple(codes)] = i
    sizes = [len(hierarchy) for hierarchy in table.dimensions.values()]
    for p in rng.choice(len(table), 8, replace=False).tolist():
        x, level = tuple(table.codes[:, p].tolist()), 0.2 * float(table.value[p])
        costs = [np.inf]
        for y in product(*(range(size) for size in sizes)):
            if any(a == b for a, b in zip(x, y, strict=True)):
                continue
            corners = [cell.get(corner) for corner in product(*zip(x, y, strict=True))]
            if any(corner is None or slack[:, corner].min() < level for corner in corners):
                continue
            # With two parts of each total, or a total and a part, signs alternate or stay the same: always a deviation.
            costs.append(float(problem.cost[[corner for corner in corners if corner is not None]].sum()))
        box = boxes.around(p, (level, level), problem.cost, slack)
        found = np.inf if box is None else float(problem.cost[box.cells].sum())
        assert found == pytest.approx(min(costs))


def test_no_box_where_a_corner_has_too_little_slack():
    rng = np.random.default_rng(0)
    problem = pose(random_table(rng, (2, 2)), {})
    boxes, slack = Boxes(problem.table.relations, subtables(problem.table.relations)), slack_of(problem)
    assert boxes.around(0, (1e9, 0.0), problem.cost, slack) is None


@pytest.mark.parametrize("seed", range(6))
def test_audits_by_boxes_have_the_same_verdicts_and_certificates_that_hold(seed, monkeypatch):
    """Boxes only save linear programs."""
    rng = np.random.default_rng(seed)
    kind = ["3-D", "4-D", "hierarchical"][seed % 3]
    problem = random_problem(rng, TABLES[kind](rng), must_publish=0.0)
    found = suppress(problem, rng.random(len(problem)) < 0.7)
    plain = audit(problem, found, intervals=False)
    tried = []

    def always(*given: object) -> bool:
        tried.append(given)
        return True

    monkeypatch.setattr(import_module("discreet.audit.audit"), "boxes_pay", always)
    boxed = audit(problem, found, intervals=False, certify=True)
    np.testing.assert_array_equal(plain.safe, boxed.safe)
    np.testing.assert_array_equal(plain.computable, boxed.computable)
    assert tried
    proven = certificate(boxed, found)
    seen = verify(proven, problem, found)
    assert seen.passed, seen.problems
    assert seen.safe == proven["safe"] == boxed.passed
