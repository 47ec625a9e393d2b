"""Patterns that are safe for every respondent: protect, audit, add what is missing, until nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.assess import assess
from discreet.attackers import Attacker
from discreet.audit.respondents import RespondentChunk, in_chunks, search_chunks
from discreet.data.table import TABLE_ADDITIVITY_TOLERANCE, Table
from discreet.errors import DiscreetError, NoSafePatternError, some
from discreet.inference.respondents.exposure_search import RespondentExposure, with_joint_deviation
from discreet.inference.respondents.insiders import Insiders, TargetGroup
from discreet.inference.respondents.sensitivity import SensitivityMeasure, sensitivity_measures
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.methods.respondents.repair import grown, trimmed
from discreet.methods.split import InPieces
from discreet.problem import Problem, Status
from discreet.progress import ENDED_EARLY
from discreet.protection import Protection, suppress
from discreet.rules import parse_rules

SHARE = 0.6  # of the time that is left, for the method itself
JUDGED = ("status", "lower", "upper", "sliding", "prior_lower", "prior_upper")
SAME = 1e-9  # costs that differ by less than this share are the same


@dataclass(frozen=True)
class ForRespondents:
    """A method of suppression, asked for patterns in which no aggregation is sensitive for anybody.

    That a respondent is safe from some insiders is a matter of how suppressed cells can deviate for all they know (see
    :class:`~discreet.inference.respondents.exposure_search.RespondentSearch`): one attacker more of the kind that every
    method protects against.
    There are too many of them to begin with all. So a quick method goes first, and whoever still learns too much from its
    pattern becomes an attacker, until nobody does; then the method itself, in the same way. All attackers are such that any safe
    pattern must withstand them, so bounds and proofs of optimality hold.
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
            raise posed.hopeless(error) from None

    def _protect(self, posed: Posed, run: Run) -> Protection:
        found = self.quick.protect(posed.problem, replace(run, start=posed.extended(run.start)))
        if run.budget.cancelled:
            raise KeyboardInterrupt  # respondents are not protected yet
        repaired = self._repaired(posed, run, found, posed.exposed(found.suppressed, run))
        best, bound = repaired if self._allows(repaired) else None, None
        while self.method != self.quick and not run.budget.over:
            # What is left of the time is for a pattern that still lets somebody learn too much.
            limited = replace(run, budget=run.budget.share(SHARE), start=posed.extended(repaired.suppressed))
            found = self._found(posed, limited.unkept())
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
            raise NoSafePatternError("The time limit ended without a safe pattern of so few cells. Allow more time.")
        status = "optimal" if bound is not None and bound >= best.report.cost * (1 - SAME) else best.report.status
        method = self.method.method.name if isinstance(self.method, InPieces) else self.method.name
        report = replace(best.report, method=method, status=status, bound=bound, seconds=run.budget.spent)
        return replace(best, report=report)

    @property
    def _at_most(self) -> int | None:
        return getattr(self.method, "at_most", None)

    def _allows(self, found: Protection) -> bool:
        """Whether the method may suppress so many cells: the quick one does not count."""
        return self._at_most is None or int(found.suppressed.sum()) <= self._at_most

    def _found(self, posed: Posed, run: Run) -> Protection:
        """What the method finds; where it may suppress so many cells, the further ones of the problem posed do not count."""
        if self._at_most is None:
            return self.method.protect(posed.problem, run)
        more = len(posed.problem) - len(posed.original)
        asked: Method = replace(self.method, at_most=self._at_most + more)  # type: ignore[type-var]
        try:
            return asked.protect(posed.problem, run)
        except NoSafePatternError as error:
            if len(error.offenders) < len(posed.problem.primaries) or run.budget.over:  # it is not about all of them
                raise
            anyway = int(np.isin(posed.original.status, (Status.PRIMARY, Status.SUPPRESSED)).sum())
            raise NoSafePatternError(
                f"No safe pattern suppresses {self._at_most:,} cells or fewer ({anyway:,} must be). Allow more.",
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
        """A pattern that withstands all attackers known before, made safe from all others; the best so far if time ends."""
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
        if status not in ENDED_EARLY:  # what was published again may expose somebody else
            smaller = self._grown(posed, run, trimmed, posed.exposed(trimmed, run))
            suppressed, status = (suppressed, run.budget.ending) if smaller is None else (smaller, status)
        return posed.protection(found, run, suppressed, status)

    def _grown(
        self, posed: Posed, run: Run, suppressed: BoolArray, exposed: list[RespondentExposure]
    ) -> BoolArray | None:
        """A pattern and what it takes besides for nobody to be exposed; None if there is no time for that.

        Whoever is safe stays so when more is suppressed: only those who are exposed are looked at again.
        """
        while exposed:
            if run.budget.over:
                return None
            suppressed = grown(posed.add(exposed), suppressed, run)
            exposed = posed.exposed(suppressed, run, {one.group.target for one in exposed})
        return suppressed


def _cheaper(found: Protection, best: Protection | None) -> Protection:
    return found if best is None or found.report.cost <= best.report.cost else best


Attackers = dict[tuple[str, tuple[int, ...], int], dict[int, float]]  # by rule, insiders and target: levels by cell
Joint = dict[tuple[str, TargetGroup, tuple[int, ...]], RespondentExposure]  # respondents who dominate several cells


class Posed:
    """A problem with the attackers that are known so far to matter, in terms of cells."""

    def __init__(self, problem: Problem) -> None:
        self.original = problem
        self.measures = sensitivity_measures(problem)
        self.insiders = {measure.rule: Insiders(problem, measure) for measure in self.measures}
        self.attackers: Attackers = {}
        self.joint: Joint = {}
        self._known: Problem | None = None

    @property
    def problem(self) -> Problem:
        """With all attackers known so far."""
        if self._known is None:
            self._known = self._problem([*self._by_rules, *self._single(self.attackers)], self.joint)
        return self._known

    def exposed(self, suppressed: BoolArray, run: Run, among: set[int] | None = None) -> list[RespondentExposure]:
        """Everybody, or of some respondents all those, who still learn too much."""
        found: list[RespondentExposure] = []
        for measure in self.measures:
            targets = self.insiders[measure.rule].targets()
            if among is not None:
                targets = [target for target in targets if target in among]
            chunks = in_chunks(self.original, suppressed[: len(self.original)], measure, targets)
            for exposed, _ in search_chunks(chunks, RespondentChunk.all, run.executor, run.progress):
                found += exposed
        return found

    def add(self, exposed: Sequence[RespondentExposure]) -> Problem:
        """Take in those who learn too much as attackers; the problem with no others is returned."""
        single: Attackers = {}
        joint: Joint = {}
        for one in exposed:
            insiders, rule = self.insiders[one.measure.rule], one.measure.rule
            if len(one.cells) == 1:
                cell, alone = one.cells[0], insiders.contributions.is_single[one.group.target]
                key = (rule, one.group.insiders, -1 if alone else one.group.target)
                if cell not in self.attackers.get(key, {}):
                    level = -float(insiders.rest(one.group, np.array(one.cells))[0])
                    single.setdefault(key, {})[cell] = level
            elif (rule, one.group, one.signs) not in self.joint:
                joint[rule, one.group, one.signs] = one
        if not single and not joint:
            labels = self.original.table.labels(exposed[0].cells)
            why = "who can be told in spite of all that was suppressed"
            if exposed[0].aggregation is None:
                why = f"who dominates {len(labels)} cells: too many to find out what sums of them tell"
            raise NoSafePatternError(f"No way was found to protect a respondent of {some(labels)}, {why}.", labels)
        for key, levels in single.items():
            self.attackers.setdefault(key, {}).update(levels)
        self.joint |= joint
        self._known = None
        return self._problem([*self._conditional, *self._single(single)], joint)

    def trimmed(self, suppressed: BoolArray, run: Run) -> tuple[BoolArray, str]:
        """A pattern that withstands all attackers known so far without what it suppresses without need."""
        longer = np.isin(self.problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        longer[: len(suppressed)] |= suppressed
        smaller, status = trimmed(self.problem, longer, run)
        return smaller[: len(suppressed)], status

    def hopeless(self, error: NoSafePatternError) -> NoSafePatternError:
        """Why there is no safe pattern, in terms of the original problem, without names of respondents."""
        known = set(self.original.table.labels())
        named = [label for label in error.offenders if label in known]
        if not error.offenders or (error.offenders[0] in known and "insider" not in str(error)):
            return error
        joint = sorted({cell for one in self.joint.values() for cell in one.cells})
        labels = named or self.original.table.labels(joint)
        return NoSafePatternError(
            f"No pattern keeps what somebody in {some(labels)} contributes from others who know what they contribute themselves, "
            "even if all cells that may be suppressed are. Let more cells be suppressed, or protect cells instead: level cells.",
            labels,
        )

    def extended(self, start: BoolArray | None) -> BoolArray | None:
        """A pattern to begin with, in terms of the problem posed."""
        if start is None:
            return None
        longer = np.zeros(len(self.problem), dtype=bool)
        longer[: len(self.original)] = start[: len(self.original)] & (self.original.status == Status.FREE)
        return longer

    def protection(self, found: Protection, run: Run, suppressed: BoolArray, status: str) -> Protection:
        """A pattern that was made of what was found for the problem posed, as an answer to the original one."""
        report = found.report
        return suppress(
            self.original,
            suppressed[: len(self.original)],
            method=report.method,
            status=status,
            bound=report.bound,
            seconds=run.budget.spent,
            solver=report.solver,
            seed=run.seed,
            work={**report.work, "insiders": len(self.attackers) + len(self.joint)},
            note=report.note,
        )

    # -- in terms of cells -------------------------------------------------------------------------------------

    @cached_property
    def _by_rules(self) -> list[Attacker]:
        """Who attacks single cells, by the rules."""
        attackers = [self._rule(measure) for measure in self.measures]
        if not self._implies_cells():
            attackers += [
                replace(who, name=f"cells from {who.name}", levels=self.original.levels(who))
                for who in self.original.attackers()
            ]
        return attackers

    @cached_property
    def _conditional(self) -> list[Attacker]:
        """The same, as far as they attack cells that need protection only once they are suppressed."""
        free = self.original.status == Status.FREE
        found = []
        for who in self._by_rules:
            assert who.levels is not None
            if who.levels[:, free].any():
                found.append(replace(who, levels=np.where(free, who.levels, 0.0)))
        return found

    def _single(self, attackers: Attackers) -> list[Attacker]:
        """Insiders whose targets make one cell each sensitive."""
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
        problem, n = self.original, len(self.original)
        nothing = np.zeros(n)
        # Attackers know what everybody does. What that is differs here: moves are in units of what a rule says they know.
        posed = problem.with_columns(
            prior_lower=np.full(n, -np.inf),
            prior_upper=np.full(n, np.inf),
            lower=nothing,
            upper=nothing,
            sliding=nothing,
            others=tuple(attackers),
        )
        return self._with_joint(posed, joint)

    def _implies_cells(self) -> bool:
        """Whether protection of cells as such follows from that of contributions.

        It does where all rules are about these and nothing else says what is sensitive, no waiver and no status set by hand;
        where contributions to totals are not netted; and where people know no more than the rules say.
        """
        problem, table = self.original, self.original.table
        if problem.others or problem.positive or len(parse_rules(problem.rules)) > len(self.measures):
            return False
        try:
            by_rules = assess(table, problem.rules, boundary=problem.boundary)  # type: ignore[arg-type]
        except DiscreetError:  # a table that knows less than the rules look at
            return False
        if not all(np.array_equal(getattr(problem, name), getattr(by_rules, name)) for name in JUDGED):
            return False
        gap = np.abs(table.relations @ table.magnitude)
        netted = np.any(gap > TABLE_ADDITIVITY_TOLERANCE * np.maximum(abs(table.relations) @ table.magnitude, 1e-300))
        return not netted

    def _rule(self, measure: SensitivityMeasure) -> Attacker:
        """The largest contributors to each cell attack it, as the rule says of single cells."""
        need = self.insiders[measure.rule].levels()
        slack = np.maximum(self._slack(measure.rule, None, ()), need)  # a cell may have to move by more than it is
        return _attacker(
            f"insider by rule {self.measures.index(measure) + 1}", self.original.table.value, slack, slack, need
        )

    def _slack(self, rule: str, group: TargetGroup | None, known: tuple[int, ...]) -> FloatArray:
        """How far cells can move for all that somebody knows: base cells by what is left of them, totals as those do."""
        table, insiders = self.original.table, self.insiders[rule]
        slack = np.full(len(table), np.inf)
        base = np.flatnonzero(table.is_base)
        left = insiders.rest_of_insiders(known, base) if group is None else insiders.rest(group, base)
        slack[base] = np.maximum(left, 0.0)
        return slack

    def _with_joint(self, problem: Problem, joint: Joint) -> Problem:
        """Further cells for respondents who dominate several: one stands for what such a respondent contributes to all.

        Only the attackers in question hold it possible that it moves, and then all its cells move with it, each by what it needs.
        Each may move farther: by how much is one further cell each, see
        :func:`~discreet.inference.respondents.exposure_search.with_joint_deviation`.
        """
        for (rule, group, signs), one in joint.items():
            problem = self._with_one(problem, rule, group, np.array(signs), one)
        return problem

    def _with_one(
        self, problem: Problem, rule: str, group: TargetGroup, signs: FloatArray, one: RespondentExposure
    ) -> Problem:
        table, n, cells = problem.table, len(problem), np.array(one.cells)
        k = len(cells)
        need = -self.insiders[rule].rest(group, cells)
        unit = float(np.sqrt(need.max() * need.min()))
        relations = with_joint_deviation(table.relations, list(one.cells), (signs * need / unit).tolist())
        value = np.concatenate([table.value, table.value[cells], [0.0]])
        names = (*table.labels(), *(f"insider's part {i + 1}, {n}" for i in range(k + 1)))
        rhs = np.append(table.rhs, np.zeros(k))
        wide = Table({}, np.zeros((0, n + k + 1), dtype=np.int32), value, relations, names=names, rhs=rhs)
        # Everybody else holds all possible for how far cells move of their own accord, and nothing for the respondent.
        slack = np.append(np.full(k, np.inf), 0.0)

        def longer(who: Attacker) -> Attacker:
            levels = None if who.levels is None else np.pad(who.levels, ((0, 0), (0, k + 1)))
            new = value[n:]
            return Attacker(who.name, np.append(who.lower, new - slack), np.append(who.upper, new + slack), levels)

        others = tuple(map(longer, problem.others))
        slack = np.full(n + k + 1, np.inf)
        slack[: len(self.original)] = self._slack(rule, group, ())
        slack[cells] = np.inf
        low, high = slack.copy(), slack.copy()
        low[n : n + k], high[n : n + k] = (np.where(signs * way > 0, 0.0, np.inf) for way in (1, -1))
        low[-1] = high[-1] = unit
        levels = np.zeros(n + k + 1)
        levels[-1] = unit
        name = f"insiders with {n} cells"
        nothing = np.zeros(k + 1)
        status = np.append(np.full(k, Status.SUPPRESSED), Status.PRIMARY).astype(np.int8)
        return replace(
            problem,
            table=wide,
            status=np.append(problem.status, status),
            cost=np.append(problem.cost, nothing),
            lower=np.append(problem.lower, nothing),
            upper=np.append(problem.upper, nothing),
            sliding=np.append(problem.sliding, nothing),
            least=np.append(problem.least, nothing),
            smallest=np.append(problem.smallest, nothing),
            prior_lower=np.full(n + k + 1, -np.inf),
            prior_upper=np.full(n + k + 1, np.inf),
            others=(*others, _attacker(name, value, low, high, levels, (1,))),
        )


def _attacker(
    name: str, value: FloatArray, down: FloatArray, up: FloatArray, need: FloatArray, sides: tuple[int, ...] = (0, 1)
) -> Attacker:
    levels = np.zeros((3, len(value)))
    levels[list(sides)] = need
    return Attacker(name, value - down, value + up, levels)
