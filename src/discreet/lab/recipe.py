"""How a release is made from a table, as an attacker knows it who knows the method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from scipy import sparse

from discreet.assess import assess
from discreet.contributions import Contributions
from discreet.costs import COSTS, cost_of
from discreet.errors import DiscreetError
from discreet.hierarchy import Hierarchy
from discreet.lab.public import IntArray, Public
from discreet.methods import protect, uses_secret, with_options
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import Progress
from discreet.protection import Protection
from discreet.relations import FloatArray
from discreet.respondents.level import Level
from discreet.rules import parse_rules
from discreet.secret import DRAWN_BYTES, Secret
from discreet.table import Table

MANY = 100  # contributions to a cell that are drawn; with more respondents no share is large
REDRAWN = 20  # times that contributions to a published cell are drawn again because they would make it sensitive


@dataclass(frozen=True, eq=False, repr=False)
class Recipe:
    """Rules, costs, method, options and the public seed: all that leads from a table to its release but secret randomness.

    ``pose`` applies rules and costs to a table; ``depth`` says how many of the largest contributions to a cell the rules look at.
    Nothing here depends on the confidential values.
    """

    pose: Callable[[Table], Problem]
    method: Method
    seed: int = 0
    gap: float = 0.0
    time_limit: float | None = None
    level: Level = "cells"
    depth: int = 0
    dimensions: Mapping[str, Hierarchy] = field(default_factory=dict)
    response: str = "value"
    secret: bool = False  # the method draws at random, and not from the public seed
    withheld: str | None = None  # what else decides on the release and is not public, in words

    @classmethod
    def of(
        cls, protection: Protection, method: str | Method, *, level: Level = "cells", secret: bool | None = None
    ) -> Recipe:
        """The recipe of a protection: its problem's rules if these lead to its levels, otherwise statuses and levels as given.

        A cost that is one of the usual functions of a table is taken to be that function; other costs are known as they are.
        """
        problem, report = protection.problem, protection.report
        method = with_options(method) if isinstance(method, str) else method
        rules = parse_rules(problem.rules)
        cost = _cost(problem)
        pose: Callable[[Table], Problem] = lambda table: assess(  # noqa: E731
            table,
            rules,
            cost=cost,
            boundary=problem.boundary,  # type: ignore[arg-type]
        )
        depth = max((rule.depth for rule in rules), default=0)
        if not rules or not _leads_to(pose, problem):
            pose, depth = _as_given(problem, cost), 0
        return cls(
            pose,
            method,
            seed=report.seed,
            level=level,
            depth=depth,
            dimensions=problem.table.dimensions,
            response=problem.table.response,
            secret=uses_secret(method) if secret is None else secret,
            withheld=not_public(problem),
        )

    def problem(self, public: Public, value: FloatArray, rng: np.random.Generator) -> Problem:
        """What the agency would have faced, had the table these values: contributions are drawn where rules look at them.

        Contributions are uniformly random shares of their cell, every one by a respondent of its own. Those to cells that are
        published as they are must leave these not sensitive: they are drawn again, a few times at most, until they do.
        """
        table = self._table(public, value)
        if not self.draws_contributions:
            return self.pose(table)
        drawn = _Drawn(table, rng)
        told = ~np.isnan(public.published) & (public.told_lower == public.told_upper)
        for _ in range(REDRAWN):
            problem = self.pose(drawn.table(self.depth, self.level == "contributions"))
            wrong = np.flatnonzero(told & (problem.status == Status.PRIMARY))
            if not len(wrong):
                break
            drawn.again(wrong)
        return problem

    def protect(self, problem: Problem, seed: int, progress: Progress, secret: Secret | None = None) -> Protection:
        """Run the method, with the ``seed`` or, where it draws with a secret, with this one or another for each seed."""
        drawn = blake2b(f"replay {seed}".encode(), digest_size=DRAWN_BYTES).hexdigest()
        return protect(
            problem,
            self.method,
            seed=self.seed if self.secret else seed,
            secret=drawn if secret is None else secret,
            time_limit=self.time_limit,
            gap=self.gap,
            progress=progress,
            level=self.level,
        )

    @property
    def draws_contributions(self) -> bool:
        """Whether rules or the method look at contributions, which are not public."""
        return self.depth > 0 or self.level == "contributions"

    @property
    def draws_in_secret(self) -> bool:
        """Whether the same table may lead to another publication; keys of records are always secret."""
        return self.secret or isinstance(self.method, CellKey)

    def lacks(self, public: Public) -> str | None:
        """Why the recipe cannot be followed with what is public; None if it can."""
        if self.draws_contributions and public.count is None:
            return "rules look at contributions, and numbers of respondents are not published"
        return self.withheld

    def _table(self, public: Public, value: FloatArray) -> Table:
        named = bool(self.dimensions)
        codes = [[hierarchy.index(code) for code in public.codes[name]] for name, hierarchy in self.dimensions.items()]
        return Table(
            dict(self.dimensions),
            np.array(codes, dtype=np.int32).reshape(len(self.dimensions), len(public)),
            value,
            public.relations,
            response=self.response,
            count=np.rint(value).astype(np.int64) if public.whole else public.count,
            names=None if named else public.labels,
            rhs=public.rhs,
            is_count=public.whole,
        )


def not_public(problem: Problem) -> str | None:
    """What else decides on a release and is not public."""
    if problem.others:
        return "what further attackers know is not public"
    table, n = problem.table, problem.table.n_listed
    if table.is_count and table.count is not None and not np.array_equal(table.value[:n], table.count[:n]):
        return "respondents are counted more than once, or with weights, and their numbers are not published"
    return None


class _Drawn:
    """Contributions to the finest cells of a table, and who is largest in each cell."""

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        assert table.count is not None
        self._table, self._rng = table, rng
        self._inside = _inside(table)
        base = np.flatnonzero(table.is_base & (table.count > 0))
        self._cell = np.repeat(base, np.minimum(table.count[base], MANY))
        self._amount = np.zeros(len(self._cell))
        self._draw(np.ones(len(self._cell), dtype=bool))

    def _draw(self, which: np.ndarray) -> None:
        size = self._rng.exponential(size=int(which.sum()))
        cell = self._cell[which]
        sums = np.bincount(cell, size, minlength=len(self._table))
        self._amount[which] = size / sums[cell] * self._table.magnitude[cell]

    def again(self, cells: IntArray) -> None:
        """Draw contributions to these cells anew."""
        touched = sparse.csr_array(self._inside[cells]).sum(axis=0) > 0
        self._draw(np.asarray(touched)[self._cell])

    def table(self, depth: int, respondents: bool) -> Table:
        """The table with its largest contributions, and, if asked for, all of them."""
        depth += 1 if respondents else 0
        order = np.lexsort((-self._amount, self._cell))
        cell, amount = self._cell[order], self._amount[order]
        rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
        few = rank < depth  # of the finest cells; no other is among the largest of a total
        top, who = np.zeros((len(self._table), depth)), np.full((len(self._table), depth), -1, dtype=np.int64)
        number = order[few]
        pairs = self._inside.tocsc()[:, cell[few]].tocoo()
        by = np.lexsort((-amount[few][pairs.col], pairs.row))
        row, entry = pairs.row[by], pairs.col[by]
        place = np.arange(len(row)) - np.searchsorted(row, row)
        largest = place < depth
        top[row[largest], place[largest]] = amount[few][entry[largest]]
        who[row[largest], place[largest]] = number[entry[largest]]
        names = tuple(f"respondent {k + 1}" for k in range(len(self._cell)))
        listed = Contributions(self._cell, np.arange(len(self._cell)), self._amount, names) if respondents else None
        return self._table.with_columns(top=top, who=who, contributors=names, contributions=listed)


def _inside(table: Table) -> sparse.csr_array:
    """Which of the finest cells are part of each cell: (cell, cell); of totals that follow from no others, none."""
    known = table.is_base.copy()
    inside = sparse.csr_array(sparse.diags_array(known.astype(float)))
    parts = table.relations.maximum(0.0)
    totals = (parts - table.relations).tocsr()
    while True:
        ready = (parts @ ~known == 0) & (totals @ ~known > 0) & (np.diff(totals.indptr) == 1)
        if not ready.any():
            return inside
        rows = totals[ready]
        cell, first = np.unique(rows.indices, return_index=True)
        sums = sparse.csr_array(parts[ready][first] @ inside)
        sums.data[:] = 1.0
        put = sparse.csr_array((np.ones(len(cell)), (cell, np.arange(len(cell)))), shape=(len(table), len(cell)))
        inside = sparse.csr_array(inside + put @ sums)
        known[cell] = True


def _cost(problem: Problem) -> str | FloatArray:
    """The name of the cost, if one of the usual functions of the table leads to it."""
    for name in COSTS:
        try:
            if np.allclose(cost_of(problem.table, name), problem.cost, rtol=1e-12):
                return name
        except DiscreetError:  # it takes a parameter, or a column
            continue
    return problem.cost


def _leads_to(pose: Callable[[Table], Problem], problem: Problem) -> bool:
    try:
        found = pose(problem.table)
    except DiscreetError:
        return False
    same = (
        np.allclose(getattr(found, name), getattr(problem, name), rtol=1e-12)
        for name in ("lower", "upper", "sliding", "prior_lower", "prior_upper")
    )
    return bool(np.array_equal(found.status, problem.status) and all(same) and not problem.others)


def _as_given(problem: Problem, cost: str | FloatArray) -> Callable[[Table], Problem]:
    """Statuses, levels and bounds known beforehand stay as they are; no level reaches beyond those bounds."""
    status, below, above = problem.status, problem.prior_lower, problem.prior_upper
    down, up, slide = problem.lower, problem.upper, problem.sliding

    def pose(table: Table) -> Problem:
        return Problem(
            table,
            status,
            cost_of(table, cost),
            np.clip(down, 0.0, np.maximum(table.value - below, 0.0)),
            np.clip(up, 0.0, np.maximum(above - table.value, 0.0)),
            slide,
            below,
            above,
        )

    return pose
