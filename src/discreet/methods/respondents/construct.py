"""Patterns that are safe for every respondent: protect, audit, add attackers, until no respondent is exposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.assess import assess
from discreet.attackers import Attacker
from discreet.data.table import TABLE_ADDITIVITY_TOLERANCE, Table
from discreet.errors import DiscreetError, NoSafePatternError, some
from discreet.inference.respondents.exposure_search import RespondentExposure, with_joint_deviation
from discreet.inference.respondents.insiders import Insiders, TargetGroup
from discreet.inference.respondents.sensitivity import SensitivityMeasure, sensitivity_measures
from discreet.methods.check import exposed_respondents, safe_cells
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.methods.split import InPieces
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import KnownDeviations
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem, Status
from discreet.progress import CTRL_C_SKIPS, ENDED_EARLY, Budget
from discreet.protection import Protection, suppress
from discreet.rules import parse_rules

METHOD_TIME_SHARE = 0.6  # of the time left, for the method itself; the rest is for repairing its pattern
COLUMNS_OF_RULES = ("status", "lower", "upper", "sliding", "prior_lower", "prior_upper")
# Targets of an attacker: for so few, searching a deviation for each is faster than an audit (benchmarks/respondents.py).
MAX_FEW_TARGETS = 3
COST_TOLERANCE = 1e-9  # costs that differ by less than this share count as equal


@dataclass(frozen=True)
class ForRespondents:
    """A suppression method, extended so that no aggregation of its pattern is sensitive for any respondent.

    A respondent is safe from some insiders if suppressed cells can deviate far enough within the bounds of these insiders (see
    :class:`~discreet.inference.respondents.exposure_search.RespondentSearch`). So a group of insiders can be posed as a further
    attacker, against which every method protects. There are too many groups to pose all of them. Therefore the quick method
    makes a pattern first. The insiders who learn too much from it become attackers, and the pattern is repaired, until no
    respondent is exposed. Then the method itself does the same. Every safe pattern must withstand these attackers, so bounds
    and proofs of optimality are valid.
    """

    method: Method
    quick: Method
    name = "for respondents"

    def protect(self, problem: Problem, run: Run) -> Protection:
        posed = Posed(problem)
        keep = run.keep
        run = replace(run, keep=lambda suppressed: keep(suppressed[: len(problem)]))
        try:
            return self._protect(posed, run)
        except NoSafePatternError as error:
            raise posed.restated_error(error) from None

    def _protect(self, posed: Posed, run: Run) -> Protection:
        # After Ctrl-C in a clean-up, respondents are still protected, but nothing more is improved.
        first = replace(run, hint=run.hint and CTRL_C_SKIPS, start=posed.extended(run.start))
        found = self.quick.protect(posed.problem, first)
        if run.budget.cancelled:
            uninterrupted = replace(run, budget=Budget(run.budget.left, run.budget.gap))
            return self._without_clean_up(posed, uninterrupted, found)
        repaired = self._repaired(posed, run, found, posed.exposed(found.suppressed, run))
        best = repaired if self._allows(repaired) else None
        bound = None
        while self.method != self.quick and not run.budget.over:
            limited = run.with_time_share(METHOD_TIME_SHARE).with_start(posed.extended(repaired.suppressed))
            limited = replace(limited, hint=run.hint if best is not None else "")
            found = self._found(posed, limited.without_keep())
            if run.budget.cancelled:
                break
            bound = found.report.bound if bound is None else max(bound, found.report.bound or bound)
            exposed = posed.exposed(found.suppressed, run)
            if not exposed:
                best = _cheaper(posed.protection(found, run, found.suppressed, found.report.status), best)
                break
            repaired = self._repaired(posed, run, found, exposed, repaired)
            best = _cheaper(repaired, best) if self._allows(repaired) else best
        if best is None:
            raise NoSafePatternError(
                f"The time limit ended before a safe pattern of at most {self._at_most:,} cells was found. Allow more time."
            )
        optimal = bound is not None and bound >= best.report.cost * (1 - COST_TOLERANCE)
        ended = run.budget.ending if run.budget.cancelled else best.report.status
        status = "optimal" if optimal else ended
        return self._reported(best, status=status, bound=bound, seconds=run.budget.spent)

    def _reported(self, found: Protection, **entries: Any) -> Protection:
        """The protection with these entries of the report, and the name of the method."""
        method = self.method.method.name if isinstance(self.method, InPieces) else self.method.name
        return replace(found, report=replace(found.report, method=method, **entries))

    @property
    def _at_most(self) -> int | None:
        return getattr(self.method, "at_most", None)

    def _allows(self, found: Protection) -> bool:
        """Whether a pattern is within the cell limit of the method, which the quick method ignores."""
        return self._at_most is None or int(found.suppressed.sum()) <= self._at_most

    def _found(self, posed: Posed, run: Run) -> Protection:
        """The pattern of the method; further cells of the posed problem do not count towards its cell limit."""
        if self._at_most is None:
            return self.method.protect(posed.problem, run)
        more = len(posed.problem) - len(posed.original)
        method: Method = replace(self.method, at_most=self._at_most + more)  # type: ignore[type-var]
        try:
            return method.protect(posed.problem, run)
        except NoSafePatternError as error:
            if len(error.offenders) < len(posed.problem.primaries) or run.budget.over:  # not about the cell limit
                raise
            required = int(np.isin(posed.original.status, (Status.PRIMARY, Status.SUPPRESSED)).sum())
            raise NoSafePatternError(
                f"No safe pattern suppresses {self._at_most:,} cells or fewer ({required:,} must be suppressed). Allow more.",
                posed.original.table.labels(posed.original.primaries),
            ) from None

    def _repaired(
        self,
        posed: Posed,
        run: Run,
        found: Protection,
        exposed: list[RespondentExposure],
        best: Protection | None = None,
    ) -> Protection:
        """The pattern found, extended until no respondent is exposed, and cleaned up; ``best`` if the time ends before."""
        if not exposed:
            return posed.protection(found, run, found.suppressed, found.report.status)
        suppressed = self._grown(posed, run, found.suppressed[: len(posed.original)], exposed)
        if suppressed is None and best is not None:
            return best
        if suppressed is None:
            raise NoSafePatternError(
                f"The time limit ended with {len({one.respondent for one in exposed}):,} respondents exposed: there is no "
                "safe pattern yet. Allow more time."
            )
        trimmed, status = posed.trimmed(suppressed, run)
        if status not in ENDED_EARLY:  # the clean-up may expose other respondents
            smaller = self._grown(posed, run, trimmed, posed.exposed(trimmed, run))
            suppressed, status = (suppressed, run.budget.ending) if smaller is None else (smaller, status)
        return posed.protection(found, run, suppressed, status)

    def _without_clean_up(self, posed: Posed, run: Run, found: Protection) -> Protection:
        """The pattern found, extended until no respondent is exposed."""
        pattern = found.suppressed[: len(posed.original)]
        suppressed = self._grown(posed, run, pattern, posed.exposed(pattern, run))
        repaired = None if suppressed is None else posed.protection(found, run, suppressed, "interrupted")
        if repaired is None or not self._allows(repaired):
            raise KeyboardInterrupt  # there is no safe pattern
        return self._reported(repaired)

    def _grown(
        self, posed: Posed, run: Run, suppressed: BoolArray, exposed: list[RespondentExposure]
    ) -> BoolArray | None:
        """A pattern with further secondaries until no respondent is exposed; None if the time is over.

        A respondent who is safe stays safe if more cells are suppressed, so only exposed respondents are audited again.
        """
        while exposed:
            if run.budget.over:
                return None
            suppressed = grown(posed.add(exposed), suppressed, run)
            exposed = posed.exposed(suppressed, run, {one.group.target for one in exposed})
        return suppressed


def _cheaper(found: Protection, best: Protection | None) -> Protection:
    return found if best is None or found.report.cost <= best.report.cost else best


Attackers = dict[tuple[str, tuple[int, ...], int], dict[int, float]]  # rule, insiders and target -> level per cell
Joint = dict[tuple[str, TargetGroup, tuple[int, ...]], RespondentExposure]  # respondents that dominate several cells


class Posed:
    """The problem as posed to methods: the original one with the insiders known so far as attackers of cells."""

    def __init__(self, problem: Problem) -> None:
        self.original = problem
        self.measures = sensitivity_measures(problem)
        self.insiders = {measure.rule: Insiders(problem, measure) for measure in self.measures}
        self.attackers: Attackers = {}
        self.joint: Joint = {}
        self._known: Problem | None = None

    @property
    def problem(self) -> Problem:
        """The problem with all attackers known so far."""
        if self._known is None:
            self._known = self._problem([*self._by_rules, *self._single(self.attackers)], self.joint)
        return self._known

    def exposed(self, suppressed: BoolArray, run: Run, among: set[int] | None = None) -> list[RespondentExposure]:
        """All exposures in a pattern, by default of all respondents."""
        pattern = suppressed[: len(self.original)]
        found: list[RespondentExposure] = []
        for measure in self.measures:
            targets = self.insiders[measure.rule].targets()
            if among is not None:
                targets = [target for target in targets if target in among]
            found += exposed_respondents(self.original, pattern, measure, targets, run.executor, run.progress)
        return found

    def add(self, exposed: Sequence[RespondentExposure]) -> Problem:
        """Add the insiders of these exposures as attackers, and return the problem with the added attackers only."""
        single: Attackers = {}
        joint: Joint = {}
        for one in exposed:
            insiders, rule = self.insiders[one.measure.rule], one.measure.rule
            if len(one.cells) == 1:
                cell, is_single = one.cells[0], insiders.contributions.is_single[one.group.target]
                key = (rule, one.group.insiders, -1 if is_single else one.group.target)
                if cell not in self.attackers.get(key, {}):
                    level = -float(insiders.rest(one.group, np.array(one.cells))[0])
                    single.setdefault(key, {})[cell] = level
            elif (rule, one.group, one.signs) not in self.joint:
                joint[rule, one.group, one.signs] = one
        if not single and not joint:
            labels = self.original.table.labels(exposed[0].cells)
            reason = "which can be estimated in spite of all suppressed cells"
            if exposed[0].aggregation is None:
                reason = f"which dominates {len(labels)} cells, too many to examine all their sums"
            raise NoSafePatternError(
                f"No pattern found protects a respondent of {some(labels)}, {reason}. "
                "Let more cells be suppressed, or protect cells only: level cells.",
                labels,
            )
        for key, levels in single.items():
            self.attackers.setdefault(key, {}).update(levels)
        self.joint |= joint
        self._known = None
        return self._problem([*self._conditional, *self._single(single)], joint)

    def trimmed(self, suppressed: BoolArray, run: Run) -> tuple[BoolArray, str]:
        """A safe pattern after a clean-up against all attackers known so far, and the status of the clean-up."""
        problem, attackers = self.problem, self.problem.attackers()
        evidence = [KnownDeviations(problem, attacker) for attacker in attackers]
        forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        # Primaries that protect each other need no secondaries. For few targets deviations are searched when needed.
        n_targets = [np.count_nonzero(problem.levels(attacker).any(axis=0)) for attacker in attackers]
        many = [number for number, n in enumerate(n_targets) if n > MAX_FEW_TARGETS]
        safe = safe_cells(problem, forced, [attackers[number] for number in many]) if many else []
        for number, cells in zip(many, safe, strict=True):
            evidence[number].settle(cells)
        longer = forced | np.pad(suppressed, (0, len(problem) - len(suppressed)))
        smaller, status = eliminate(problem, longer, evidence, run)
        return smaller[: len(suppressed)], status

    def restated_error(self, error: NoSafePatternError) -> NoSafePatternError:
        """The error for the posed problem, restated for the original problem without names of respondents."""
        known = set(self.original.table.labels())
        named = [label for label in error.offenders if label in known]
        if not error.offenders or (error.offenders[0] in known and "insider" not in str(error)):
            return error
        joint = sorted({cell for one in self.joint.values() for cell in one.cells})
        labels = named or self.original.table.labels(joint)
        return NoSafePatternError(
            f"No pattern protects the contributions to {some(labels)} from other respondents, who know their own contributions, "
            "even if all cells that may be suppressed are. Let more cells be suppressed, or protect cells only: level cells.",
            labels,
        )

    def extended(self, start: BoolArray | None) -> BoolArray | None:
        """A starting pattern, extended to the cells of the posed problem."""
        n = len(self.original)
        free = self.original.status == Status.FREE
        return None if start is None else np.pad(start[:n] & free, (0, len(self.problem) - n))

    def protection(self, found: Protection, run: Run, suppressed: BoolArray, status: str) -> Protection:
        """A pattern for the original problem, with the report of the protection of the posed problem."""
        report = found.report
        same = run.report(report.method, status, report.bound, report.solver)
        work = {**report.work, "insiders": len(self.attackers) + len(self.joint)}
        return suppress(self.original, suppressed[: len(self.original)], **same, work=work, note=report.note)

    # -- insiders as attackers of cells --------------------------------------------------------------------------

    @cached_property
    def _by_rules(self) -> list[Attacker]:
        """The attackers that follow from the rules alone: each attacks single cells."""
        attackers = [self._largest_contributors(measure) for measure in self.measures]
        if not self._implies_cells():
            attackers += [
                replace(attacker, name=f"cells from {attacker.name}", levels=self.original.levels(attacker))
                for attacker in self.original.attackers()
            ]
        return attackers

    @cached_property
    def _conditional(self) -> list[Attacker]:
        """The attackers by the rules, with levels of cells that need protection only if they are suppressed."""
        free = self.original.status == Status.FREE
        found = []
        for attacker in self._by_rules:
            assert attacker.levels is not None
            if attacker.levels[:, free].any():
                found.append(replace(attacker, levels=np.where(free, attacker.levels, 0.0)))
        return found

    def _single(self, attackers: Attackers) -> list[Attacker]:
        """Insiders that attack targets in single cells."""
        found = []
        for number, ((rule, group, target), levels) in enumerate(attackers.items()):
            slack = self._slack(rule, TargetGroup(target, group) if target >= 0 else None, group)
            need = np.zeros(len(self.original))
            need[list(levels)] = list(levels.values())
            slack = np.maximum(slack, need)
            found.append(_attacker(f"insider {number + 1}", self.original.table.value, slack, slack, need))
        return found

    def _problem(self, attackers: Sequence[Attacker], joint: Joint) -> Problem:
        """The original problem, with these attackers only."""
        n = len(self.original)
        no_levels = dict.fromkeys(("lower", "upper", "sliding"), np.zeros(n))
        # The outsider has no prior bounds: insiders would share them, but bounds of insiders are in the units of their rule.
        unbounded = {"prior_lower": np.full(n, -np.inf), "prior_upper": np.full(n, np.inf)}
        posed = self.original.with_columns(**no_levels, **unbounded, others=tuple(attackers))
        for (rule, group, signs), one in joint.items():
            posed = self._with_joint(posed, rule, group, np.array(signs), one)
        return posed

    def _implies_cells(self) -> bool:
        """Whether protection of all contributions implies protection of cells.

        It does if all rules are about contributions, no waiver or status set by hand changes them, contributions to totals do
        not cancel out, and attackers know no more than the rules assume.
        """
        problem, table = self.original, self.original.table
        if problem.others or problem.readers_exclude_zeros or len(parse_rules(problem.rules)) > len(self.measures):
            return False
        try:
            by_rules = assess(table, problem.rules, boundary=problem.boundary)  # type: ignore[arg-type]
        except DiscreetError:  # the table lacks columns that the rules use
            return False
        if not all(np.array_equal(getattr(problem, name), getattr(by_rules, name)) for name in COLUMNS_OF_RULES):
            return False
        gap = np.abs(table.relations @ table.magnitude)
        return not np.any(gap > TABLE_ADDITIVITY_TOLERANCE * np.maximum(abs(table.relations) @ table.magnitude, 1e-300))

    def _largest_contributors(self, measure: SensitivityMeasure) -> Attacker:
        """The attacker that stands for the largest contributors of each cell, with the levels of a rule."""
        need = self.insiders[measure.rule].levels()
        slack = np.maximum(self._slack(measure.rule, None, ()), need)  # a level may be larger than the cell
        name = f"insider by rule {self.measures.index(measure) + 1}"
        return _attacker(name, self.original.table.value, slack, slack, need)

    def _slack(self, rule: str, group: TargetGroup | None, known: tuple[int, ...]) -> FloatArray:
        """The slack of cells for insiders: of base cells the part that the insiders do not know, of totals unlimited."""
        table, insiders = self.original.table, self.insiders[rule]
        slack = np.full(len(table), np.inf)
        base = np.flatnonzero(table.is_base)
        left = insiders.rest_of_insiders(known, base) if group is None else insiders.rest(group, base)
        slack[base] = np.maximum(left, 0.0)
        return slack

    def _with_joint(
        self, problem: Problem, rule: str, group: TargetGroup, signs: FloatArray, one: RespondentExposure
    ) -> Problem:
        """The problem with further cells for a respondent that dominates several cells.

        One further cell stands for its contributions to all these cells. It can deviate only for the insiders of this
        respondent, and each dominated cell then deviates by its level. One more cell per dominated cell is the additional
        deviation of that cell, see :func:`~discreet.inference.respondents.exposure_search.with_joint_deviation`.
        """
        table, n, cells = problem.table, len(problem), np.array(one.cells)
        k = len(cells)
        need = -self.insiders[rule].rest(group, cells)
        unit = float(np.sqrt(need.max() * need.min()))
        relations = with_joint_deviation(table.relations, list(one.cells), (signs * need / unit).tolist())
        value = np.concatenate([table.value, table.value[cells], [0.0]])
        names = (*table.labels(), *(f"insider's part {i + 1}, {n}" for i in range(k + 1)))
        rhs = np.append(table.rhs, np.zeros(k))
        extended_table = Table({}, np.zeros((0, n + k + 1), dtype=np.int32), value, relations, names=names, rhs=rhs)
        # For all other attackers the additional deviations are unlimited, and the common one is zero.
        new, slack = value[n:], np.append(np.full(k, np.inf), 0.0)

        def extended(attacker: Attacker) -> Attacker:
            levels = None if attacker.levels is None else np.pad(attacker.levels, ((0, 0), (0, k + 1)))
            lower, upper = np.append(attacker.lower, new - slack), np.append(attacker.upper, new + slack)
            return Attacker(attacker.name, lower, upper, levels)

        others = tuple(map(extended, problem.others))
        slack = np.full(n + k + 1, np.inf)
        slack[: len(self.original)] = self._slack(rule, group, ())
        slack[cells] = np.inf
        low, high = slack.copy(), slack.copy()
        low[n : n + k], high[n : n + k] = (np.where(signs * direction > 0, 0.0, np.inf) for direction in (1, -1))
        low[-1] = high[-1] = unit
        levels = np.zeros(n + k + 1)
        levels[-1] = unit
        status = np.append(np.full(k, Status.SUPPRESSED), Status.PRIMARY).astype(np.int8)
        zero_columns = ("cost", "lower", "upper", "sliding", "least_width", "smallest_value")
        return problem.with_columns(
            table=extended_table,
            status=np.append(problem.status, status),
            **{column: np.append(getattr(problem, column), np.zeros(k + 1)) for column in zero_columns},
            prior_lower=np.full(n + k + 1, -np.inf),
            prior_upper=np.full(n + k + 1, np.inf),
            others=(*others, _attacker(f"insiders with {n} cells", value, low, high, levels, (1,))),
        )


def _attacker(
    name: str, value: FloatArray, down: FloatArray, up: FloatArray, need: FloatArray, sides: tuple[int, ...] = (0, 1)
) -> Attacker:
    """An attacker with these slacks and levels."""
    levels = np.zeros((3, len(value)))
    levels[list(sides)] = need
    return Attacker(name, value - down, value + up, levels)


def grown(problem: Problem, suppressed: BoolArray, run: Run) -> BoolArray:
    """A pattern with the further secondaries that the attackers of this problem require; without a clean-up."""
    longer = np.pad(suppressed, (0, len(problem) - len(suppressed)))  # further cells of the problem keep their status
    status = np.where(longer & (problem.status == Status.FREE), Status.SUPPRESSED, problem.status).astype(np.int8)
    pattern = Pattern(problem.with_columns(status=status), run.seed, few_targets=True)
    pattern.grow(run)
    return np.asarray(pattern.suppressed[: len(suppressed)])
