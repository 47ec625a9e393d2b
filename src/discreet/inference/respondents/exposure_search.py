"""One pattern and one rule: whom can whom make out, and by which aggregation?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import Table
from discreet.inference import tolerances
from discreet.inference.congruent_tables import components
from discreet.inference.exact_numbers import Bound
from discreet.inference.exact_reach import ExactReach
from discreet.inference.presolve import presolve
from discreet.inference.rational_reconstruction import reach_of
from discreet.inference.respondents.aggregation import Aggregation
from discreet.inference.respondents.aggregation_proposals import AggregationProgram
from discreet.inference.respondents.component import RespondentComponent
from discreet.inference.respondents.insiders import Insiders, TargetGroup
from discreet.inference.respondents.robust_deviations import DeviationGoals
from discreet.inference.respondents.sensitivity import SensitivityMeasure
from discreet.problem import Problem, Status

MAX_CELLS_WITH_SIGNS = 10  # cells that one respondent dominates: beyond that, signs are too many to try them all


@dataclass(frozen=True, eq=False, repr=False)
class RespondentExposure:
    """A respondent of whom an aggregation says too much to some insiders, or to everybody if there are none."""

    measure: SensitivityMeasure
    group: TargetGroup
    cells: tuple[int, ...]  # that the group makes sensitive
    signs: tuple[int, ...]
    respondent: str
    insiders: tuple[str, ...]
    aggregation: Aggregation | None  # None where it was not found out whether there is one

    def __repr__(self) -> str:
        return f"Exposed(a respondent in {len(self.cells):,} cells, to {len(self.insiders):,} insiders)"

    @property
    def precision(self) -> float:
        """To within which share of its contribution it can be told; under dominance, what share others have of the sum."""
        return 0.0 if self.aggregation is None else float(self.aggregation.precision(self.measure))

    def words(self, table: Table) -> str:
        """Which sum gives the respondent away, and to whom. Confidential."""
        if self.aggregation is None:
            return f"{self.respondent} dominates {len(self.cells)} cells, too many to find out what sums of them tell."
        return self.aggregation.words(table, self.respondent, self.insiders, self.measure)


@dataclass(frozen=True, eq=False)
class _Move:
    """A way for the suppressed base cells to move, all relations kept.

    Where several cells must move, there may be one way for each that leaves the others alone. Any signs of them then go
    together: ``by`` is what they add up to at most, and ``each`` are the cells.
    """

    by: FloatArray  # per base cell in play
    each: IntArray | None = None

    def serves(self, at: IntArray) -> bool:
        """Whether it is about the cells that must move."""
        return self.each is None or np.array_equal(self.each, at)


class RespondentSearch:
    """One pattern and one rule: whom can whom make out?

    A respondent is safe from some insiders if suppressed cells can deviate, all relations kept, so that its contribution moves by
    what the rule asks for, and the others no more than their share: by duality no combination of published cells then
    tells more. Moves found once serve for all insiders who do not spoil them; only for those who do another one is sought.
    """

    def __init__(self, problem: Problem, suppressed: BoolArray, measure: SensitivityMeasure) -> None:
        self.problem, self.measure = problem, measure
        table = problem.table
        self.insiders = Insiders(problem, measure)
        self.base = np.flatnonzero(table.is_base & suppressed)  # cells in play
        self.place = np.full(len(table), -1)
        self.place[self.base] = np.arange(len(self.base))
        self.in_play = self.place >= 0
        slack = np.where(suppressed, np.inf, 0.0)
        slack[self.base] = table.magnitude[self.base]
        self.reduced = presolve(table.relations, -slack, slack, slack > 0)
        self.programs = 0
        self._together = np.full(len(table), -1)  # which component a suppressed cell is in
        for number, (members, _) in enumerate(components(table.relations, slack > 0)):
            self._together[members] = number
        self._telling: dict[int, AggregationProgram] = {}
        self._parts: dict[int, RespondentComponent] = {}
        for members, relations in components(self.reduced.relations, np.ones(len(self.reduced.low), dtype=bool)):
            part = RespondentComponent(members, relations, self.reduced.low[members], self.reduced.high[members])
            self._parts.update(dict.fromkeys(members.tolist(), part))

    def worst(self, target: int) -> RespondentExposure | None:
        """Somebody who learns too much about a respondent, and of those found who learns most; None if it is safe.

        Where few insiders are enough, those join who know most of the aggregation, as many as the rule allows.
        """
        found = list(self.exposures(target))
        for one in found.copy():
            while one.aggregation is not None and len(one.group.insiders) < self.measure.others:
                who = self._knows_most(one.group, one.aggregation)
                again = None if who is None else self._moves(one.group.with_insider(who), [])
                if not isinstance(again, RespondentExposure):
                    break
                found.append(one := again)
        return min(found, key=lambda one: one.precision, default=None)

    def _knows_most(self, group: TargetGroup, aggregation: Aggregation) -> int | None:
        """Who else contributes most to an aggregation."""
        given = self.insiders.given
        weight = np.zeros(len(self.place))
        weight[list(aggregation.suppressed)] = [abs(float(times)) for times in aggregation.suppressed.values()]
        part = np.bincount(given.contributor, weight[given.cell] * given.amount, len(given.names))
        part[[group.target, *group.insiders]] = 0.0
        return int(part.argmax()) if part.any() else None

    def exposures(self, target: int) -> Iterator[RespondentExposure]:
        """Groups that learn too much about a respondent; those with further insiders, who learn even more, are left out."""
        for group, cell in self._published(target):
            yield self._exposed(group, (cell,), (1,), Aggregation.of_cell(self.insiders, group, cell))
        pool: list[_Move] = [_Move(np.zeros(len(self.base)))]
        seen, left = {TargetGroup(target)}, [TargetGroup(target)]
        while left:
            group = left.pop()
            found = self._moves(group, pool)
            if isinstance(found, RespondentExposure):
                yield found
                continue
            more = self.measure.others - len(group.insiders)
            for who in sorted({who for move in found for who in self._breaks(group, move, more)}):
                further = group.with_insider(who)
                if further not in seen:
                    seen.add(further)
                    left.append(further)

    def _published(self, target: int) -> Iterator[tuple[TargetGroup, int]]:
        """Sensitive cells that are published, and those within them who learn too much by that."""
        given = self.insiders.given
        for cell in given.of(target)[0].tolist():
            if not self.in_play[cell] and self.problem.status[cell] == Status.PRIMARY:
                inside = given.contributor[slice(*np.searchsorted(given.cell, [cell, cell + 1]))]  # the largest first
                group = TargetGroup(target, tuple(sorted(inside[inside != target][: self.measure.others].tolist())))
                if self._is_told(group, cell):
                    yield group, cell

    # -- one group ---------------------------------------------------------------------------------------------

    def _moves(self, group: TargetGroup, pool: list[_Move]) -> list[_Move] | RespondentExposure:
        """Moves that show a respondent safe from these insiders, one for each choice of signs; or why it is not."""
        rest = self.insiders.rest(group, self.base)
        sensitive = self.problem.status[self.base] == Status.PRIMARY
        at = np.flatnonzero((rest < 0) & sensitive)
        rest = np.where(sensitive, rest, np.maximum(rest, 0.0))  # who waived protection there does not protect, either
        cells = [int(cell) for cell in self.base[at]]
        # Cells that are published, though the group makes them sensitive, tell it all.
        told = [c for c in self.insiders.cells_of(group).tolist() if not self.in_play[c] and self._is_told(group, c)]
        if told:
            return self._exposed(group, (told[0],), (1,), Aggregation.of_cell(self.insiders, group, told[0]))
        if len(cells) > 1:
            each = next((move for move in pool if move.each is not None and self._holds(move, rest, at, ())), None)
            each = each or self._each(group, rest, at)
            if each is not None:
                pool.append(each)
                return [each]
        if len(cells) > MAX_CELLS_WITH_SIGNS:
            return self._exposed(group, tuple(cells), (1,) * len(cells), None)
        found = []
        for others in product((1, -1), repeat=max(len(cells) - 1, 0)):
            signs = (1, *others)[: len(cells)]
            move = next((move for move in pool if self._holds(move, rest, at, signs)), None)
            if move is None:
                made = self._seek(group, cells, signs, rest, at)
                if not isinstance(made, _Move):
                    return self._exposed(group, tuple(cells), signs, made)
                pool.append(made)
                move = made
            found.append(move)
        return found

    def _is_told(self, group: TargetGroup, cell: int) -> bool:
        if self.problem.status[cell] != Status.PRIMARY:
            return False
        return bool(self.insiders.rest(group, np.array([cell]))[0] < 0)

    def _exposed(
        self, group: TargetGroup, cells: tuple[int, ...], signs: tuple[int, ...], aggregation: Aggregation | None
    ) -> RespondentExposure:
        names = self.insiders.given.names
        insiders = tuple(names[who] for who in group.insiders)
        return RespondentExposure(self.measure, group, cells, signs, names[group.target], insiders, aggregation)

    def _holds(self, move: _Move, rest: FloatArray, at: IntArray, signs: tuple[int, ...]) -> bool:
        """Whether a move, or its reverse, is one for a group that leaves this rest."""
        if not move.serves(at):
            return False
        if move.each is None:
            turned = 1.0 if not len(at) or move.by[at[0]] * signs[0] >= 0 else -1.0
            by = turned * move.by
            far = np.array(signs, dtype=float) * by[at]
        else:
            by, far = move.by, move.by[at]
        enough = far >= -rest[at] * (1 - tolerances.LEVEL_TOLERANCE)
        within = np.abs(by) <= rest + self._noise
        within[at] = True
        return bool(enough.all() and within.all())

    @cached_property
    def _noise(self) -> FloatArray:
        return np.asarray(self.insiders.noise[self.base])

    def _breaks(self, group: TargetGroup, move: _Move, more: int) -> list[int]:
        """Respondents who, with others, could spoil a move."""
        if more == 0:
            return []
        rest = self.insiders.rest(group, self.base)
        # Where the move stays within the rest, that may shrink to the move; where the group is exposed, it may grow until
        # the move is no more enough. A cell that becomes one of the latter takes moves in both directions.
        holds = np.where(rest >= 0, rest - np.abs(move.by), np.abs(move.by) + rest)
        return self.insiders.breaks(group, self.base, np.maximum(holds, 0.0), more, self.in_play)

    # -- programs ----------------------------------------------------------------------------------------------

    def _seek(
        self, group: TargetGroup, cells: list[int], signs: tuple[int, ...], rest: FloatArray, at: IntArray
    ) -> _Move | Aggregation | None:
        """A move that shows the target safe from the insiders; or the aggregation that shows that it is not, if found."""
        made = np.zeros(len(self.base))
        for some in self._apart(cells):
            mine = at[some]
            alone = np.maximum(rest, 0.0)
            alone[mine] = rest[mine]
            move = self._reach(group, mine, np.array(signs, dtype=float)[some], alone)
            if move is None:
                break
            made += move.by
        else:
            return _Move(made)
        told = self._told(group, cells[0], rest) if len(cells) == 1 else None
        return told if told is not None else self._exactly(group, cells, signs)

    def _apart(self, cells: list[int]) -> Iterator[IntArray]:
        """Which of some cells can move together at all, apart from the others."""
        together = self._together[cells]
        for number in np.unique(together):
            yield np.flatnonzero(together == number)

    def _reach(self, group: TargetGroup, at: IntArray, signs: FloatArray, rest: FloatArray) -> _Move | None:
        """A move of some cells, each in its direction and by what it needs, that few insiders spoil if possible."""
        for part in self._around(at):
            for levels, slack in self._ways(group, at, signs, rest, part):
                move = self._push(at, signs, levels, slack, part)
                if move is not None and self._holds(move, rest, at, tuple(signs.tolist())):
                    return move
        return None

    def _each(self, group: TargetGroup, rest: FloatArray, at: IntArray) -> _Move | None:
        """A move for each of several cells that leaves the others alone, all fitting into the slack together."""
        left, total = np.maximum(rest, 0.0), np.zeros(len(rest))
        left[at] = 0.0
        for k in range(len(at)):
            mine, alone = at[k : k + 1], left.copy()
            alone[mine] = rest[mine]
            move = self._reach(group, mine, np.ones(1), alone)
            if move is None:
                return None
            total += np.abs(move.by)
            left = np.maximum(left - np.abs(move.by), 0.0)
        found = _Move(total, at)
        return found if self._holds(found, rest, at, ()) else None

    def _around(self, at: IntArray) -> Iterator[RespondentComponent]:
        """Cells to look for moves in: those near, if there are many, then all that move with these."""
        columns = self.reduced.column[self.base[at]]
        if np.all(columns >= 0):
            whole = self._parts[int(columns[0])]
            near = whole.around(int(columns[0]))
            if near is not None and np.all(np.isin(columns, near.members)):
                yield near
            if np.all(np.isin(columns, whole.members)):
                yield whole

    def _ways(
        self, group: TargetGroup, at: IntArray, signs: FloatArray, rest: FloatArray, part: RespondentComponent
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """How far to move cells and which slack to leave to others: at first so that nobody spoils the move, then few."""
        others = self._largest_others(group)
        if others.any():  # a move that hardly anybody spoils spares many others
            if not group.insiders:  # later it is known that there is none that nobody spoils
                yield (others - rest)[at], np.maximum(rest - others, 0.0)
            beyond = self._beyond(at, signs, others, rest, part)
            if beyond is not None:
                known = np.where(beyond, 0.0, others)
                yield (known - rest)[at], np.maximum(rest - known, 0.0)
        yield -rest[at], np.maximum(rest, 0.0)

    def _beyond(
        self, at: IntArray, signs: FloatArray, others: FloatArray, rest: FloatArray, part: RespondentComponent
    ) -> BoolArray | None:
        """Cells that move into what their largest insiders know, as few as possible."""
        mine = self.reduced.column[self.base]
        full, wary = rest.copy(), rest - others
        full[at] = wary[at] = np.inf
        goals = self._goals(at, signs, -rest[at], part)
        if goals is None:
            return None
        spared = np.zeros(len(part.members))
        np.maximum.at(spared, part.places(mine[at]), others[at])
        found = part.sparing.beyond(
            goals, spared[goals.at], *(part.least(mine, np.maximum(slack, 0.0)) for slack in (wary, full))
        )
        self.programs += 1
        if found is None:
            return None
        used = np.zeros(len(self.reduced.low) + 1, dtype=bool)
        used[part.members] = found
        return np.asarray(used[mine])

    def _goals(
        self, at: IntArray, signs: FloatArray, levels: FloatArray, part: RespondentComponent
    ) -> DeviationGoals | None:
        """What columns are to do for these cells to move so; None if some cannot move that way because they are one."""
        cells = self.base[at]
        places = part.places(self.reduced.column[cells])
        needed = signs * self.reduced.sign[cells] * levels
        first, of = np.unique(places, return_inverse=True)
        low, high = np.zeros(len(first)), np.zeros(len(first))
        np.minimum.at(low, of, needed)
        np.maximum.at(high, of, needed)
        if np.any((low < 0) & (high > 0)):
            return None
        return DeviationGoals(first, np.where(low < 0, -1.0, 1.0), high - low)

    def _push(
        self, at: IntArray, signs: FloatArray, levels: FloatArray, slack: FloatArray, part: RespondentComponent
    ) -> _Move | None:
        """A proven move of cells by their levels, others keeping to their slack, and those elsewhere to their place."""
        slack = slack.copy()
        slack[at] = np.inf  # what they need is no more than they can
        goals = self._goals(at, signs, levels, part)
        if goals is None:
            return None
        columns, low, high = part.bounds(self.reduced.column[self.base], slack)
        self.programs += 1
        with part.tables.narrowed(columns, low, high):
            push = part.tables.together(goals.at, goals.sign, goals.level)
        if not push.proven:
            return None
        mine = self.reduced.column[self.base]
        moved = np.zeros(len(self.reduced.low) + 1)
        moved[part.members] = push.difference
        by = np.where(mine >= 0, self.reduced.sign[self.base] * moved[mine], 0.0)
        return _Move(by)

    def _largest_others(self, group: TargetGroup) -> FloatArray:
        """What the largest others know of each cell, at most, if the rule allows for any: further insiders, or other ones."""
        given, more = self.insiders.given, self.measure.others
        able = self.in_play[given.cell] & ~np.isin(given.contributor, (group.target, *group.insiders))
        at = np.flatnonzero(able)
        first = np.searchsorted(given.cell[at], given.cell[at])
        at = at[np.arange(len(at)) - first < more]
        return np.asarray(
            np.bincount(self.place[given.cell[at]], self.measure.other * given.amount[at], len(self.base))
        )

    def _told(self, group: TargetGroup, cell: int, rest: FloatArray) -> Aggregation | None:
        """The sum that tells most about a cell, as a solver says; only if it is sensitive beyond doubt."""
        number = int(self._together[cell])
        if number not in self._telling:
            members = np.flatnonzero(self._together == number)
            self._telling[number] = AggregationProgram(self.problem.table.relations, members)
        telling = self._telling[number]
        self.programs += 1
        slack = np.full(len(self.place), np.inf)
        slack[self.base] = np.maximum(rest, 0.0)
        multipliers = telling.multipliers(cell, float(-rest[self.place[cell]]), slack[telling.cells])
        found = Aggregation.of(self.insiders, group, multipliers, self.in_play)
        leaks = any(
            self._together[other] >= 0 for other in found.published
        )  # suppressed totals, by a rounded multiplier
        return found if found.sensitive and not leaks else None

    def _exactly(self, group: TargetGroup, cells: list[int], signs: tuple[int, ...]) -> _Move | Aggregation | None:
        """Decided in rational arithmetic; None if that takes too long."""
        self.programs += 1
        rest = dict(zip(self.base.tolist(), self.insiders.exact_rest(group, self.base), strict=True))
        inside = np.flatnonzero(np.isin(self._together, np.unique(self._together[cells])))
        relations = self.problem.table.relations[:, inside]
        slack: list[Bound] = [max(rest[cell], Fraction(0)) if cell in rest else np.inf for cell in inside.tolist()]
        # One column stands for the target. It moves all its cells, each by what that needs, and each may move farther.
        needed = [-rest[cell] for cell in cells]
        unit, target = max(needed), len(inside) + len(cells)
        column = {int(cell): k for k, cell in enumerate(inside)}
        low, high = [-most for most in slack], slack.copy()
        for cell, sign in zip(cells, signs, strict=True):
            low[column[cell]], high[column[cell]] = -np.inf, np.inf
            low.append(Fraction(0) if sign > 0 else -np.inf)
            high.append(np.inf if sign > 0 else Fraction(0))
        tied = with_joint_deviation(
            relations,
            [column[cell] for cell in cells],
            [s * float(n / unit) for s, n in zip(signs, needed, strict=True)],
        )
        stake = np.zeros(target + 1)
        stake[target] = float(unit)
        decider = ExactReach(tied, [*low, -unit], [*high, unit], stake)
        shown, limit = decider.settle(target, 1)
        reach = reach_of(decider.program, shown, target, 1)
        if shown is not None and reach >= unit * (1 - Fraction(tolerances.LEVEL_TOLERANCE)):
            by = np.zeros(len(self.base))
            far = shown.by_cell[target]
            for i, move in shown.by_cell.items():
                if i < len(inside) and self.place[inside[i]] >= 0:
                    by[self.place[inside[i]]] = float(min(reach, unit) * move / far)
            return _Move(by)
        rows = self.problem.table.relations.shape[0]
        multipliers = {row: y for row, y in limit.multipliers.items() if row < rows}
        found = Aggregation.of(self.insiders, group, multipliers, self.in_play)
        return found if found.sensitive else None


def with_joint_deviation(relations: sparse.csr_array, columns: list[int], weights: list[float]) -> sparse.csr_array:
    """Relations with a column more that moves some others by its weights, each plus a deviation of its own.

    The latter are columns, too, one each, before the last. Relations stay as they are: if some followed from others, they
    still do.
    """
    k, (m, n) = len(columns), relations.shape
    more = sparse.coo_array(
        (
            np.concatenate([np.ones(k), -np.ones(k), -np.array(weights)]),
            (np.tile(np.arange(k), 3), np.concatenate([columns, n + np.arange(k), np.full(k, n + k)])),
        ),
        shape=(k, n + k + 1),
    )
    wide = sparse.csr_array((relations.data, relations.indices, relations.indptr), shape=(m, n + k + 1))
    return sparse.csr_array(sparse.vstack([wide, more], format="csr"))
