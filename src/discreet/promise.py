"""What a verdict promises and what it does not, in sentences that stand beside it.

To add a subject, write a function that takes the basis and returns a sentence, or None if there is nothing to say, and list it in
``SUBJECTS``. Internal sentences go to the terminal, the internal report and the JSON reports: they hold counts, never values,
names of respondents or attackers, or parameters of rules. Shareable ones stand in the shareable report: they hold no counts
either, and nothing that is not public once the table is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.audit.respondents import RespondentAudit
from discreet.errors import plural
from discreet.guesses import at_levels, in_the_middle
from discreet.inference.respondents.sensitivity import beyond_contributions
from discreet.level import LevelInForce, level_of
from discreet.problem import Problem
from discreet.protection import MANUAL, Decision, Protection
from discreet.rules import WeightedThreshold


@dataclass(frozen=True, repr=False)
class VerdictBasis:
    """What a verdict rests on; ``respondents`` is None at the level of cells."""

    protection: Protection
    level: LevelInForce
    respondents: RespondentAudit | None = None

    @property
    def problem(self) -> Problem:
        return self.protection.problem

    @property
    def withholds(self) -> bool:
        """Whether some cell of the tables is not published with its value."""
        return bool(np.any(self.protection.listed.decision != Decision.PUBLISHED))


Sentence = Callable[[VerdictBasis], str | None]


@dataclass(frozen=True)
class Subject:
    """What is said of a subject: in the office, and to readers of the release. None: nothing."""

    internal: Sentence | None
    shareable: Sentence | None


def promise(
    protection: Protection, respondents: RespondentAudit | None = None, level: LevelInForce | None = None
) -> list[str]:
    """The sentences that stand beside the verdict on a protection; ``level`` is that in force, by default the usual one."""
    in_force = level_of(protection.problem, protection.only_suppresses) if level is None else level
    return _said(VerdictBasis(protection, in_force, respondents), [subject.internal for subject in SUBJECTS])


def shareable_promise(protection: Protection, respondents: RespondentAudit | None = None) -> list[str]:
    """Of these sentences what readers of the release may know, and must know where less is promised than it may seem."""
    basis = VerdictBasis(protection, level_of(protection.problem, protection.only_suppresses), respondents)
    return _said(basis, [subject.shareable for subject in SUBJECTS])


def _said(basis: VerdictBasis, sentences: Sequence[Sentence | None]) -> list[str]:
    made = [sentence(basis) for sentence in sentences if sentence is not None]
    return [text for text in made if text is not None]


def published_by_decision(protection: Protection) -> int:
    """How many sensitive cells are published because somebody decided so."""
    table = protection.problem.table
    cells = [table.index(one.cell) for one in protection.problem.overrides]
    return int((~protection.suppressed[cells]).sum()) if cells else 0


def safe(protection: Protection) -> str:
    """The word for a protection that passed its audits."""
    n = published_by_decision(protection)
    return f"safe except for {plural(n, 'cell')} published by decision" if n else "safe"


def _decisions(basis: VerdictBasis) -> str | None:
    n = published_by_decision(basis.protection)
    if not n:
        return None
    which = "1 sensitive cell is" if n == 1 else f"{n:,} sensitive cells are"
    return f"By decision {which} published against the rules; cells and reasons are in the internal report."


def _waivers(basis: VerdictBasis) -> str | None:
    n = basis.problem.waived
    if not n:
        return None
    need = "needs" if n == 1 else "need"
    return f"{plural(n, 'cell')} {need} less protection, or none, because respondents consent to publication."


def _some_waivers(basis: VerdictBasis) -> str | None:
    # Said in any case where respondents are named: whether a consent makes a difference depends on values.
    if not basis.problem.table.contributors:
        return None
    return "Respondents who consent to publication, if there are any, are protected less, or not at all, where they consent."


def _dropped(basis: VerdictBasis) -> str | None:
    n = basis.problem.table.dropped
    if not n:
        return None
    was = "was" if n == 1 else "were"
    return f"{plural(n, 'record')} {was} left out of the table, because their codes are not in the hierarchies."


def _some_dropped(basis: VerdictBasis) -> str | None:
    if not basis.problem.table.dropped:
        return None
    return "Records whose codes are not in the classifications were left out of the table."


def _unrecorded(basis: VerdictBasis) -> str | None:
    if not basis.problem.unrecorded:
        return None
    return (
        "The problem comes from a JJ file. Not known are its rules, consents of respondents, records left out, how sampling "
        "weights are used, and whether values are whole numbers."
    )


def _some_unrecorded(basis: VerdictBasis) -> str | None:
    if not basis.problem.unrecorded:
        return None
    return (
        "The table was checked as a file describes it that does not record rules, consents of respondents, records left out, how "
        "sampling weights are used, and whether values are whole numbers."
    )


def _signed(basis: VerdictBasis) -> str | None:
    n = int(np.isneginf(basis.problem.prior_lower).sum())
    if not n:
        return None
    return f"Values may be negative: readers are taken to know no lower bound of {plural(n, 'cell')}."


def _weights(basis: VerdictBasis) -> str | None:
    if basis.problem.table.weights != "secret":
        return None
    return "Sampling weights, if there are any, are taken to be secret: whoever knows them may tell respondents more closely."


def _weighted_number(basis: VerdictBasis) -> str | None:
    if not any(rule.startswith(f"{WeightedThreshold.name}(") for rule in basis.problem.rules):
        return None
    return (
        "Respondents are counted by their sampling weights: a cell of few who stand for many is not sensitive by that."
    )


def _zeros(basis: VerdictBasis) -> str | None:
    problem = basis.problem
    what = "count" if problem.table.is_count else "value"
    if not basis.protection.suppressed.any():
        return None
    if problem.positive:
        return f"Zeros are published: readers know that a suppressed {what} is not zero."
    if not problem.table.is_count:
        return None
    return "Zeros may be suppressed: a suppressed count may be zero."


def _behind(basis: VerdictBasis) -> str | None:
    if not basis.problem.table.behind_left_out:
        return None
    return (
        "The linked tables form a cycle, and the cells behind them are left out: readers who use them may infer more."
    )


def _secret_limit(basis: VerdictBasis) -> str | None:
    protection = basis.protection
    rests = "safety against readers rests on the largest change staying secret."
    if protection.report.secret_limit:
        return f"Readers are told that counts may be off by more than the method ever changes them: {rests}"
    if protection.report.method == MANUAL and _off_by_less(protection):
        return f"All counts are off by less than readers are told. If that is so by the method, {rests}"
    return None


def _off_by_less(protection: Protection) -> bool:
    """Whether one largest change of counts is told, and none of them changes by as much."""
    changed = protection.decision == Decision.ADJUSTED
    if not protection.problem.table.is_count or not changed.any():
        return False
    told = (protection.upper - protection.published)[changed]
    off = np.abs(protection.published - protection.problem.table.value)[changed]
    return bool(np.all(told == told[0]) and off.max() < told[0])


def _symmetric(basis: VerdictBasis) -> str | None:
    protection = basis.protection
    if not (protection.report.symmetric or len(in_the_middle(protection)) or len(at_levels(protection))):
        return None
    return (
        "What is published is as near to sensitive values as levels allow, or has them in its middle: a simple guess finds "
        "most of them. Attacks that make such guesses are left out once this is accepted."
    )


def _level(basis: VerdictBasis) -> str:
    if basis.respondents is None:
        return basis.level.not_covered or "Not covered: respondents, who were not audited."
    return (
        "Checked at the level of contributions: what others can work out about each respondent, as many of them together as "
        "the rules say."
    )


def _level_alone(basis: VerdictBasis) -> str:
    """Without the reason, which may tell how many respondents the rules take to act together."""
    if basis.respondents is None:
        return "Not covered: respondents who use their own figures to learn about others."
    return _level(basis)


def _largest_only(basis: VerdictBasis) -> str | None:
    if basis.respondents is None or basis.problem.table.knows_respondents:
        return None
    return "Of each cell the table lists the largest contributions only: smaller ones of holdings are left out."


def _beyond_contributions(basis: VerdictBasis) -> str | None:
    n = 0 if basis.respondents is None else beyond_contributions(basis.problem)
    if not n:
        return None
    need = "needs" if n == 1 else "need"
    return (
        f"{plural(n, 'cell')} {need} protection, or more of it, because of other rules than P, PQ or NK. That part is promised "
        "against readers only: a respondent who is alone in another suppressed cell, or nearly so, may work out the value of "
        "such a cell, but no contribution more closely than P, PQ and NK allow."
    )


def _beyond_contributions_if_any(basis: VerdictBasis) -> str | None:
    """Said whether there are such cells or not: whether there are depends on values."""
    if basis.respondents is None or not basis.withholds:
        return None
    return (
        "Where a cell needs protection for other reasons than a rule about contributions, that part is promised against readers "
        "only: a respondent who is alone in another suppressed cell, or nearly so, may work out its value, but no contribution "
        "more closely than rules about contributions allow."
    )


def _guesses(basis: VerdictBasis) -> str | None:
    """Said of every table, so that it does not tell where a guess is good."""
    if not basis.withholds:
        return None
    return (
        "Worked out was what follows with certainty. A guess may come near a true value all the same, the more so if made by "
        "somebody who knows the numbers of the rules or how the method chose."
    )


def _attackers(basis: VerdictBasis) -> str:
    problem = basis.problem
    bounded = np.isfinite(problem.prior_upper).any()
    knows = "bounds of cells beforehand" if bounded else "no more beforehand"
    others = len(problem.others)
    more = f", and {plural(others, 'attacker')} with knowledge of their own" if others else ""
    reader = f"a reader of all published cells who knows {knows}{more}"
    respondents = "" if basis.respondents is None else "; and respondents, who also know their own figures"
    return f"Attackers assumed: {reader}{respondents}."


def _readers(basis: VerdictBasis) -> str:
    respondents = "" if basis.respondents is None else ", and respondents, who also know their own figures"
    return f"Assumed are readers of all published cells{respondents}. Whoever knows more beforehand may infer more."


SUBJECTS: tuple[Subject, ...] = (
    Subject(_decisions, None),  # the shareable verdict itself excepts them
    Subject(_waivers, _some_waivers),
    Subject(_dropped, _some_dropped),
    Subject(_unrecorded, _some_unrecorded),
    Subject(_signed, None),  # that a suppressed value may be negative can be news; _readers holds all the same
    Subject(_weights, _weights),
    Subject(_weighted_number, _weighted_number),
    Subject(_zeros, _zeros),
    Subject(_behind, _behind),
    Subject(_secret_limit, None),  # whoever is told that there is a secret limit knows half of it; see _guesses
    Subject(_symmetric, None),  # it tells which guess is good; see _guesses
    Subject(_level, _level_alone),
    Subject(_largest_only, _largest_only),
    Subject(_beyond_contributions, _beyond_contributions_if_any),
    Subject(None, _guesses),  # the internal report tells what attacks found instead
    Subject(_attackers, _readers),
)
