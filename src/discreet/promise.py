"""The conditions of a verdict: sentences that state what it covers and what it does not.

Every output shows this list: the terminal, the internal report and the JSON reports. To add a condition, write a function from
the basis to a sentence, or None if it does not apply, and list it in ``SUBJECTS``; a count of the tabulation is also an entry of
``discreet.data.table.PROVENANCE``. Internal sentences may hold counts, but no values, names of respondents or attackers, or
parameters of rules. Shareable sentences are shown in the shareable report: they hold no counts either, and only facts that are
public once the table is published. They are constant, as every language has a translation of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from discreet.assess import has_negative_contributions
from discreet.attacks import AttackReport
from discreet.attacks.limitations import LIMITATIONS, method_unknown
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.data.table import Table
from discreet.errors import plural
from discreet.guesses import cells_off_by_their_levels, cells_with_central_values
from discreet.inference.respondents.sensitivity import cells_beyond_contributions
from discreet.level import LevelInForce, level_of
from discreet.problem import Problem
from discreet.protection import MANUAL, Decision, Protection
from discreet.rules import Threshold, WeightedThreshold


class Stage(IntEnum):
    """The results that a sentence needs."""

    TABLE = 0
    PROBLEM = 1
    PROTECTION = 2


@dataclass(frozen=True)
class Condition:
    """One condition of a verdict; ``weakens``: less is protected, or checked, than without it."""

    name: str
    weakens: bool
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class VerdictBasis:
    """The results that a verdict is based on, as far as there are any; ``respondents`` is None at the level of cells."""

    of: Table | Problem | Protection
    level: LevelInForce | None = None
    respondents: RespondentAudit | None = None
    audit: Audit | None = None
    attacks: AttackReport | None = None

    @property
    def stage(self) -> Stage:
        stages = {Table: Stage.TABLE, Problem: Stage.PROBLEM, Protection: Stage.PROTECTION}
        return stages[type(self.of)]

    @property
    def protection(self) -> Protection:
        assert isinstance(self.of, Protection)
        return self.of

    @property
    def problem(self) -> Problem:
        return self.of if isinstance(self.of, Problem) else self.protection.problem

    @property
    def table(self) -> Table:
        return self.of if isinstance(self.of, Table) else self.problem.table

    @property
    def in_force(self) -> LevelInForce:
        """The level in force, by default that of ``level_of``."""
        return self.level or level_of(self.problem, self.protection.only_suppresses)

    @property
    def withholds(self) -> bool:
        """Whether some listed cell is not published with its value."""
        return bool(np.any(self.protection.listed.decision != Decision.PUBLISHED))


Sentence = Callable[[VerdictBasis], str | None]


@dataclass(frozen=True)
class Subject:
    """The sentences on a subject for the office and for readers of the release; None for no sentence.

    They are shown from a ``stage`` on.
    """

    name: str
    stage: Stage
    internal: Sentence | None
    shareable: Sentence | None
    weakens: bool = True


def conditions(
    of: Table | Problem | Protection,
    respondents: RespondentAudit | None = None,
    level: LevelInForce | None = None,
    *,
    audit: Audit | None = None,
    attacks: AttackReport | None = None,
) -> list[Condition]:
    """The conditions of a verdict on a protection, or of those to come on a problem or a table; those that weaken it first.

    ``level`` is that in force, by default that of ``level_of``; ``attacks`` is None if no attacks were run.
    """
    basis = VerdictBasis(of, level, respondents, audit, attacks)
    found = [
        Condition(subject.name, subject.weakens, sentence)
        for subject in SUBJECTS
        if subject.stage <= basis.stage
        and subject.internal is not None
        and (sentence := subject.internal(basis)) is not None
    ]
    return sorted(found, key=lambda condition: not condition.weakens)


def shareable_promise(protection: Protection, respondents: RespondentAudit | None = None) -> list[str]:
    """The sentences for readers of the release, which state the limits of the verdict."""
    basis = VerdictBasis(protection, None, respondents)
    made = [subject.shareable(basis) for subject in SUBJECTS if subject.shareable is not None]
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
    if basis.stage < Stage.PROTECTION:
        n = len(basis.problem.overrides)
        return f"By decision {plural(n, 'sensitive cell')} may be published against the rules." if n else None
    n = published_by_decision(basis.protection)
    cells = plural(n, "sensitive cell is", "sensitive cells are")
    return (
        f"By decision {cells} published against the rules; cells and reasons are in the internal report." if n else None
    )


def _by_hand(basis: VerdictBasis) -> str | None:
    counts = [f"{plural(n, 'cell')} to {word!r}" for word, n in sorted(basis.problem.by_hand.items())]
    return f"Statuses were set by hand: {', '.join(counts)}." if counts else None


def _without_levels(basis: VerdictBasis) -> str | None:
    n = int((basis.problem.strictest[:, basis.problem.primaries].max(axis=0) == 0).sum())
    cells = plural(n, "sensitive cell has", "sensitive cells have")
    return f"{cells} protection levels of 0: only computing the exact value is prevented." if n else None


def _levels_at_prior_bounds(basis: VerdictBasis) -> str | None:
    """Levels are cut at prior bounds, so the interval that is required may be as narrow as what readers know anyway."""
    problem, primary = basis.problem, basis.problem.primaries
    high = problem.prior_upper[primary]
    above = high - problem.table.value[primary]
    n = int((np.isfinite(high) & (above > 0) & (problem.upper[primary] >= above * (1 - 1e-9))).sum())
    cells = plural(n, "sensitive cell end at a bound", "sensitive cells end at bounds")
    return f"The protection levels of {cells} that readers are assumed to know beforehand." if n else None


def _lower_levels_of_attackers(basis: VerdictBasis) -> str | None:
    problem = basis.problem
    rules = np.stack([problem.lower, problem.upper, problem.sliding])[:, problem.primaries]
    lower = [
        (other.levels[:, problem.primaries] < rules * (1 - 1e-9)).any(axis=0)
        for other in problem.others
        if other.levels is not None
    ]
    n, attackers = int(np.any(lower, axis=0).sum()) if lower else 0, sum(bool(cells.any()) for cells in lower)
    if not n:
        return None
    cells = plural(n, "sensitive cell needs", "sensitive cells need")
    return f"Against {plural(attackers, 'attacker')} {cells} less protection than the rules require."


def _waivers(basis: VerdictBasis) -> str | None:
    n = basis.problem.waived
    cells = plural(n, "cell needs", "cells need")
    return f"{cells} less protection, or none, because respondents consent to publication." if n else None


# Shown whenever respondents are named: whether a consent has an effect depends on confidential values.
_waivers_if_any = _shown_if(
    lambda basis: basis.table.contributors,
    "Respondents who consent to publication, if there are any, are protected less, or not at all, where they consent.",
)


def _of_table(name: str, one: str, several: str, rest: str, shareable: str | None) -> Subject:
    """The subject of an entry of the provenance of a table: the count with a noun and a verb, and the rest of the sentence."""

    def internal(basis: VerdictBasis) -> str | None:
        n = basis.table.provenance.get(name, 0)
        return f"{plural(n, one, several)} {rest}" if n else None

    shown = None if shareable is None else _shown_if(lambda basis: basis.table.provenance.get(name), shareable)
    return Subject(name, Stage.TABLE, internal, shown)


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
    table = basis.table
    negative = int((has_negative_contributions(table) & table.is_base).sum())
    cells = plural(negative, "cell at the finest level has", "cells at the finest level have")
    reason = f"{cells} negative contributions. If these are errors, correct them and run again." if negative else ""
    if basis.stage == Stage.TABLE:
        return f"{reason} Otherwise readers are assumed to know no lower bound of any value." if reason else None
    n = int(np.isneginf(basis.problem.prior_lower).sum())
    known = f"Values may be negative: readers are assumed to know no lower bound of {plural(n, 'cell')}."
    return f"{known} {reason}".rstrip() if n else None


def _zero_contributions(basis: VerdictBasis) -> str | None:
    """Zeros are the last of the largest contributions, so they are seen wherever these include all contributors of a cell."""
    table = basis.table
    counted = any(rule.startswith((f"{Threshold.name}(", f"{WeightedThreshold.name}(")) for rule in basis.problem.rules)
    if not counted or table.is_count or table.count is None or table.top is None:
        return None
    listed = np.arange(table.top.shape[1]) < table.count[:, None]
    n = int(((table.top == 0) & listed).any(axis=1)[table.is_base].sum())
    if not n:
        return None
    return (
        f"In {plural(n, 'cell')} at the finest level, respondents who report zero are counted by the rules about numbers of "
        "respondents."
    )


_weights = _shown_if(
    lambda basis: basis.table.weights == "secret",
    "Sampling weights, if there are any, are assumed to be secret: with them, respondents can be estimated more closely.",
)

_weighted_number = _shown_if(
    lambda basis: any(rule.startswith(f"{WeightedThreshold.name}(") for rule in basis.problem.rules),
    "Respondents are counted by their sampling weights: a cell with few respondents of large weight counts as one with many.",
)


def _counts(basis: VerdictBasis) -> str | None:
    if not basis.table.provenance.get("counts_given"):
        return None
    return (
        "The numbers of contributors are not in the release. If they are published elsewhere, readers know which suppressed "
        "cells have few contributors, and which have none: protect these numbers in a job of their own, with the same cells "
        "suppressed."
    )


def _zeros(basis: VerdictBasis) -> str | None:
    problem = basis.problem
    if not basis.protection.suppressed.any():
        return None
    if problem.readers_exclude_zeros and problem.table.is_count:
        return "Zeros are published: readers know that a suppressed count is not zero."
    if problem.readers_exclude_zeros:
        return "Zeros are published: readers know that a suppressed value is not zero."
    return "Zeros may be suppressed: a suppressed count may be zero." if problem.table.is_count else None


_behind = _shown_if(
    lambda basis: basis.table.behind_left_out,
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
        "guess finds most of them. If this is accepted, attacks that make such guesses are not run."
    )


def _not_covered(basis: VerdictBasis) -> str | None:
    if basis.respondents is not None:
        return None
    return basis.in_force.not_covered or "Not covered: respondents, who were not audited."


def _level(basis: VerdictBasis) -> str | None:
    if basis.respondents is None:
        return None
    return (
        "Checked at the level of contributions: what other respondents, in coalitions of the size that the rules state, can "
        "infer about each respondent."
    )


# Without the reason, which may reveal the size of the coalitions in the rules.
_not_covered_alone = _shown_if(
    lambda basis: basis.respondents is None,
    "Not covered: respondents who use their own figures to learn about others.",
)


_largest_only = _shown_if(
    lambda basis: basis.respondents is not None and not basis.table.knows_respondents,
    "The table lists only the largest contributions to each cell: smaller contributions of holdings are left out.",
)


def _beyond_contributions(basis: VerdictBasis) -> str | None:
    n = 0 if basis.respondents is None else cells_beyond_contributions(basis.problem)
    if not n:
        return None
    return (
        f"{plural(n, 'cell needs', 'cells need')} protection that the rules P, PQ and NK do not require. This protection "
        "holds against readers only: a respondent who is alone in another suppressed cell, or dominates it, may infer "
        f"the {'value of this cell' if n == 1 else 'values of these cells'}, but no contribution more closely than P, PQ and NK "
        "allow."
    )


# Shown whether or not there are such cells, as their existence depends on confidential values.
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
    others = len(problem.others)
    more = f", and {plural(others, 'attacker')} with knowledge of their own" if others else ""
    reader = f"a reader of all published cells who knows {_prior_knowledge(problem)}{more}"
    respondents = "" if basis.respondents is None else "; and respondents, who also know their own figures"
    return f"Attackers assumed: {reader}{respondents}."


def _prior_knowledge(problem: Problem) -> str:
    """What readers are assumed to know besides the publication."""
    lower, known = problem.prior_lower, np.isfinite(problem.prior_lower)
    if np.isfinite(problem.prior_upper).any() or np.any(known & (lower != 0)):
        return "bounds of cells beforehand"
    if known.all():
        return "that values are not negative"
    return "that some values are not negative" if known.any() else "no more beforehand"


def _readers(basis: VerdictBasis) -> str:
    if basis.respondents is None:
        return "The check assumes readers of all published cells. With more prior knowledge more can be inferred."
    return (
        "The check assumes readers of all published cells, and respondents, who also know their own figures. With more prior "
        "knowledge more can be inferred."
    )


def _unaudited(basis: VerdictBasis) -> str | None:
    n = 0 if basis.audit is None else basis.audit.unaudited(basis.protection)
    return f"The audit left out {plural(n, 'pair')} of a protected cell and an attacker." if n else None


def _on_attacks(sentence: Callable[[AttackReport | None], str | None]) -> Subject:
    name, weakens = f"attacks_{sentence.__name__}", sentence is not method_unknown  # true of most releases
    return Subject(name, Stage.PROTECTION, lambda basis: sentence(basis.attacks), None, weakens)


SUBJECTS: tuple[Subject, ...] = (
    Subject("decisions", Stage.PROBLEM, _decisions, None),  # the shareable verdict itself names them as exceptions
    Subject("by_hand", Stage.PROBLEM, _by_hand, None),
    Subject("waivers", Stage.PROBLEM, _waivers, _waivers_if_any),
    _of_table(
        "records_left_out",
        "record was",
        "records were",
        "left out of the table, because their codes are not in the hierarchies.",
        "Records whose codes are not in the classifications were left out of the table.",
    ),
    _of_table(
        "no_value_left_out",
        "record was",
        "records were",
        "left out of the table, because no number is given.",
        "Records without a value were left out of the table.",
    ),
    _of_table(
        "no_value_zero",
        "record counts",
        "records count",
        "as zero, because no number is given.",
        "Records without a value count as zero.",
    ),
    _of_table(
        "cells_left_out",
        "cell was",
        "cells were",
        "left out of the table, because no number is given.",
        "Cells without a value were left out of the table.",
    ),
    _of_table(
        "cells_zero",
        "cell counts",
        "cells count",
        "as zero, because no number is given.",
        "Cells without a value count as zero.",
    ),
    _of_table(
        "codes_replaced",
        "code is",
        "codes are",
        "replaced by others before tabulation: tables of the former codes are not protected.",
        None,  # it may depend on confidential values
    ),
    _of_table(
        "totals_unpublished",
        "total is",
        "totals are",
        "left out of the table: readers who know one from elsewhere may infer more.",
        "The check assumes that totals which are not in the table are not published elsewhere.",
    ),
    Subject("unrecorded", Stage.PROBLEM, _unrecorded, _unrecorded_in_file),
    # Not shareable: readers may not know that a suppressed value can be negative. _readers is true in either case.
    Subject("negative_values", Stage.TABLE, _signed, None),
    Subject("zero_contributions", Stage.PROBLEM, _zero_contributions, None),
    Subject("secret_weights", Stage.TABLE, _weights, _weights),
    Subject("weighted_number", Stage.PROBLEM, _weighted_number, _weighted_number),
    Subject("levels_of_zero", Stage.PROBLEM, _without_levels, None),
    Subject("levels_at_prior_bounds", Stage.PROBLEM, _levels_at_prior_bounds, None),
    Subject("lower_levels", Stage.PROBLEM, _lower_levels_of_attackers, None),
    Subject("cells_behind", Stage.TABLE, _behind, _behind),
    Subject("secret_limit", Stage.PROTECTION, _secret_limit, None),  # it would reveal part of the secret; see _guesses
    Subject("symmetric", Stage.PROTECTION, _symmetric, None),  # it would reveal which guess is good; see _guesses
    Subject("respondents_not_covered", Stage.PROTECTION, _not_covered, _not_covered_alone),
    Subject("respondents", Stage.PROTECTION, _level, _level, weakens=False),
    Subject("largest_only", Stage.PROTECTION, _largest_only, _largest_only),
    Subject("beyond_contributions", Stage.PROTECTION, _beyond_contributions, _beyond_contributions_if_any),
    Subject("unaudited", Stage.PROTECTION, _unaudited, None),  # without a full audit there is no release
    *(_on_attacks(sentence) for sentence in LIMITATIONS),
    Subject("counts_given", Stage.PROTECTION, _counts, None, weakens=False),  # the numbers themselves are confidential
    Subject("zeros", Stage.PROTECTION, _zeros, _zeros, weakens=False),
    Subject("guesses", Stage.PROTECTION, None, _guesses, weakens=False),  # the internal report shows what attacks found
    Subject("attackers", Stage.PROTECTION, _attackers, _readers, weakens=False),
)
