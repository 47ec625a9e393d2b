"""Small random tables with known respondents, and what an exhaustive search says about them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
from scipy.linalg import null_space, orth

from discreet.arrays import BoolArray, FloatArray
from discreet.assess import assess
from discreet.data.contributions import Contributions
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.inference.respondents.sensitivity import SensitivityMeasure
from discreet.problem import Problem
from discreet.testing import random_hierarchy

TOP = 4


def table_of(hierarchies: dict[str, Hierarchy], given: dict[tuple[str, ...], dict[str, float]]) -> Table:
    """Who contributes what to the finest cells; totals and the largest contributors are worked out here."""
    names = sorted({who for cell in given.values() for who in cell})
    leaves = {
        name: [code for code, leaf in zip(h.codes, h.is_leaf, strict=True) if leaf] for name, h in hierarchies.items()
    }
    above: list[dict[str, list[int]]] = []
    for name, h in hierarchies.items():
        leaf, node = h.ancestors
        ways: dict[str, list[int]] = {code: [] for code in leaves[name]}
        for k, code in zip(leaf.tolist(), node.tolist(), strict=True):
            ways[h.codes[k]].append(code)
        above.append(ways)
    net: dict[tuple[int, ...], dict[str, float]] = {}
    for cell, contributors in given.items():
        for place in product(*(ways[code] for ways, code in zip(above, cell, strict=True))):
            here = net.setdefault(place, {})
            for who, x in contributors.items():
                here[who] = here.get(who, 0.0) + x
    places = sorted(net)
    top, who = np.zeros((len(places), TOP)), np.full((len(places), TOP), -1)
    for i, place in enumerate(places):
        ranked = sorted(net[place].items(), key=lambda item: (-abs(item[1]), item[0]))[:TOP]
        top[i, : len(ranked)] = [x for _, x in ranked]
        who[i, : len(ranked)] = [names.index(name) for name, _ in ranked]
    index = {place: i for i, place in enumerate(places)}
    listed = [
        (
            index[tuple(h.index(code) for h, code in zip(hierarchies.values(), cell, strict=True))],
            names.index(name),
            abs(x),
        )
        for cell, contributors in given.items()
        for name, x in contributors.items()
    ]
    cell, number, amount = (np.array(column) for column in zip(*listed, strict=True))
    return Table.from_cells(
        hierarchies,
        np.array(places).T,
        np.array([sum(net[place].values()) for place in places]),
        magnitude=np.array([sum(map(abs, net[place].values())) for place in places]),
        count=np.array([len(net[place]) for place in places]),
        top=top,
        top_contributor=who,
        contributors=tuple(names),
        contributions=Contributions(cell, number, amount, tuple(names)),
    )


def draw(
    rng: np.random.Generator,
    shape: tuple[int, ...] = (3, 3),
    *,
    respondents: int = 8,
    negative: float = 0.0,
    deep: bool = False,
) -> Table:
    """Every respondent is in one to three of the finest cells; every cell has somebody."""
    levels = 2 if deep else 1
    hierarchies = {name: random_hierarchy(rng, parts, levels=levels) for name, parts in zip("ab", shape, strict=False)}
    leaves = [[c for c, leaf in zip(h.codes, h.is_leaf, strict=True) if leaf] for h in hierarchies.values()]
    cells = list(product(*leaves))
    given: dict[tuple[str, ...], dict[str, float]] = {cell: {} for cell in cells}

    def contribute(who: str, cell: tuple[str, ...]) -> None:
        size = float(np.ceil(rng.lognormal(2.5, 1.3)))
        given[cell][who] = -size if rng.random() < negative else size

    for r in range(respondents):
        for k in rng.choice(len(cells), rng.choice([1, 1, 1, 2, 3]), replace=False):
            contribute(f"r{r}", cells[k])
    for k, cell in enumerate(cells):
        if not given[cell]:
            contribute(f"s{k}", cell)
    return table_of(hierarchies, given)


def posed(rng: np.random.Generator, rule: str, **options: object) -> Problem:
    """A random table, assessed; drawn again until something is sensitive."""
    while True:
        problem = assess(draw(rng, **options), rule)  # type: ignore[arg-type]
        if len(problem.primaries):
            return problem


def hidden_in(rng: np.random.Generator, problem: Problem, most: int = 8) -> BoolArray:
    """Some pattern: all that is sensitive, and some other cells."""
    suppressed = np.zeros(len(problem), dtype=bool)
    suppressed[problem.primaries] = True
    for i in rng.permutation(problem.free).tolist():
        if (suppressed & problem.table.is_base).sum() >= most:
            break
        suppressed[i] = rng.random() < 0.7
    return suppressed


# -- exhaustive search -----------------------------------------------------------------------------------------


def groups(problem: Problem, measure: SensitivityMeasure) -> Iterator[tuple[int, tuple[int, ...]]]:
    """All targets and all insiders, as many as the rule allows."""
    everybody = np.unique(problem.table.respondents().contributor).tolist()
    for target in everybody:
        others = [who for who in everybody if who != target]
        for size in range(measure.others + 1):
            for insiders in combinations(others, size):
                yield target, insiders


def elementary(problem: Problem, suppressed: BoolArray) -> FloatArray:
    """Aggregations of suppressed base cells, a row each, that have as few cells as possible: all others are sums of these.

    Where no weight changes its sign, contributions add up, so the most sensitive aggregation is one of them.
    """
    table = problem.table
    base, totals = (np.flatnonzero(part & suppressed) for part in (table.is_base, ~table.is_base))
    relations = table.relations.toarray()
    free = (
        null_space(relations[:, totals].T, rcond=1e-9) if len(totals) else np.eye(len(relations))
    )  # suppressed totals cancel out
    sums = relations[:, base].T @ free
    basis = orth(np.where(np.abs(sums) < 1e-9, 0.0, sums), rcond=1e-9)
    rank = basis.shape[1]
    found = []
    for zeros in combinations(range(len(base)), rank - 1) if rank else []:
        y = null_space(basis[list(zeros)], rcond=1e-9) if zeros else np.ones((1, 1))
        if y.shape[1] == 1:
            weights = basis @ y[:, 0]
            found.append(np.where(np.abs(weights) < 1e-9, 0.0, weights))
    return np.abs(np.array(found).reshape(-1, len(base)))


def is_exposed(
    problem: Problem, suppressed: BoolArray, measure: SensitivityMeasure
) -> dict[str, dict[frozenset[str], float]]:
    """Everybody whom others can make out, by whom, and how closely: the least of what the rest contribute to an aggregation
    in which the target has 1."""
    table, given = problem.table, problem.table.respondents()
    base = np.flatnonzero(table.is_base & suppressed)
    weights = elementary(problem, suppressed)
    amount = np.zeros((len(given.names), len(table)))
    amount[given.contributor, given.cell] = given.amount
    part, total = weights @ amount[:, base].T, weights @ table.magnitude[base]
    found: dict[str, dict[frozenset[str], float]] = {}
    for target, insiders in groups(problem, measure):
        own = part[:, target] > 1e-9
        sums = part[:, list(insiders)].sum(axis=1)
        score = measure.lead * part[:, target] + measure.other * sums - total
        exposed = own & (score > 1e-9 * total)
        if exposed.any():
            rest = (total - part[:, target] - sums)[exposed] / part[exposed, target]
            found.setdefault(given.names[target], {})[frozenset(given.names[who] for who in insiders)] = float(
                rest.min()
            )
    return found
