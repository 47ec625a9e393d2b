"""How a release is made from a table, as far as an attacker who knows the method can repeat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.assess import assess
from discreet.attacks.public import Public, code_indices
from discreet.costs import COSTS, cost_of
from discreet.data.contributions import Contributions
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import DiscreetError
from discreet.level import Level
from discreet.methods import protect, uses_secret, with_options
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import Progress
from discreet.protection import Protection
from discreet.rules import parse_rules
from discreet.secret import DRAWN_BYTES, Secret

MAX_DRAWN_CONTRIBUTIONS = 100  # per cell; among more respondents no share is large enough to matter to a rule
MAX_CONTRIBUTION_DRAWS = 20  # of a published cell, until it is not sensitive; in some cells that would take very many


@dataclass(frozen=True, eq=False, repr=False)
class Recipe:
    """All that determines the release of a table except its values and the secret; it does not depend on true values."""

    pose: Callable[[Table], Problem]  # applies rules and costs
    method: Method
    seed: int = 0
    gap: float = 0.0
    time_limit: float | None = None
    level: Level = "cells"
    depth: int = 0  # number of largest contributions to a cell that the rules use
    dimensions: Mapping[str, Hierarchy] = field(default_factory=dict)
    response: str = "value"
    secret: bool = False  # the method draws from a secret and not from the public seed
    unpublished_input: str | None = None  # a further input of the release that is not public, in words

    @classmethod
    def of(
        cls, protection: Protection, method: str | Method, *, level: Level = "cells", secret: bool | None = None
    ) -> Recipe:
        """The recipe of a protection: by the rules of its problem if they lead to its levels, otherwise by statuses and levels.

        A cost that equals one of the named functions of a table is taken to be that function; other costs are known numbers.
        """
        problem, report = protection.problem, protection.report
        method = with_options(method) if isinstance(method, str) else method
        rules = parse_rules(problem.rules)
        cost = _cost(problem)
        pose: Callable[[Table], Problem] = partial(assess, rules=rules, cost=cost, boundary=problem.boundary)  # type: ignore[arg-type]
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
            unpublished_input=unpublished_input(problem),
        )

    def problem(self, public: Public, value: FloatArray, rng: np.random.Generator) -> Problem:
        """The agency's problem if the table had these values; contributions are drawn if rules use them.

        Contributions are uniformly random shares of their cell, each by a different respondent. Those to cells that are
        published exactly must not make these sensitive: otherwise they are drawn again, up to 20 times.
        """
        table = Table(
            dict(self.dimensions),
            code_indices(self.dimensions, public.codes, len(public)),
            value,
            public.relations,
            response=self.response,
            count=np.rint(value).astype(np.int64) if public.is_integer else public.count,
            names=None if self.dimensions else public.labels,
            rhs=public.rhs,
            is_count=public.is_integer,
        )
        if not self.draws_contributions:
            return self.pose(table)
        drawn = _DrawnContributions(table, rng)
        exact = ~np.isnan(public.published) & (public.published_lower == public.published_upper)
        for _ in range(MAX_CONTRIBUTION_DRAWS):
            problem = self.pose(drawn.table(self.depth, self.level == "contributions"))
            wrong = np.flatnonzero(exact & (problem.status == Status.PRIMARY))
            if not len(wrong):
                break
            drawn.draw_again(wrong)
        return problem

    def protect(self, problem: Problem, seed: int, progress: Progress, secret: Secret | None = None) -> Protection:
        """Run the method with the ``seed``; if it draws from a secret, with this secret or one derived from the seed."""
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
        """Whether rules or the method use contributions, which are not public."""
        return self.depth > 0 or self.level == "contributions"

    @property
    def draws_in_secret(self) -> bool:
        """Whether the same table may lead to different publications; keys of records are always secret."""
        return self.secret or isinstance(self.method, CellKey)

    def obstacle(self, public: Public) -> str | None:
        """Why the release cannot be repeated with public information; None if it can."""
        if self.draws_contributions and public.count is None:
            return "rules use contributions, and numbers of respondents are not published"
        return self.unpublished_input


def unpublished_input(problem: Problem) -> str | None:
    """An input of the release, besides the values, that is not public; None if there is none."""
    if problem.others:
        return "prior bounds of further attackers are not public"
    table, n = problem.table, problem.table.n_listed
    if table.is_count and table.count is not None and not np.array_equal(table.value[:n], table.count[:n]):
        return "respondents are counted more than once, or with weights, and their numbers are not published"
    return None


class _DrawnContributions:
    """Random contributions to the base cells of a table."""

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        assert table.count is not None
        self._table, self._rng = table, rng
        self._base_cells = _base_cells(table)
        base = np.flatnonzero(table.is_base & (table.count > 0))
        self._cell = np.repeat(base, np.minimum(table.count[base], MAX_DRAWN_CONTRIBUTIONS))
        self._amount = np.zeros(len(self._cell))
        self._draw(np.ones(len(self._cell), dtype=bool))

    def _draw(self, selected: np.ndarray) -> None:
        size = self._rng.exponential(size=int(selected.sum()))
        cell = self._cell[selected]
        sums = np.bincount(cell, size, minlength=len(self._table))
        self._amount[selected] = size / sums[cell] * self._table.magnitude[cell]

    def draw_again(self, cells: IntArray) -> None:
        """Replace the contributions to these cells."""
        touched = sparse.csr_array(self._base_cells[cells]).sum(axis=0) > 0
        self._draw(np.asarray(touched)[self._cell])

    def table(self, depth: int, respondents: bool) -> Table:
        """The table with its largest contributions, and with all of them if the level requires ``respondents``."""
        depth += 1 if respondents else 0
        order = np.lexsort((-self._amount, self._cell))
        cell, amount = self._cell[order], self._amount[order]
        rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
        top_of_base = rank < depth  # no other contribution is among the largest of a total
        shape = (len(self._table), depth)
        top, top_contributor = np.zeros(shape), np.full(shape, -1, dtype=np.int64)
        number = order[top_of_base]
        pairs = self._base_cells.tocsc()[:, cell[top_of_base]].tocoo()
        by = np.lexsort((-amount[top_of_base][pairs.col], pairs.row))
        row, entry = pairs.row[by], pairs.col[by]
        place = np.arange(len(row)) - np.searchsorted(row, row)
        largest = place < depth
        top[row[largest], place[largest]] = amount[top_of_base][entry[largest]]
        top_contributor[row[largest], place[largest]] = number[entry[largest]]
        names = tuple(f"respondent {k + 1}" for k in range(len(self._cell)))
        listed = Contributions(self._cell, np.arange(len(self._cell)), self._amount, names) if respondents else None
        return self._table.with_columns(
            top=top, top_contributor=top_contributor, contributors=names, contributions=listed
        )


def _base_cells(table: Table) -> sparse.csr_array:
    """The base cells of each cell as an incidence matrix (cell, cell); totals that are not sums of other cells have none."""
    done = table.is_base.copy()
    incidence = sparse.csr_array(sparse.diags_array(done.astype(float)))
    addends = table.relations.maximum(0.0)
    totals = (addends - table.relations).tocsr()
    while True:
        ready = (addends @ ~done == 0) & (totals @ ~done > 0) & (np.diff(totals.indptr) == 1)
        if not ready.any():
            return incidence
        rows = totals[ready]
        cell, first = np.unique(rows.indices, return_index=True)
        sums = sparse.csr_array(addends[ready][first] @ incidence)
        sums.data[:] = 1.0
        put = sparse.csr_array((np.ones(len(cell)), (cell, np.arange(len(cell)))), shape=(len(table), len(cell)))
        incidence = sparse.csr_array(incidence + put @ sums)
        done[cell] = True


def _cost(problem: Problem) -> str | FloatArray:
    """The name of the function of the table that the cost equals, or the cost itself."""
    for name in COSTS:
        try:
            if np.allclose(cost_of(problem.table, name), problem.cost, rtol=1e-12):
                return name
        except DiscreetError:  # the function needs a parameter or a column
            continue
    return problem.cost


def _leads_to(pose: Callable[[Table], Problem], problem: Problem) -> bool:
    try:
        found = pose(problem.table)
    except DiscreetError:
        return False
    equal = (
        np.allclose(getattr(found, name), getattr(problem, name), rtol=1e-12)
        for name in ("lower", "upper", "sliding", "prior_lower", "prior_upper")
    )
    return bool(np.array_equal(found.status, problem.status) and all(equal) and not problem.others)


def _as_given(problem: Problem, cost: str | FloatArray) -> Callable[[Table], Problem]:
    """Statuses, levels and prior bounds of the problem; levels are cut at the prior bounds."""
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
