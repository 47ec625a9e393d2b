"""Tables that have nothing to do with each other, protected one by one: many small problems instead of a large one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import BoolArray, IntArray
from discreet.data.table import Table
from discreet.errors import NoSafePatternError
from discreet.executors import in_order
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import Budget, Silent
from discreet.protection import Protection, SolveReport, suppress

ROOM = 500  # cells in a bundle of small tables: for fewer it is not worth beginning, with more every step takes longer
WORSE = (
    "optimal",
    "within_gap",
    "heuristic",
    "time_limit",
    "interrupted",
)  # the whole is as good as the worst of its bundles


@dataclass(frozen=True)
class InPieces:
    """Another method, for cells that no relation ties to others: costs and protection simply add up.

    It does not go with limits on the whole, such as a number of cells to suppress at most.
    """

    method: Method
    name = "pieces"

    def protect(self, problem: Problem, run: Run) -> Protection:
        found = bundles(problem)
        if len(found) < 2:
            return self.method.protect(problem, run)
        suppressed = problem.status == Status.SUPPRESSED
        if run.start is not None:  # until their turn comes
            concerned = np.concatenate(found)
            suppressed[concerned] |= run.start[concerned]
        reports: list[SolveReport] = []
        run.progress.stage("tables", len(found))
        for cells, protection in self._protected(problem, run, found, suppressed):
            suppressed[cells] = protection.suppressed
            reports.append(protection.report)
            run.progress.update(len(reports), f"{int(suppressed.sum()):,} suppressed")
            run.keep(suppressed)
        return _merged(problem, suppressed, reports, run)

    def _protected(
        self, problem: Problem, run: Run, found: list[IntArray], suppressed: BoolArray
    ) -> Iterator[tuple[IntArray, Protection]]:
        """Small bundles by the executor, if there is one. The others here, where they may use it themselves.

        Those for which their share of the time is not enough have another try at the end, with all that is left.
        """
        lean = problem.with_columns(table=_lean(problem))
        spread = [cells for cells in found if run.executor is not None and len(cells) <= ROOM]
        here = [cells for cells in found if run.executor is None or len(cells) > ROOM]
        work = [_Piece(self.method, lean.only(cells), _of(cells, found, run)) for cells in spread]
        late: list[IntArray] = []  # for which their share of the time was not enough
        for cells, sent in zip(spread, in_order(run.executor, _Piece.protect, work), strict=True):
            if sent is None:
                late.append(cells)
            else:
                yield cells, sent
        while here or late:
            in_time = bool(here)
            cells = here.pop(0) if in_time else late.pop(0)

            def keep(part: BoolArray, cells: IntArray = cells) -> None:
                so_far = suppressed.copy()
                so_far[cells] = part
                run.keep(so_far)

            progress = run.progress if len(cells) > ROOM else Silent()
            own = _of(cells, [cells, *here, *late] if in_time else [cells], run)
            own = replace(own, progress=progress, executor=run.executor, keep=keep)
            try:
                done = self.method.protect(lean.only(cells), own)
            except NoSafePatternError:
                if not in_time or not own.budget.over or run.budget.over:
                    raise
                late.append(cells)
                continue
            if run.budget.cancelled and (here or late):
                raise KeyboardInterrupt  # the other tables are not protected
            yield cells, done


@dataclass(frozen=True)
class _Piece:
    """A bundle on its way to another process."""

    method: Method
    problem: Problem
    run: Run

    def protect(self) -> Protection | None:
        """None if its time was not enough."""
        # Which begins now, not when it was sent.
        budget = Budget(self.run.budget.seconds, self.run.budget.gap)
        try:
            return self.method.protect(self.problem, replace(self.run, budget=budget))
        except NoSafePatternError:
            if not budget.over:
                raise
            return None


def bundles(problem: Problem) -> list[IntArray]:
    """Cells that relations tie together, where some are sensitive; small sets of them in one bundle."""
    relations = problem.table.relations
    rows, cells = relations.shape
    graph = sparse.block_array([[None, relations], [relations.T, None]], format="csr") if rows else None
    group = csgraph.connected_components(graph, directed=False)[1][rows:] if rows else np.arange(cells)
    concerned = np.flatnonzero(np.isin(group, group[problem.primaries]))
    order = concerned[np.argsort(group[concerned], kind="stable")]
    tables = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    found: list[list[IntArray]] = []
    for table in sorted(tables, key=lambda table: int(table[0]) if len(table) else 0):
        if found and sum(map(len, found[-1])) + len(table) <= ROOM:
            found[-1].append(table)
        else:
            found.append([table])
    return [np.sort(np.concatenate(bundle)) for bundle in found]


def _lean(problem: Problem) -> Table:
    """Without what methods do not look at: who contributes is a long list."""
    nothing = dict.fromkeys(("count", "top", "top_contributor", "requested"))
    return problem.table.with_columns(**nothing, contributors=(), extra={})


def _of(cells: IntArray, left: list[IntArray], run: Run) -> Run:
    """The part of a run that is a bundle's, with time in proportion to its cells among those left; it can be sent away."""
    budget = run.budget.share(len(cells) / sum(map(len, left)))
    return Run(run.seed, budget, start=None if run.start is None else run.start[cells], secret=run.secret)


def _merged(problem: Problem, suppressed: BoolArray, reports: list[SolveReport], run: Run) -> Protection:
    counted = float(problem.cost[suppressed].sum()) - sum(
        report.cost for report in reports
    )  # elsewhere, and suppressed anyway
    bounds = [report.bound for report in reports]
    worst = max(reports, key=lambda report: WORSE.index(report.status))
    work: dict[str, int] = {}
    for report in reports:
        for name, times in report.work.items():
            work[name] = work.get(name, 0) + times
    return suppress(
        problem,
        suppressed,
        method=reports[0].method,
        status=worst.status,
        bound=None if None in bounds else counted + sum(bound for bound in bounds if bound is not None),
        seconds=run.budget.spent,
        solver=reports[0].solver,
        seed=run.seed,
        work=work,
        note=worst.note,
    )
