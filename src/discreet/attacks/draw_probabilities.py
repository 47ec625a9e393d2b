"""The probability that a method draws a sensitive cell to its published value, and random numbers with which it does.

Only for tables with one sensitive cell: of several that add up, some are published with other values than were drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import numpy as np

from discreet.arrays import FloatArray
from discreet.attacks.public import Public
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import Adjustment, distances
from discreet.methods.perturbation.announcement import ANNOUNCEMENT, Announcement, announcements, multiple_at
from discreet.methods.perturbation.draws import Draws
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.windows import NoSlackError, Windows
from discreet.problem import Problem, Status
from discreet.secret import Secret

SIMULATED_DRAWS = 4_096  # per probability: its standard error is 0.8 percentage points at most
ANNOUNCEMENT_QUANTILES = 64  # of the drawn multiple, which resolve the probability of an announcement to 1/64
MAX_OPPOSITE_DISTANCES = 32  # distinguished distances in the direction not taken; bisection takes at most 7 runs
RELATIVE_EQUALITY_TOLERANCE = 1e-9  # of published intervals that are computed twice from the same numbers
UNUSED_DIGITS = "0123456789abcdef" * 2  # a valid secret from which nothing is drawn


@dataclass(frozen=True, repr=False)
class Drawing:
    """The ``probability`` that a sensitive cell is drawn to its published value, as accurate as from ``hits`` simulations.

    With each of ``numbers`` the method draws it there, and with ``announced`` it draws the announcement. The numbers are equally
    likely otherwise. Where only some of them lead to the publication, those come first.
    """

    probability: float
    hits: float
    numbers: Sequence[tuple[FloatArray, ...]]
    announced: float = 0.5

    def secret(self, place: int) -> PrescribedSecret:
        """A secret from which the method draws the numbers at a place."""
        return PrescribedSecret(numbers=self.numbers[place], announced=self.announced)


DrawingModel = Callable[[Problem, Public], Drawing | None]
IMPOSSIBLE_DRAWING = Drawing(0.0, 0.0, ())


@dataclass(frozen=True, repr=False)
class PrescribedSecret(Secret):
    """A secret that yields these numbers, one array per request of the method, and then zeros.

    The announcement is drawn from ``announced`` alone.
    """

    digits: str = UNUSED_DIGITS
    numbers: tuple[FloatArray, ...] = field(default=())
    announced: float = 0.5

    def generator(self, purpose: str) -> np.random.Generator:
        return _prescribed((np.array([self.announced]),) if purpose.startswith(ANNOUNCEMENT) else self.numbers)


class _PrescribedGenerator:
    """The functions of a generator that methods use."""

    def __init__(self, numbers: Sequence[FloatArray]) -> None:
        self._left = list(numbers)

    def random(self, size: int | tuple[int, ...]) -> FloatArray:
        numbers = np.zeros(size)
        if self._left:
            numbers[...] = self._left.pop(0)
        return numbers

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)


def _prescribed(numbers: Sequence[FloatArray]) -> np.random.Generator:
    return cast(np.random.Generator, _PrescribedGenerator(numbers))


def drawing_model(method: Method) -> DrawingModel | None:
    """The draws of a method as a function of the problem; None if they are not known, for this method or this problem."""
    if type(method) is Perturbation and method.floor is None and method.at_most is None:
        return partial(_drawing, method, _drawn_by_perturbation)
    if type(method) is Adjustment and not method.exact:
        return partial(_drawing, method, _drawn_by_adjustment)
    return None


def _drawn_by_perturbation(windows: Windows, public: Public) -> Drawing:
    """The sensitive cell is published as drawn; draws that are changed afterwards to be additive are left out."""
    cells = np.repeat(windows.problem.primaries, SIMULATED_DRAWS)
    rng, wanted = np.random.default_rng(0), _change(windows, public)[cells]
    numbers = rng.random((3, SIMULATED_DRAWS))
    first_try, last_try = (
        Draws(windows, source).within(cells, windows.low[cells], windows.high[cells]) == wanted
        for source in (_prescribed((numbers,)), rng)
    )
    if not (last_try.any() and first_try.any()):
        return IMPOSSIBLE_DRAWING
    one = (numbers[..., np.argmax(first_try)][..., None],)
    return Drawing(float(last_try.mean()), float(last_try.sum()), [one])


def _drawn_by_adjustment(windows: Windows, public: Public) -> Drawing:
    """The sensitive cell deviates exactly as far as drawn. Its direction depends on the distance drawn for the other one.

    The farther that is, the less likely it is taken. Tables of equal cost, between which a solver may choose either, are decided
    as the solver decides at the largest distance in the other direction.
    """
    change = _change(windows, public)[windows.problem.primaries]
    least, more = distances(windows)
    taken = np.stack([change < 0, change > 0])
    step = np.where(taken, np.abs(change) - least, 0.0)
    if np.any(change == 0) or np.any((step < 0) | (step > more)):
        return IMPOSSIBLE_DRAWING
    choices = more + 1
    steps = int(min(choices[~taken][0], MAX_OPPOSITE_DISTANCES))
    opposite = [(k + 0.5) / steps for k in reversed(range(steps))]
    numbers = [(np.where(taken, (step + 0.5) / choices, other),) for other in opposite]
    return Drawing(float(1 / choices[taken][0]), SIMULATED_DRAWS, numbers)


def _drawing(
    method: Perturbation | Adjustment,
    drawn: Callable[[Windows, Public], Drawing],
    problem: Problem,
    public: Public,
) -> Drawing | None:
    """The announcement and the draw of the only sensitive cell, which are independent; None if there is not exactly one."""
    posed = problem.posed(suppresses=False, lists_zeros=False)
    if len(posed.primaries) != 1:
        return None
    matching = _matching_announcement(method, posed, public)
    if matching is None:
        return IMPOSSIBLE_DRAWING
    windows, probability, number = matching
    found = drawn(windows, public)
    return replace(found, probability=probability * found.probability, announced=number)


def _matching_announcement(
    method: Perturbation | Adjustment, problem: Problem, public: Public
) -> tuple[Windows, float, float] | None:
    """The windows under which the values of a table may be published as they were; None if there are none.

    With the probability of their announcement, and a random number from which it is drawn.
    """
    numbers_of = defaultdict[Announcement, list[float]](list)
    for number in (np.arange(ANNOUNCEMENT_QUANTILES) + 0.5) / ANNOUNCEMENT_QUANTILES:
        for one in announcements(problem, method.percent, method.margin, multiple_at(float(number))):
            numbers_of[one].append(float(number))
    for one, numbers in numbers_of.items():
        with suppress(NoSlackError):
            windows = Windows.announced(problem, one)
            if _within(windows, public):
                return windows, len(numbers) / ANNOUNCEMENT_QUANTILES, numbers[len(numbers) // 2]
    return None


def _within(windows: Windows, public: Public) -> bool:
    """Whether the values of a table may be published as they were, with the same intervals."""
    change = _change(windows, public)
    lower, upper = windows.intervals(windows.published(change.astype(np.int64)))
    published = windows.problem.status != Status.SUPPRESSED
    possible = (change >= windows.low) & (change <= windows.high)
    for computed, seen in ((lower, public.published_lower), (upper, public.published_upper)):
        possible &= np.isclose(computed, seen, rtol=RELATIVE_EQUALITY_TOLERANCE, atol=RELATIVE_EQUALITY_TOLERANCE)
    return bool(np.all(possible[published]))


def _change(windows: Windows, public: Public) -> FloatArray:
    """The difference between published values and those of the table, in units; 0 for suppressed cells."""
    return np.nan_to_num(np.rint((public.published - windows.problem.table.value) / windows.unit))
