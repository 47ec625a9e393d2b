"""Independent tables protected one by one: many small problems instead of a large one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.executors import in_order
from discreet.inference.max_flow import joined
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import ENDED_EARLY, Budget, Silent
from discreet.protection import Protection, SolveReport, suppress

# Of small tables: smaller bundles cost more overhead, and in larger ones every step takes longer.
MAX_CELLS_PER_BUNDLE = 500
STATUSES_BEST_FIRST = ("optimal", "within_gap", "heuristic", *ENDED_EARLY)  # the worst is that of all tables


@dataclass(frozen=True)
class InPieces:
    """A method applied to tables without common relations: their costs add up, and each is safe by itself.

    Not for methods with a limit on all tables together, such as a largest number of suppressed cells.
    """

    method: Method
    name = "pieces"

    def protect(self, problem: Problem, run: Run) -> Protection:
        found = bundles(problem)
        if len(found) < 2:
            return self.method.protect(problem, run)
        suppressed = problem.status == Status.SUPPRESSED
        if run.start is not None:  # the pattern of tables that are not protected yet
            cells = np.concatenate(found)
            suppressed[cells] |= run.start[cells]
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
        """The cells and the protection of each bundle: small ones by the executor if there is one, the others in this process.

        Bundles whose share of the time was too short are tried again at the end, with all the time left.
        """
        # Columns that suppression methods do not use are not sent to other processes.
        unused = dict.fromkeys(("count", "top", "top_contributor", "requested"))
        reduced = problem.with_columns(table=problem.table.with_columns(**unused, contributors=(), extra={}))
        sent = [cells for cells in found if run.executor is not None and len(cells) <= MAX_CELLS_PER_BUNDLE]
        waiting = [cells for cells in found if run.executor is None or len(cells) > MAX_CELLS_PER_BUNDLE]
        work = [(self.method, reduced.only(cells), _part_of_run(cells, found, run)) for cells in sent]
        late: list[IntArray] = []  # bundles whose share of the time was too short
        for cells, protection in zip(sent, in_order(run.executor, _in_time, work), strict=True):
            if protection is None:
                late.append(cells)
            else:
                yield cells, protection
        while waiting or late:
            first_try = bool(waiting)
            cells = waiting.pop(0) if first_try else late.pop(0)

            def keep(pattern: BoolArray, cells: IntArray = cells) -> None:
                incumbent = suppressed.copy()
                incumbent[cells] = pattern
                run.keep(incumbent)

            progress = run.progress if len(cells) > MAX_CELLS_PER_BUNDLE else Silent()
            part = _part_of_run(cells, [cells, *waiting, *late] if first_try else [cells], run)
            others_left = bool(waiting or late)
            hint = "" if others_left else run.hint
            part = replace(part, progress=progress, executor=run.executor, keep=keep, hint=hint)
            try:
                done = self.method.protect(reduced.only(cells), part)
            except NoSafePatternError:
                if not first_try or not part.budget.over or run.budget.over:
                    raise
                late.append(cells)
                continue
            if run.budget.cancelled and others_left:
                raise KeyboardInterrupt  # the other tables are not protected yet
            yield cells, done


def _in_time(work: tuple[Method, Problem, Run]) -> Protection | None:
    """The protection of a bundle; None if the time was too short. It counts from the start of this work, not from its sending."""
    method, problem, run = work
    budget = Budget(run.budget.seconds, run.budget.gap)
    try:
        return method.protect(problem, replace(run, budget=budget))
    except NoSafePatternError:
        if not budget.over:
            raise
        return None


def bundles(problem: Problem) -> list[IntArray]:
    """The cells of each independent table with sensitive cells; small tables are joined in one bundle."""
    entries, (rows, cells) = problem.table.relations.tocoo(), problem.table.relations.shape
    group = joined(entries.row, rows + entries.col, rows + cells)[1][rows:]
    connected = np.flatnonzero(np.isin(group, group[problem.primaries]))
    order = connected[np.argsort(group[connected], kind="stable")]
    tables = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    found: list[list[IntArray]] = []
    for table in sorted(tables, key=lambda table: int(table[0]) if len(table) else 0):
        if found and sum(map(len, found[-1])) + len(table) <= MAX_CELLS_PER_BUNDLE:
            found[-1].append(table)
        else:
            found.append([table])
    return [np.sort(np.concatenate(bundle)) for bundle in found]


def _part_of_run(cells: IntArray, left: list[IntArray], run: Run) -> Run:
    """The run for one bundle, for any process; its share of the time left is that of its cells among all cells left."""
    budget = run.budget.share(len(cells) / sum(map(len, left)))
    return Run(run.seed, budget, start=None if run.start is None else run.start[cells], secret=run.secret)


def _merged(problem: Problem, suppressed: BoolArray, reports: list[SolveReport], run: Run) -> Protection:
    # The cost of cells outside all bundles that are suppressed already.
    outside = float(problem.cost[suppressed].sum()) - sum(report.cost for report in reports)
    bounds = [report.bound for report in reports]
    worst = max(reports, key=lambda report: STATUSES_BEST_FIRST.index(report.status))
    work: Counter[str] = Counter()
    for report in reports:
        work.update(report.work)
    bound = None if None in bounds else outside + sum(bound for bound in bounds if bound is not None)
    same = run.report(reports[0].method, worst.status, bound, reports[0].solver)
    return suppress(problem, suppressed, **same, work=dict(work), note=worst.note)
