"""The registry of attacks, their execution, and a report of their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from discreet.attacks.cycles import cycles
from discreet.attacks.difference import difference
from discreet.attacks.exact import Contradiction, counts, exact
from discreet.attacks.finding import Finding, Score, Truth, score
from discreet.attacks.fit import fit
from discreet.attacks.percent import bisect_p, bound_p, shrink
from discreet.attacks.public import Public
from discreet.attacks.recipe import Recipe
from discreet.attacks.replay import replay
from discreet.attacks.sample import sample
from discreet.attacks.symmetric import recover
from discreet.errors import InputError, some
from discreet.methods.method import Method
from discreet.progress import Budget, OutOfTime, Progress, Silent, Timed
from discreet.protection import Protection

OUT_OF_TIME = "not finished in the time for attacks"
SAMPLING_TIME_SHARE = 0.9  # of the time left, so that an attack that draws tables ends before it is interrupted
MAX_CELLS_FOR_BISECTION = 5_000  # bisect-p protects the table eight times, which takes too long in larger tables
SAMPLING_SECONDS = 60.0  # default limit of an attack that draws tables; unfinished cells are not claimed


@dataclass(frozen=True, repr=False)
class Knowledge:
    """The assumed knowledge of the attacker besides the publication."""

    p: float | None = None  # of the p-percent rule, in percent
    own: Mapping[str, float] = field(default_factory=dict)  # contributions of the attacker to cells of two respondents
    others: tuple[Public, ...] = ()  # further publications
    sums: Mapping[str, Sequence[str]] = field(default_factory=dict)  # cells, and the cells that they are sums of
    method: str | Method = "kelly"  # with which the attacker protects a fitted table
    seed: int = 0
    recipe: Recipe | None = None  # everything about the making of the release except the secret
    draws: int = 1_000
    seconds: float | None = field(default_factory=lambda: SAMPLING_SECONDS)  # for an attack that draws tables


@dataclass(frozen=True)
class Attack:
    """One attack: its description, its function, and the reason why it does not apply, if there is one."""

    description: str
    find: Callable[[Public, Knowledge, Progress], Finding]
    obstacle: Callable[[Public, Knowledge], str | None] = lambda public, knows: None


def _no_counts(public: Public, knows: Knowledge) -> str | None:
    return "numbers of respondents are not published" if public.count is None else None


def _no_p(public: Public, knows: Knowledge) -> str | None:
    return "p is not known" if knows.p is None else _no_counts(public, knows)


def _no_intervals(public: Public, knows: Knowledge) -> str | None:
    bounded = np.isfinite(public.published_lower) & np.isfinite(public.published_upper)
    published = (np.isnan(public.published) & bounded).any()
    return None if published else "no intervals of suppressed cells are published"


def _unbounded(public: Public, knows: Knowledge) -> str | None:
    may_be_negative = np.isinf(public.lower[public.unknown]).any()
    return "cells may be negative without limit" if may_be_negative else None


def _no_recipe(public: Public, knows: Knowledge) -> str | None:
    if knows.recipe is None:
        return "the method is not known"
    return knows.recipe.obstacle(public) or _unbounded(public, knows)


def _replay(public: Public, knows: Knowledge, progress: Progress) -> Finding:
    assert knows.recipe is not None
    return replay(
        public, knows.recipe, draws=knows.draws, seed=knows.seed, budget=Budget(knows.seconds), progress=progress
    )


def _no_bisection(public: Public, knows: Knowledge) -> str | None:
    limit = MAX_CELLS_FOR_BISECTION
    too_large = f"the table has more than {limit:,} cells" if len(public) > limit else None
    return _no_counts(public, knows) or _unbounded(public, knows) or too_large


def _shrink(public: Public, knows: Knowledge, progress: Progress) -> Finding:
    assert knows.p is not None
    return shrink(public, knows.p, own=knows.own, progress=progress)


# In functions: v is the public view, k the knowledge, g the progress.
ATTACKS: Mapping[str, Attack] = {
    "exact": Attack("the exact interval of every suppressed cell", lambda v, k, g: exact(v, progress=g)),
    "cycles": Attack(
        "the cells that bound each suppressed cell, and single cells that would reveal it",
        lambda v, k, g: cycles(v, progress=g),
    ),
    "shrink": Attack("intervals of cells with one or two respondents, shrunk by a known p", _shrink, _no_p),
    "bound-p": Attack(
        "p bounded from above by cells with one or two respondents", lambda v, k, g: bound_p(v, progress=g), _no_counts
    ),
    "bisect-p": Attack(
        "p bounded from below by protecting again",
        lambda v, k, g: bisect_p(v, k.method, seed=k.seed, progress=g),
        _no_bisection,
    ),
    "symmetric": Attack("values and q from symmetric intervals", lambda v, k, g: recover(v), _no_intervals),
    "fit": Attack(
        "suppressed cells estimated in proportion to their margins", lambda v, k, g: fit(v, progress=g), _unbounded
    ),
    "midpoint-fit": Attack(
        "midpoints of the exact intervals, made additive", lambda v, k, g: fit(v, "midpoint", progress=g), _unbounded
    ),
    "difference": Attack(
        "exact intervals from several publications together",
        lambda v, k, g: difference(v, *k.others, sums=k.sums, progress=g),
        lambda v, k: None if k.others or k.sums else "there is no other publication",
    ),
    "counts": Attack(
        "exact intervals of counts, given that they are whole numbers",
        lambda v, k, g: counts(v, progress=g),
        lambda v, k: None if v.is_integer else "the table is not one of counts",
    ),
    "sample": Attack(
        "congruent tables drawn at random",
        lambda v, k, g: sample(v, draws=k.draws, seed=k.seed, budget=Budget(k.seconds), progress=g),
    ),
    "replay": Attack(
        "tables that lead to the same publication, for an attacker who knows the method", _replay, _no_recipe
    ),
}
# Attacks that are run before every release, in this order. They are fast on small tables. All but ``replay``, which also needs
# the method, need only the release.
QUICK = ("exact", "counts", "symmetric", "fit", "midpoint-fit", "replay")


# Columns of a score: reports state how many cells each of them is true of.
COUNTED_COLUMNS = ("exact", "sensitive", "near", "compromised", "wrong", "narrower")


@dataclass(frozen=True, eq=False, repr=False)
class AttackReport:
    """The scores of all attacks that were run, and the reasons why others were not. Confidential."""

    scores: tuple[Score, ...]
    skipped: Mapping[str, str]  # the reason for each attack that was not run

    def __repr__(self) -> str:
        return f"AttackReport({len(self.scores)} attacks, {len(self.compromised):,} sensitive cells compromised)"

    def __getitem__(self, attack: str) -> Score:
        for one in self.scores:
            if one.finding.attack == attack:
                return one
        raise InputError(
            f"The attack {attack!r} was not run: {self.skipped.get(attack, 'it was not requested')}.", [attack]
        )

    @property
    def compromised(self) -> list[str]:
        """Labels of sensitive cells with a certain claim narrower than the levels allow; guesses do not count."""
        sure = (one for one in self.scores if one.finding.certain)
        return list(dict.fromkeys(label for one in sure for label in one.labels(one.compromised)))

    @property
    def passed(self) -> bool:
        return not self.compromised

    def frame(self) -> pd.DataFrame:
        """One row per attack: its assumptions, the number of cells it is about, and its score."""
        rows = [
            {
                "attack": one.finding.attack,
                "assumes": one.finding.assumes,
                "certain": one.finding.certain,
                "cells": len(one.row),
                **{name: int(getattr(one, name).sum()) for name in COUNTED_COLUMNS},
                "typical_error": one.typical,
                "bias": one.bias,
                "parameters": dict(one.finding.parameters),
            }
            for one in self.scores
        ]
        return pd.DataFrame(rows)

    def details(self) -> pd.DataFrame:
        """One row per attack and cell."""
        frames = [one.frame().assign(attack=one.finding.attack) for one in self.scores]
        if not frames:
            return pd.DataFrame(columns=["attack", "cell"])
        together = pd.concat(frames, ignore_index=True)
        return together[["attack", *(name for name in together.columns if name != "attack")]]


def run(
    protection: Protection,
    attacks: Sequence[str] | None = None,
    *,
    knows: Knowledge | None = None,
    counts: bool | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> AttackReport:
    """Run attacks, by default all that apply, on the public view of a protection, and score them against the truth.

    ``counts``: numbers of respondents are published; by default if the table has them and they are not its values. ``seconds``
    limits all attacks together; attacks that are not finished by then are listed as skipped. Attacks see only the
    :class:`Public` view.
    """
    knows, progress = knows or Knowledge(), progress or Silent()
    chosen = list(ATTACKS) if attacks is None else list(dict.fromkeys(attacks))
    unknown = [name for name in chosen if name not in ATTACKS]
    if unknown:
        raise InputError(f"There is no attack {some(unknown)}. Choose from {some(list(ATTACKS), limit=20)}.", unknown)
    table, budget = protection.problem.table, Budget(seconds)
    counts = table.count is not None and not table.is_count if counts is None else counts
    public, truth = Public.of(protection, counts=counts), Truth.of(protection)
    scores, skipped = [], {}
    for name in chosen:
        limited = _within_budget(knows, budget)
        reason = OUT_OF_TIME if budget.over else ATTACKS[name].obstacle(public, limited)
        if reason is not None:
            skipped[name] = reason
            continue
        try:
            found = ATTACKS[name].find(public, limited, Timed(progress, budget))
        except Contradiction:
            skipped[name] = "its assumptions contradict the publication"
            continue
        except OutOfTime:
            skipped[name] = OUT_OF_TIME
            continue
        if found.unclaimed.all() and len(found.unclaimed):
            skipped[name] = found.reason_without_claims
            continue
        scores.append(score(found, truth))
    return AttackReport(tuple(scores), skipped)


def _within_budget(knows: Knowledge, budget: Budget) -> Knowledge:
    """The knowledge with the time limit of attacks that draw tables, so that they finish before they are interrupted."""
    if budget.seconds is None:
        return knows
    left = SAMPLING_TIME_SHARE * max(budget.seconds - budget.spent, 0.0)
    return replace(knows, seconds=left if knows.seconds is None else min(knows.seconds, left))
