"""Sentences that state what a verdict covers and what it does not.

To add a subject, write a function from the basis to a sentence, or None if it does not apply, and list it in ``SUBJECTS``.
Internal sentences are shown in the terminal, the internal report and the JSON reports: they may hold counts, but no values, names
of respondents or attackers, or parameters of rules. Shareable sentences are shown in the shareable report: they hold no counts
either, and only facts that are public once the table is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.assess import has_negative_contributions
from discreet.audit.respondents import RespondentAudit
from discreet.errors import plural
from discreet.guesses import cells_off_by_their_levels, cells_with_central_values
from discreet.inference.respondents.sensitivity import cells_beyond_contributions
from discreet.level import LevelInForce, level_of
from discreet.problem import Problem
from discreet.protection import MANUAL, Decision, Protection
from discreet.rules import WeightedThreshold


@dataclass(frozen=True, repr=False)
class VerdictBasis:
    """The results that a verdict is based on; ``respondents`` is None at the level of cells."""

    protection: Protection
    level: LevelInForce
    respondents: RespondentAudit | None = None

    @property
    def problem(self) -> Problem:
        return self.protection.problem

    @property
    def withholds(self) -> bool:
        """Whether some listed cell is not published with its value."""
        return bool(np.any(self.protection.listed.decision != Decision.PUBLISHED))


Sentence = Callable[[VerdictBasis], str | None]


@dataclass(frozen=True)
class Subject:
    """The sentences on a subject for the office and for readers of the release; None for no sentence."""

    internal: Sentence | None
    shareable: Sentence | None


def promise(
    protection: Protection, respondents: RespondentAudit | None = None, level: LevelInForce | None = None
) -> list[str]:
    """The internal sentences on a protection; ``level`` is that in force, by default that of ``level_of``."""
    in_force = level_of(protection.problem, protection.only_suppresses) if level is None else level
    return _sentences(VerdictBasis(protection, in_force, respondents), [subject.internal for subject in SUBJECTS])


def shareable_promise(protection: Protection, respondents: RespondentAudit | None = None) -> list[str]:
    """The sentences for readers of the release, which state the limits of the verdict."""
    basis = VerdictBasis(protection, level_of(protection.problem, protection.only_suppresses), respondents)
    return _sentences(basis, [subject.shareable for subject in SUBJECTS])


def _sentences(basis: VerdictBasis, sentences: Sequence[Sentence | None]) -> list[str]:
    made = [sentence(basis) for sentence in sentences if sentence is not None]
    return [text for text in made if text is not None]


def _shown_if(condition: Callable[[VerdictBasis], object], text: str) -> Sentence:
    """A sentence that is shown if a condition holds."""
    return lambda basis: text if condition(basis) else None


def published_by_decision(protection: Protection) -> int:
    """The number of sensitive cells that are published by decision."""
    table = protection.problem.table
    cells = [table.index(one.cell) for one in protection.problem.overrides]
    return int((~protection.suppressed[cells]).sum()) if cells else 0


def safe(protection: Protection) -> str:
    """``"safe"``, with the number of exceptions by decision, for a protection that passed its audits."""
    n = published_by_decision(protection)
    return f"safe except for {plural(n, 'cell')} published by decision" if n else "safe"


def _decisions(basis: VerdictBasis) -> str | None:
    n = published_by_decision(basis.protection)
    cells = plural(n, "sensitive cell is", "sensitive cells are")
    return (
        f"By decision {cells} published against the rules; cells and reasons are in the internal report." if n else None
    )


def _waivers(basis: VerdictBasis) -> str | None:
    n = basis.problem.waived
    cells = plural(n, "cell needs", "cells need")
    return f"{cells} less protection, or none, because respondents consent to publication." if n else None


# Shown whenever respondents are named: whether a consent has an effect depends on confidential values.
_waivers_if_any = _shown_if(
    lambda basis: basis.problem.table.contributors,
    "Respondents who consent to publication, if there are any, are protected less, or not at all, where they consent.",
)


def _dropped(basis: VerdictBasis) -> str | None:
    n = basis.problem.table.dropped
    records = plural(n, "record was", "records were")
    return f"{records} left out of the table, because their codes are not in the hierarchies." if n else None


_some_dropped = _shown_if(
    lambda basis: basis.problem.table.dropped,
    "Records whose codes are not in the classifications were left out of the table.",
)

_unrecorded = _shown_if(
    lambda basis: basis.problem.unrecorded,
    "The problem comes from a JJ file. Not known are its rules, consents of respondents, records left out, how sampling "
    "weights are used, and whether values are integers.",
)

_unrecorded_in_file = _shown_if(
    lambda basis: basis.problem.unrecorded,
    "The check is based on a file that does not record rules, consents of respondents, records left out, how sampling weights "
    "are used, and whether values are integers.",
)


def _signed(basis: VerdictBasis) -> str | None:
    table, n = basis.problem.table, int(np.isneginf(basis.problem.prior_lower).sum())
    if not n:
        return None
    negative = int((has_negative_contributions(table) & table.is_base).sum())
    cells = plural(negative, "cell at the finest level has", "cells at the finest level have")
    reason = f" {cells} negative contributions. If these are errors, correct them and run again." if negative else ""
    return f"Values may be negative: readers are assumed to know no lower bound of {plural(n, 'cell')}.{reason}"


_weights = _shown_if(
    lambda basis: basis.problem.table.weights == "secret",
    "Sampling weights, if there are any, are assumed to be secret: with them, respondents can be estimated more closely.",
)

_weighted_number = _shown_if(
    lambda basis: any(rule.startswith(f"{WeightedThreshold.name}(") for rule in basis.problem.rules),
    "Respondents are counted by their sampling weights: a cell with few respondents of large weight is not sensitive by that.",
)


def _zeros(basis: VerdictBasis) -> str | None:
    problem = basis.problem
    figure = "count" if problem.table.is_count else "value"
    if not basis.protection.suppressed.any():
        return None
    if problem.positive:
        return f"Zeros are published: readers know that a suppressed {figure} is not zero."
    return "Zeros may be suppressed: a suppressed count may be zero." if problem.table.is_count else None


_behind = _shown_if(
    lambda basis: basis.problem.table.behind_left_out,
    "The linked tables form a cycle, and the cells behind them are left out: readers who use them may infer more.",
)


def _secret_limit(basis: VerdictBasis) -> str | None:
    protection = basis.protection
    condition = "safety against readers depends on the largest change staying secret."
    if protection.report.secret_limit:
        return f"The published limit on changes of counts is larger than the method's largest change: {condition}"
    if protection.report.method == MANUAL and _changes_below_limit(protection):
        return f"All counts change by less than the published limit. If the method ensures that, {condition}"
    return None


def _changes_below_limit(protection: Protection) -> bool:
    """Whether all adjusted counts have the same published limit on their change, and none reaches it."""
    changed = protection.decision == Decision.ADJUSTED
    if not protection.problem.table.is_count or not changed.any():
        return False
    limit = (protection.upper - protection.published)[changed]
    change = np.abs(protection.published - protection.problem.table.value)[changed]
    return bool(np.all(limit == limit[0]) and change.max() < limit[0])


def _symmetric(basis: VerdictBasis) -> str | None:
    protection = basis.protection
    if not (
        protection.report.symmetric
        or len(cells_with_central_values(protection))
        or len(cells_off_by_their_levels(protection))
    ):
        return None
    return (
        "Published values or intervals are as close to sensitive values as levels allow, or have them in their middles: a simple "
        "guess finds most of them. Attacks that make such guesses are left out once this is accepted."
    )


def _level(basis: VerdictBasis) -> str:
    if basis.respondents is None:
        return basis.level.not_covered or "Not covered: respondents, who were not audited."
    return (
        "Checked at the level of contributions: what other respondents, in coalitions of the size that the rules state, can "
        "infer about each respondent."
    )


def _level_alone(basis: VerdictBasis) -> str:
    """Without the reason, which may reveal the size of the coalitions in the rules."""
    if basis.respondents is None:
        return "Not covered: respondents who use their own figures to learn about others."
    return _level(basis)


_largest_only = _shown_if(
    lambda basis: basis.respondents is not None and not basis.problem.table.knows_respondents,
    "The table lists only the largest contributions to each cell: smaller contributions of holdings are left out.",
)


def _beyond_contributions(basis: VerdictBasis) -> str | None:
    n = 0 if basis.respondents is None else cells_beyond_contributions(basis.problem)
    if not n:
        return None
    return (
        f"{plural(n, 'cell is', 'cells are')} protected, or protected further, because of rules other than P, PQ and NK. This "
        "protection holds against readers only: a respondent who is alone in another suppressed cell, or dominates it, may infer "
        "the value of such a cell, but no contribution more closely than P, PQ and NK allow."
    )


# Shown whether there are such cells or not, as their existence depends on confidential values.
_beyond_contributions_if_any = _shown_if(
    lambda basis: basis.respondents is not None and basis.withholds,
    "If a cell needs protection for other reasons than a rule about contributions, that protection holds against readers "
    "only: a respondent who is alone in another suppressed cell, or dominates it, may infer its value, but no contribution "
    "more closely than rules about contributions allow.",
)

# Shown for every table, so that it does not reveal where a guess is good.
_guesses = _shown_if(
    lambda basis: basis.withholds,
    "The audit determines what follows with certainty. A guess may still be close to a true value, more often if it uses the "
    "parameters of the rules or knowledge of the method.",
)


def _attackers(basis: VerdictBasis) -> str:
    problem = basis.problem
    bounded = np.isfinite(problem.prior_upper).any()
    prior = "bounds of cells beforehand" if bounded else "no more beforehand"
    others = len(problem.others)
    more = f", and {plural(others, 'attacker')} with knowledge of their own" if others else ""
    reader = f"a reader of all published cells who knows {prior}{more}"
    respondents = "" if basis.respondents is None else "; and respondents, who also know their own figures"
    return f"Attackers assumed: {reader}{respondents}."


def _readers(basis: VerdictBasis) -> str:
    respondents = "" if basis.respondents is None else ", and respondents, who also know their own figures"
    return f"The check assumes readers of all published cells{respondents}. With more prior knowledge more can be inferred."


SUBJECTS: tuple[Subject, ...] = (
    Subject(_decisions, None),  # the shareable verdict itself excepts them
    Subject(_waivers, _waivers_if_any),
    Subject(_dropped, _some_dropped),
    Subject(_unrecorded, _unrecorded_in_file),
    Subject(_signed, None),  # that a suppressed value may be negative can be new to readers; _readers holds in any case
    Subject(_weights, _weights),
    Subject(_weighted_number, _weighted_number),
    Subject(_zeros, _zeros),
    Subject(_behind, _behind),
    Subject(_secret_limit, None),  # that there is a secret limit is half of the secret; see _guesses
    Subject(_symmetric, None),  # it would reveal which guess is good; see _guesses
    Subject(_level, _level_alone),
    Subject(_largest_only, _largest_only),
    Subject(_beyond_contributions, _beyond_contributions_if_any),
    Subject(None, _guesses),  # the internal report shows what attacks found instead
    Subject(_attackers, _readers),
)
