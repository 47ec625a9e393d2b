"""All attacks on one's own table, each scored against the truth, in one summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from discreet.attacks.cycles import cycles
from discreet.attacks.difference import difference
from discreet.attacks.exact import Contradiction, exact
from discreet.attacks.finding import Finding, Score, Truth, score
from discreet.attacks.fit import fit
from discreet.attacks.percent import bisect_p, bound_p, shrink
from discreet.attacks.public import Public
from discreet.attacks.recipe import Recipe
from discreet.attacks.replay import replay
from discreet.attacks.sample import sample
from discreet.attacks.symmetric import recover
from discreet.attacks.whole import counts
from discreet.errors import InputError, some
from discreet.methods.method import Method
from discreet.progress import Budget, OutOfTime, Progress, Silent, Timed
from discreet.protection import Protection

LATE = "not finished in the time for attacks"
DRAWING = 0.9  # share of the time left for attacks that draw tables
MANY = 5_000  # cells of a table that is not protected over and over again unasked
SECONDS = 60.0  # for an attack that draws tables; what is not settled by then is not claimed


@dataclass(frozen=True, repr=False)
class Knowledge:
    """What the intruder is supposed to know or to have, beside the publication."""

    p: float | None = None  # of the p-percent rule, in percent
    own: Mapping[str, float] = field(default_factory=dict)  # contributions of somebody to cells of two respondents
    others: tuple[Public, ...] = ()  # further publications
    sums: Mapping[str, Sequence[str]] = field(default_factory=dict)  # cells of those that are sums of others
    method: str | Method = "kelly"  # by which the table was protected
    seed: int = 0
    recipe: Recipe | None = None  # how the release was made, but for secret randomness
    draws: int = 1_000
    seconds: float | None = field(default_factory=lambda: SECONDS)  # for an attack that draws tables


@dataclass(frozen=True)
class Attack:
    """One attack: what it does, and the reason why it does not apply, if there is one."""

    words: str
    find: Callable[[Public, Knowledge, Progress], Finding]
    lacks: Callable[[Public, Knowledge], str | None] = lambda public, knows: None
    silent: str = "it says nothing about this table"  # why, where it comes to no result at all


def _no_counts(public: Public, knows: Knowledge) -> str | None:
    return "numbers of respondents are not published" if public.count is None else None


def _no_p(public: Public, knows: Knowledge) -> str | None:
    return "p is not known" if knows.p is None else _no_counts(public, knows)


def _no_intervals(public: Public, knows: Knowledge) -> str | None:
    told = np.isnan(public.published) & np.isfinite(public.told_lower) & np.isfinite(public.told_upper)
    return None if told.any() else "no intervals of suppressed cells are published"


def _negative(public: Public, knows: Knowledge) -> str | None:
    endless = np.isinf(public.lower[public.unknown]).any()
    return "cells may be negative without limit" if endless else None


def _no_recipe(public: Public, knows: Knowledge) -> str | None:
    if knows.recipe is None:
        return "the method is not known"
    return knows.recipe.lacks(public) or _negative(public, knows)


def _replay(public: Public, knows: Knowledge, progress: Progress) -> Finding:
    assert knows.recipe is not None
    return replay(
        public, knows.recipe, draws=knows.draws, seed=knows.seed, budget=Budget(knows.seconds), progress=progress
    )


def _too_many(public: Public, knows: Knowledge) -> str | None:
    many = f"the table has more than {MANY:,} cells" if len(public) > MANY else None
    return _no_counts(public, knows) or _negative(public, knows) or many


def _shrink(public: Public, knows: Knowledge, progress: Progress) -> Finding:
    assert knows.p is not None
    return shrink(public, knows.p, own=knows.own, progress=progress)


ATTACKS: Mapping[str, Attack] = {
    "exact": Attack("the exact interval of every suppressed cell", lambda p, k, g: exact(p, progress=g)),
    "cycles": Attack(
        "what bounds each suppressed cell, and which single cell would reveal it", lambda p, k, g: cycles(p, progress=g)
    ),
    "shrink": Attack("intervals of cells with one or two respondents, shrunk by a known p", _shrink, _no_p),
    "bound-p": Attack(
        "p bounded from above by cells with one or two respondents", lambda p, k, g: bound_p(p, progress=g), _no_counts
    ),
    "bisect-p": Attack(
        "p bounded from below by protecting again",
        lambda p, k, g: bisect_p(p, k.method, seed=k.seed, progress=g),
        _too_many,
    ),
    "symmetric": Attack("values and q from symmetric intervals", lambda p, k, g: recover(p), _no_intervals),
    "fit": Attack("suppressed cells filled in in proportion", lambda p, k, g: fit(p, progress=g), _negative),
    "midpoint-fit": Attack(
        "midpoints of the exact intervals, made additive", lambda p, k, g: fit(p, "midpoint", progress=g), _negative
    ),
    "difference": Attack(
        "several publications taken together",
        lambda p, k, g: difference(p, *k.others, sums=k.sums, progress=g),
        lambda p, k: None if k.others or k.sums else "there is no other publication",
    ),
    "counts": Attack(
        "what follows from counts being whole numbers",
        lambda p, k, g: counts(p, progress=g),
        lambda p, k: None if p.whole else "the table is not one of counts",
    ),
    "sample": Attack(
        "congruent tables drawn at random",
        lambda p, k, g: sample(p, draws=k.draws, seed=k.seed, budget=Budget(k.seconds), progress=g),
        silent="too many cells hang together, or have no end, or time is up",
    ),
    "replay": Attack(
        "tables that lead to the same publication, by an attacker who knows the method",
        _replay,
        _no_recipe,
    ),
}
# That are tried before every release, in this order: quick where the table is small, and in need of nothing but the release.
QUICK = ("exact", "counts", "symmetric", "fit", "midpoint-fit", "replay")


@dataclass(frozen=True, eq=False, repr=False)
class LabReport:
    """What every attack found, how near that is to the truth, and which attacks did not apply. Confidential."""

    scores: tuple[Score, ...]
    skipped: Mapping[str, str]  # attack: why

    def __repr__(self) -> str:
        return f"LabReport({len(self.scores)} attacks, {len(self.compromised):,} sensitive cells compromised)"

    def __getitem__(self, attack: str) -> Score:
        for one in self.scores:
            if one.finding.attack == attack:
                return one
        raise InputError(
            f"The attack {attack!r} was not run: {self.skipped.get(attack, 'it was not asked for')}.", [attack]
        )

    @property
    def compromised(self) -> list[str]:
        """Labels of sensitive cells that some attack is sure to come nearer to than it should; guesses do not count."""
        sure = (one for one in self.scores if one.finding.certain)
        return list(dict.fromkeys(label for one in sure for label in one.labels(one.compromised)))

    @property
    def passed(self) -> bool:
        return not self.compromised

    def frame(self) -> pd.DataFrame:
        """One row an attack: what it assumes, how many cells it is about, and how near it comes."""
        rows = [
            {
                "attack": one.finding.attack,
                "assumes": one.finding.assumes,
                "certain": one.finding.certain,
                "cells": len(one.row),
                "exact": int(one.exact.sum()),
                "sensitive": int(one.sensitive.sum()),
                "near": int(one.near.sum()),
                "compromised": int(one.compromised.sum()),
                "wrong": int(one.wrong.sum()),
                "narrower": int(one.narrower.sum()),
                "typical_error": one.typical,
                "bias": one.bias,
                "parameters": dict(one.finding.parameters),
            }
            for one in self.scores
        ]
        return pd.DataFrame(rows)

    def details(self) -> pd.DataFrame:
        """One row an attack and cell."""
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
) -> LabReport:
    """Run attacks, by default all that apply, on what a protection tells the public, and score them against the truth.

    ``counts``: numbers of respondents are published; by default they are taken to be if the table has them, and they are not
    its values. ``seconds`` is a limit on all attacks together: what has not come to an end by then is left out, and said to be.
    Attacks see the :class:`Public` view alone.
    """
    knows, progress = knows or Knowledge(), progress or Silent()
    chosen = list(ATTACKS) if attacks is None else list(dict.fromkeys(attacks))
    strange = [name for name in chosen if name not in ATTACKS]
    if strange:
        raise InputError(f"There is no attack {some(strange)}. Choose from {some(list(ATTACKS), limit=20)}.", strange)
    table, budget = protection.problem.table, Budget(seconds)
    told = table.count is not None and not table.is_count if counts is None else counts
    public, truth = Public.of(protection, counts=told), Truth.of(protection)
    scores, skipped = [], {}
    for name in chosen:
        mine = _within(knows, budget)
        reason = LATE if budget.over else ATTACKS[name].lacks(public, mine)
        if reason is not None:
            skipped[name] = reason
            continue
        try:
            found = ATTACKS[name].find(public, mine, Timed(progress, budget))
        except Contradiction:
            skipped[name] = "what it assumes contradicts what is published"
            continue
        except OutOfTime:
            skipped[name] = LATE
            continue
        if found.silent.all() and len(found.silent):
            skipped[name] = found.silence or ATTACKS[name].silent
            continue
        scores.append(score(found, truth))
    return LabReport(tuple(scores), skipped)


def _within(knows: Knowledge, budget: Budget) -> Knowledge:
    """What attacks that draw may take of what is left: they come to an end by themselves, before they are ended."""
    if budget.seconds is None:
        return knows
    left = DRAWING * max(budget.seconds - budget.spent, 0.0)
    return replace(knows, seconds=left if knows.seconds is None else min(knows.seconds, left))
