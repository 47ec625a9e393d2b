"""The respondents exposed by a pattern under one rule, the insiders who can estimate them, and the aggregation used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
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
from discreet.inference.respondents.component import AggregationProgram, DeviationGoals, RespondentComponent
from discreet.inference.respondents.insiders import Insiders, TargetGroup
from discreet.inference.respondents.sensitivity import SensitivityMeasure
from discreet.problem import Problem, Status

MAX_CELLS_WITH_SIGNS = 10  # cells that a group makes sensitive; with more, the 2ⁿ combinations of signs are too many


@dataclass(frozen=True, eq=False, repr=False)
class RespondentExposure:
    """A respondent whose contribution insiders can estimate too closely by an aggregation; without insiders, any reader can."""

    measure: SensitivityMeasure
    group: TargetGroup
    cells: tuple[int, ...]  # that the group makes sensitive
    signs: tuple[int, ...]
    respondent: str
    insiders: tuple[str, ...]
    aggregation: Aggregation | None  # None if it is not known whether there is one

    def __repr__(self) -> str:
        return f"RespondentExposure(a respondent in {len(self.cells):,} cells, to {len(self.insiders):,} insiders)"

    @property
    def precision(self) -> float:
        """The relative error to which the contribution can be estimated; under dominance, the share of others in the sum."""
        return 0.0 if self.aggregation is None else float(self.aggregation.precision(self.measure))

    def words(self, table: Table) -> str:
        """A sentence that names the sum, the respondent and the insiders. Confidential."""
        if self.aggregation is None:
            return f"{self.respondent} dominates {len(self.cells)} cells, too many to examine all sums of them."
        return self.aggregation.words(table, self.respondent, self.insiders, self.measure)


@dataclass(frozen=True, eq=False)
class _SafeDeviation:
    """A deviation of the suppressed base cells that shows a respondent safe.

    If a group makes several cells sensitive, there may be a separate deviation for each of these cells that leaves the others
    unchanged. These can be combined with any signs: ``amount`` is then the sum of their absolute values, and ``separate`` are
    the cells.
    """

    amount: FloatArray  # per base cell in play
    separate: IntArray | None = None


class RespondentSearch:
    """The exposed respondents of one pattern under one rule.

    A respondent is safe from a group of insiders if there is a deviation of the suppressed cells in which its contribution
    changes by as much as the rule requires, and all others by no more than their share: by duality, no combination of
    published cells is then sensitive. A deviation found once is used for all groups for which it stays feasible.
    """

    def __init__(self, problem: Problem, suppressed: BoolArray, measure: SensitivityMeasure) -> None:
        self.problem, self.measure = problem, measure
        table = problem.table
        self.insiders = Insiders(problem, measure)
        self.base = np.flatnonzero(table.is_base & suppressed)  # cells in play
        self.place = np.full(len(table), -1)
        self.place[self.base] = np.arange(len(self.base))
        self.in_play = self.place >= 0
        self.noise = self.insiders.noise[self.base]
        slack = np.where(suppressed, np.inf, 0.0)
        slack[self.base] = table.magnitude[self.base]
        self.reduced = presolve(table.relations, -slack, slack)
        self.programs = 0
        self._component_number = np.full(len(table), -1)
        for number, (members, _) in enumerate(components(table.relations, slack > 0)):
            self._component_number[members] = number
        self._aggregation_programs: dict[int, AggregationProgram] = {}
        self._components: dict[int, RespondentComponent] = {}
        for members, relations in components(self.reduced.relations, np.ones(len(self.reduced.low), dtype=bool)):
            component = RespondentComponent(members, relations, self.reduced.low[members], self.reduced.high[members])
            self._components.update(dict.fromkeys(members.tolist(), component))

    def worst(self, target: int) -> RespondentExposure | None:
        """The exposure of a respondent with the best precision among those found; None if the respondent is safe.

        A group with fewer insiders than the rule allows is extended by those who contribute most to its aggregation.
        """
        found = list(self.exposures(target))
        for exposure in found.copy():
            while exposure.aggregation is not None and len(exposure.group.insiders) < self.measure.others:
                insider = self._largest_contributor(exposure.group, exposure.aggregation)
                extended = None if insider is None else self._examine(exposure.group.with_insider(insider), [])
                if not isinstance(extended, RespondentExposure):
                    break
                found.append(exposure := extended)
        return min(found, key=lambda exposure: exposure.precision, default=None)

    def _largest_contributor(self, group: TargetGroup, aggregation: Aggregation) -> int | None:
        """The largest contributor to an aggregation who is not in the group."""
        contributions = self.insiders.contributions
        weight = np.zeros(len(self.place))
        weight[list(aggregation.suppressed)] = [abs(float(times)) for times in aggregation.suppressed.values()]
        amounts = weight[contributions.cell] * contributions.amount
        total = np.bincount(contributions.contributor, amounts, len(contributions.names))
        total[[group.target, *group.insiders]] = 0.0
        return int(total.argmax()) if total.any() else None

    def exposures(self, target: int) -> Iterator[RespondentExposure]:
        """The groups of insiders who can estimate a respondent too closely, without those that contain such a group."""
        for group, cell in self._published_to(target):
            yield self._exposed_by_cell(group, cell)
        pool = [_SafeDeviation(np.zeros(len(self.base)))]
        seen, left = {TargetGroup(target)}, [TargetGroup(target)]
        while left:
            group = left.pop()
            found = self._examine(group, pool)
            if isinstance(found, RespondentExposure):
                yield found
                continue
            more = self.measure.others - len(group.insiders)
            for insider in sorted({insider for safe in found for insider in self._critical(group, safe, more)}):
                extended = group.with_insider(insider)
                if extended not in seen:
                    seen.add(extended)
                    left.append(extended)

    def _published_to(self, target: int) -> Iterator[tuple[TargetGroup, int]]:
        """The published cells that the target and its largest fellow contributors make sensitive."""
        contributions = self.insiders.contributions
        for cell in contributions.of(target)[0].tolist():
            if not self.in_play[cell] and self.problem.status[cell] == Status.PRIMARY:
                # Contributors are in descending order.
                contributors = contributions.contributor[slice(*np.searchsorted(contributions.cell, [cell, cell + 1]))]
                others = contributors[contributors != target][: self.measure.others]
                group = TargetGroup(target, tuple(sorted(others.tolist())))
                if self._makes_sensitive(group, cell):
                    yield group, cell

    # -- one group ---------------------------------------------------------------------------------------------

    def _examine(self, group: TargetGroup, pool: list[_SafeDeviation]) -> list[_SafeDeviation] | RespondentExposure:
        """Deviations that show the target safe from the insiders, one per choice of signs; or the exposure if it is not."""
        rest = self.insiders.rest(group, self.base)
        sensitive = self.problem.status[self.base] == Status.PRIMARY
        at = np.flatnonzero((rest < 0) & sensitive)
        # A cell whose respondents gave waivers needs no protection.
        rest = np.where(sensitive, rest, np.maximum(rest, 0.0))
        cells = [int(cell) for cell in self.base[at]]
        for cell in self.insiders.cells_of(group).tolist():
            if not self.in_play[cell] and self._makes_sensitive(group, cell):
                return self._exposed_by_cell(group, cell)
        if len(cells) > 1:
            separate = (safe for safe in pool if safe.separate is not None and self._protects(safe, rest, at, ()))
            found = next(separate, None) or self._separate_deviations(group, rest, at)
            if found is not None:
                pool.append(found)
                return [found]
        if len(cells) > MAX_CELLS_WITH_SIGNS:
            return self._exposed(group, tuple(cells), (1,) * len(cells), None)
        deviations = []
        for others in product((1, -1), repeat=max(len(cells) - 1, 0)):
            signs = (1, *others)[: len(cells)]
            safe = next((safe for safe in pool if self._protects(safe, rest, at, signs)), None)
            if safe is None:
                result = self._search(group, cells, signs, rest, at)
                if not isinstance(result, _SafeDeviation):
                    return self._exposed(group, tuple(cells), signs, result)
                pool.append(result)
                safe = result
            deviations.append(safe)
        return deviations

    def _makes_sensitive(self, group: TargetGroup, cell: int) -> bool:
        if self.problem.status[cell] != Status.PRIMARY:
            return False
        return bool(self.insiders.rest(group, np.array([cell]))[0] < 0)

    def _exposed_by_cell(self, group: TargetGroup, cell: int) -> RespondentExposure:
        return self._exposed(group, (cell,), (1,), Aggregation.of_cell(self.insiders, group, cell))

    def _exposed(
        self, group: TargetGroup, cells: tuple[int, ...], signs: tuple[int, ...], aggregation: Aggregation | None
    ) -> RespondentExposure:
        names = self.insiders.contributions.names
        insiders = tuple(names[insider] for insider in group.insiders)
        return RespondentExposure(self.measure, group, cells, signs, names[group.target], insiders, aggregation)

    def _protects(self, safe: _SafeDeviation, rest: FloatArray, at: IntArray, signs: tuple[int, ...]) -> bool:
        """Whether a deviation, or its reverse, shows the target safe from a group that leaves this rest."""
        amount = safe.amount
        if safe.separate is None:
            reverse = len(at) > 0 and not amount[at[0]] * signs[0] >= 0
            amount = -amount if reverse else amount
            deviation = np.array(signs, dtype=float) * amount[at]
        elif np.array_equal(safe.separate, at):
            deviation = amount[at]
        else:
            return False
        enough = deviation >= -rest[at] * (1 - tolerances.LEVEL_TOLERANCE)
        within = np.abs(amount) <= rest + self.noise
        within[at] = True
        return bool(enough.all() and within.all())

    def _critical(self, group: TargetGroup, safe: _SafeDeviation, more: int) -> list[int]:
        """Further insiders who may make a deviation of this group infeasible."""
        if more == 0:
            return []
        rest = self.insiders.rest(group, self.base)
        # A rest that is not negative may shrink to the deviation; a negative one may fall until the deviation is too small.
        # If a rest becomes negative, the cell deviates in both directions.
        shrinkage = np.where(rest >= 0, rest - np.abs(safe.amount), np.abs(safe.amount) + rest)
        return self.insiders.critical_insiders(group, self.base, np.maximum(shrinkage, 0.0), more, self.in_play)

    # -- programs ----------------------------------------------------------------------------------------------

    def _search(
        self, group: TargetGroup, cells: list[int], signs: tuple[int, ...], rest: FloatArray, at: IntArray
    ) -> _SafeDeviation | Aggregation | None:
        """A deviation that shows the target safe from the insiders, or an aggregation that shows that it is not, if found."""
        total = np.zeros(len(self.base))
        numbers = self._component_number[cells]
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            selected = at[chosen]
            selected_rest = np.maximum(rest, 0.0)
            selected_rest[selected] = rest[selected]
            safe = self._find(group, selected, np.array(signs, dtype=float)[chosen], selected_rest)
            if safe is None:
                break
            total += safe.amount
        else:
            return _SafeDeviation(total)
        aggregation = self._proposed_aggregation(group, cells[0], rest) if len(cells) == 1 else None
        return aggregation if aggregation is not None else self._decide_exactly(group, cells, signs)

    def _find(self, group: TargetGroup, at: IntArray, signs: FloatArray, rest: FloatArray) -> _SafeDeviation | None:
        """A deviation of some cells with these signs by as much as they need, if possible feasible for most insiders."""
        for component in self._components_around(at):
            for levels, slack in self._levels_and_slacks(group, at, signs, rest, component):
                safe = self._maximize(at, signs, levels, slack, component)
                if safe is not None and self._protects(safe, rest, at, tuple(signs.tolist())):
                    return safe
        return None

    def _separate_deviations(self, group: TargetGroup, rest: FloatArray, at: IntArray) -> _SafeDeviation | None:
        """A deviation for each of several cells that leaves the others unchanged; the rest is enough for all together."""
        left, total = np.maximum(rest, 0.0), np.zeros(len(rest))
        left[at] = 0.0
        for k in range(len(at)):
            selected, selected_rest = at[k : k + 1], left.copy()
            selected_rest[selected] = rest[selected]
            safe = self._find(group, selected, np.ones(1), selected_rest)
            if safe is None:
                return None
            total += np.abs(safe.amount)
            left = np.maximum(left - np.abs(safe.amount), 0.0)
        found = _SafeDeviation(total, at)
        return found if self._protects(found, rest, at, ()) else None

    def _components_around(self, at: IntArray) -> Iterator[RespondentComponent]:
        """The neighbourhood of the cells, if their component is large, then the component; none if they are in several."""
        columns = self.reduced.column[self.base[at]]
        if np.all(columns >= 0):
            component = self._components[int(columns[0])]
            neighbourhood = component.around(int(columns[0]))
            if neighbourhood is not None and np.all(np.isin(columns, neighbourhood.members)):
                yield neighbourhood
            if np.all(np.isin(columns, component.members)):
                yield component

    def _levels_and_slacks(
        self, group: TargetGroup, at: IntArray, signs: FloatArray, rest: FloatArray, component: RespondentComponent
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Levels of the cells and slacks of the others: first feasible for all insiders, then for most, then for this group."""
        others = self._largest_others(group)
        if others.any():
            # For larger groups, a deviation that is feasible for all insiders is known not to exist.
            if not group.insiders:
                yield (others - rest)[at], np.maximum(rest - others, 0.0)
            beyond = self._cells_beyond(at, signs, others, rest, component)
            if beyond is not None:
                known = np.where(beyond, 0.0, others)
                yield (known - rest)[at], np.maximum(rest - known, 0.0)
        yield -rest[at], np.maximum(rest, 0.0)

    def _cells_beyond(
        self, at: IntArray, signs: FloatArray, others: FloatArray, rest: FloatArray, component: RespondentComponent
    ) -> BoolArray | None:
        """As few cells as possible that deviate by more than what their largest insiders leave of them."""
        column = self.reduced.column[self.base]
        full, robust = rest.copy(), rest - others
        full[at] = robust[at] = np.inf
        goals = self._goals(at, signs, -rest[at], component)
        if goals is None:
            return None
        spared = np.zeros(len(component.members))
        np.maximum.at(spared, np.searchsorted(component.members, column[at]), others[at])
        slacks = (component.least_slack(column, np.maximum(slack, 0.0)) for slack in (robust, full))
        found = component.columns_beyond(goals, spared[goals.at], *slacks)
        self.programs += 1
        if found is None:
            return None
        beyond = np.zeros(len(self.reduced.low) + 1, dtype=bool)
        beyond[component.members] = found
        return np.asarray(beyond[column])

    def _goals(
        self, at: IntArray, signs: FloatArray, levels: FloatArray, component: RespondentComponent
    ) -> DeviationGoals | None:
        """The deviations of columns that these levels require; None if merged cells require opposite ones."""
        cells = self.base[at]
        places = np.searchsorted(component.members, self.reduced.column[cells])
        needed = signs * self.reduced.sign[cells] * levels
        first, of = np.unique(places, return_inverse=True)
        low, high = np.zeros(len(first)), np.zeros(len(first))
        np.minimum.at(low, of, needed)
        np.maximum.at(high, of, needed)
        if np.any((low < 0) & (high > 0)):
            return None
        return DeviationGoals(first, np.where(low < 0, -1.0, 1.0), high - low)

    def _maximize(
        self, at: IntArray, signs: FloatArray, levels: FloatArray, slack: FloatArray, component: RespondentComponent
    ) -> _SafeDeviation | None:
        """A proven deviation of the cells by up to their levels, in which others stay within their slack; None if not proven."""
        slack = slack.copy()
        slack[at] = np.inf  # their levels do not exceed their bounds
        goals = self._goals(at, signs, levels, component)
        if goals is None:
            return None
        column = self.reduced.column[self.base]
        columns, low, high = component.narrower_bounds(column, slack)
        self.programs += 1
        with component.tables.narrowed(columns, low, high):
            *_, candidate = component.tables.maximize_sum(goals.at, goals.sign, goals.level, np.ones(len(goals.at)))
        if not candidate.proven:
            return None
        deviation = np.zeros(len(self.reduced.low) + 1)
        deviation[component.members] = candidate.difference
        return _SafeDeviation(np.where(column >= 0, self.reduced.sign[self.base] * deviation[column], 0.0))

    def _largest_others(self, group: TargetGroup) -> FloatArray:
        """What the largest contributors outside the group know of each cell, as many as the rule allows."""
        contributions = self.insiders.contributions
        outside = ~np.isin(contributions.contributor, (group.target, *group.insiders))
        at = np.flatnonzero(self.in_play[contributions.cell] & outside)
        first = np.searchsorted(contributions.cell[at], contributions.cell[at])
        at = at[np.arange(len(at)) - first < self.measure.others]
        known = self.measure.other * contributions.amount[at]
        return np.asarray(np.bincount(self.place[contributions.cell[at]], known, len(self.base)))

    def _proposed_aggregation(self, group: TargetGroup, cell: int, rest: FloatArray) -> Aggregation | None:
        """The most informative sum with a cell according to a solver; None unless it is proven to be sensitive."""
        number = int(self._component_number[cell])
        if number not in self._aggregation_programs:
            members = np.flatnonzero(self._component_number == number)
            self._aggregation_programs[number] = AggregationProgram(self.problem.table.relations, members)
        program = self._aggregation_programs[number]
        self.programs += 1
        slack = np.full(len(self.place), np.inf)
        slack[self.base] = np.maximum(rest, 0.0)
        multipliers = program.multipliers(cell, float(-rest[self.place[cell]]), slack[program.cells])
        found = Aggregation.of(self.insiders, group, multipliers, self.in_play)
        # A multiplier that was rounded may leave suppressed totals, whose values are not known.
        has_suppressed_totals = any(self._component_number[other] >= 0 for other in found.published)
        return found if found.sensitive and not has_suppressed_totals else None

    def _decide_exactly(
        self, group: TargetGroup, cells: list[int], signs: tuple[int, ...]
    ) -> _SafeDeviation | Aggregation | None:
        """The decision in rational arithmetic; None if that takes too long."""
        self.programs += 1
        rest = dict(zip(self.base.tolist(), self.insiders.exact_rest(group, self.base), strict=True))
        inside = np.flatnonzero(np.isin(self._component_number, np.unique(self._component_number[cells])))
        relations = self.problem.table.relations[:, inside]
        slack: list[Bound] = [max(rest[cell], Fraction(0)) if cell in rest else np.inf for cell in inside.tolist()]
        # A further column represents the target: all its cells deviate with it by what they need, and each may deviate more.
        needed = [-rest[cell] for cell in cells]
        unit, target = max(needed), len(inside) + len(cells)
        columns = np.searchsorted(inside, cells).tolist()
        low, high = [-bound for bound in slack], slack.copy()
        for column, sign in zip(columns, signs, strict=True):
            low[column], high[column] = -np.inf, np.inf
            low.append(Fraction(0) if sign > 0 else -np.inf)
            high.append(np.inf if sign > 0 else Fraction(0))
        weights = [s * float(n / unit) for s, n in zip(signs, needed, strict=True)]
        joint = with_joint_deviation(relations, columns, weights)
        stake = np.zeros(target + 1)
        stake[target] = float(unit)
        exact = ExactReach(joint, [*low, -unit], [*high, unit], stake)
        shown, limit = exact.settle(target, 1)
        reach = reach_of(exact.program, shown, target, 1)
        if shown is not None and reach >= unit * (1 - Fraction(tolerances.LEVEL_TOLERANCE)):
            amount = np.zeros(len(self.base))
            of_target = shown.by_cell[target]
            for i, numerator in shown.by_cell.items():
                if i < len(inside) and self.place[inside[i]] >= 0:
                    amount[self.place[inside[i]]] = float(min(reach, unit) * numerator / of_target)
            return _SafeDeviation(amount)
        rows = self.problem.table.relations.shape[0]
        multipliers = {row: y for row, y in limit.multipliers.items() if row < rows}
        found = Aggregation.of(self.insiders, group, multipliers, self.in_play)
        return found if found.sensitive else None


def with_joint_deviation(relations: sparse.csr_array, columns: list[int], weights: list[float]) -> sparse.csr_array:
    """The relations with a last column such that each of ``columns`` deviates by its weight times the last one, plus a rest.

    The rests are columns too, before the last. The given relations are unchanged, so those that imply others still do.
    """
    k = len(columns)
    chosen = sparse.csr_array((np.ones(k), (np.arange(k), columns)), shape=(k, relations.shape[1]))
    rests, last = -sparse.eye_array(k), -sparse.csr_array(np.array(weights)[:, np.newaxis])
    return sparse.csr_array(sparse.block_array([[relations, None, None], [chosen, rests, last]], format="csr"))
