"""The midpoint attacker: over many releases, is the truth guessed more often than an interval alone allows?

Of each sensitive cell a reader knows an interval, published or inferred. Its middle, or the published value put right by the
protection level, are guesses. A value drawn uniformly from the interval would be hit now and then by chance; more hits than
chance explains mean that what is published gives values away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tests.oracles.judge import Guess

NEAR = 0.01  # a guess is a hit within this share of the value
METHODS = ("intervals", "combined", "perturb", "adjust")  # noise of counts is public, and mostly small by design
MOST_SIGMAS = 4.0  # hits beyond chance by more than this are no accident


class Guessed(Protocol):
    method: str
    guesses: tuple[Guess, ...]


@dataclass(frozen=True)
class Score:
    """Hits of one kind of guess, how many chance explains, and the standard deviation of that."""

    name: str
    cells: int
    hits: int
    expected: float
    deviation: float

    @property
    def suspicious(self) -> bool:
        return self.hits - self.expected > MOST_SIGMAS * max(self.deviation, 1.0)

    def __str__(self) -> str:
        chance = f"{self.expected:.1f} ± {self.deviation:.1f} by chance"
        return f"{self.name}: {self.hits} of {self.cells} values hit to within 1 %, {chance}"


def _end_published(one: Guess) -> list[float]:
    """An end of the interval of a cell that protects others: where these are known, so are those that they protect."""
    return [] if one.sensitive or one.published is None else list(one.published)


def _middle_published(one: Guess) -> list[float]:
    if not one.sensitive:
        return []
    low, high = one.published or (one.lower, one.upper)
    return [(low + high) / 2]


def _middle_inferred(one: Guess) -> list[float]:
    return [] if one.known_before or not one.sensitive else [(one.lower + one.upper) / 2]


def _put_right(one: Guess) -> list[float]:
    """A published value moved by the level: up or down by 20 or 10 percent of what it was, say."""
    if not one.sensitive or one.published is None or one.published[0] != one.published[1] or one.value == 0:
        return []
    share = one.level / abs(one.value)
    return [one.published[0] / (1 + share), one.published[0] / (1 - share)] if 0 < share < 1 else []


GUESSES: dict[str, Callable[[Guess], list[float]]] = {
    "middle of the published interval": _middle_published,
    "middle of the inferred interval": _middle_inferred,
    "published value put right by the level": _put_right,
    "end of the interval of a cell that protects others": _end_published,
}


def scores(cases: Iterable[Guessed]) -> list[Score]:
    """For each method and kind of guess."""
    by_method: dict[str, list[Guess]] = {}
    for case in (case for case in cases if case.method in METHODS):
        by_method.setdefault(case.method, []).extend(case.guesses)
    return [
        _score(f"{method}, {name}", found, guess)
        for method, found in by_method.items()
        for name, guess in GUESSES.items()
    ]


def suspicions(cases: Iterable[Guessed]) -> list[str]:
    return [str(score) for score in scores(cases) if score.suspicious]


def _score(name: str, cells: list[Guess], guess: Callable[[Guess], list[float]]) -> Score:
    hits, expected, variance, n = 0, 0.0, 0.0, 0
    for one in cells:
        guesses = guess(one)
        if not guesses or not math.isfinite(one.upper - one.lower) or one.value == 0:
            continue
        n += 1
        hits += any(abs(one.value - at) <= NEAR * abs(one.value) for at in guesses)
        chance = min(sum(_chance(one, at) for at in guesses), 1.0)
        expected += chance
        variance += chance * (1 - chance)
    return Score(name, n, hits, expected, math.sqrt(variance))


def _chance(one: Guess, at: float) -> float:
    """How often a value drawn uniformly from the interval is within 1 % of the guess."""
    ends = sorted((at / (1 + NEAR), at / (1 - NEAR)))
    low, high = max(ends[0], one.lower), min(ends[1], one.upper)
    if one.step:  # whole numbers
        inside = math.floor(high + 1e-9) - math.ceil(low - 1e-9) + 1
        return max(inside, 0) / (math.floor(one.upper + 1e-9) - math.ceil(one.lower - 1e-9) + 1)
    return max(high - low, 0.0) / (one.upper - one.lower) if one.upper > one.lower else 1.0
