"""The probability that a method publishes what was published, given the table, for methods that draw in secret.

It is a likelihood where it is known. Otherwise, for tables with one sensitive cell, it is the probability that this cell is
drawn to its published value, with random numbers with which it does: of several that add up, some are published with other
values than were drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.public import Public
from discreet.data.table import Table
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.counts.ptable import PTable, perturbation_table
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import Adjustment, distances
from discreet.methods.perturbation.announcement import ANNOUNCEMENT, Announcement, announcements, multiple_at
from discreet.methods.perturbation.draws import Draws
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.windows import NoSlackError, Windows
from discreet.methods.rounding.grid import Base, Multiples, bases
from discreet.methods.rounding.simple import RandomRounding
from discreet.problem import Problem, Status
from discreet.secret import Secret

SIMULATED_DRAWS = 4_096  # per probability: its standard error is 0.8 percentage points at most
ANNOUNCEMENT_QUANTILES = 64  # of the drawn multiple, which resolve the probability of an announcement to 1/64
MAX_OPPOSITE_DISTANCES = 32  # distinguished distances in the direction not taken; bisection takes at most 7 runs
RELATIVE_EQUALITY_TOLERANCE = 1e-9  # of published intervals that are computed twice from the same numbers
UNUSED_DIGITS = "0123456789abcdef" * 2  # a valid secret from which nothing is drawn


Likelihood = Callable[[Problem, Public], float]


def likelihood_of(method: Method) -> Likelihood | None:
    """The probability of a publication as a function of the problem; None if it is not known for this method."""
    if type(method) is RandomRounding:
        return partial(_random_rounding, method.base)
    if type(method) is CellKey and not method.restore:
        return partial(_cell_key, perturbation_table(method.deviation, method.variance, method.skip))
    return None


def _random_rounding(base: float | Base, problem: Problem, public: Public) -> float:
    """Each cell is rounded up with probability (value − multiple below)/base, independently of all others."""
    multiples = Multiples.of(problem.table.value, bases(base, len(problem)))
    down, up = (_equals(multiples.amount(np.full(len(problem), steps), 0.0), public) for steps in (0.0, 1.0))
    probability = np.where(up & ~down, multiples.part, np.where(down, 1 - multiples.part, 0.0))
    return _product(probability, problem, public)


def _cell_key(table: PTable, problem: Problem, public: Public) -> float:
    """By the perturbation table. A total of a single nonzero cell has the key of that cell; other keys count as independent."""
    count = np.rint(problem.table.value).astype(np.int64)
    change = np.nan_to_num(public.published).astype(np.int64) - count
    row = np.minimum(count, len(table.probability) - 1)
    column = np.clip(change + table.deviation, 0, 2 * table.deviation)
    probability = np.where(np.abs(change) <= table.deviation, table.probability[row, column], 0.0)
    probability[_copies(problem.table)] = 1.0
    return _product(probability, problem, public)


def _product(probability: FloatArray, problem: Problem, public: Public) -> float:
    """The product over all published cells; statuses published and suppressed are met with certainty."""
    suppressed = np.isnan(public.published)
    if np.any(suppressed != (problem.status == Status.SUPPRESSED)):
        return 0.0
    fixed = problem.status == Status.PUBLISHED
    probability = np.where(fixed, _equals(problem.table.value, public), probability)
    return float(np.prod(probability[~suppressed]))


def _equals(value: FloatArray, public: Public) -> BoolArray:
    return np.isclose(value, public.published, rtol=1e-9, atol=1e-9)


def _copies(table: Table) -> BoolArray:
    """Totals with a single nonzero addend, which they repeat."""
    addends = table.relations.maximum(0.0)
    totals = (addends - table.relations).tocoo()
    single = (addends @ (table.value != 0).astype(float)) == 1
    found = np.zeros(len(table), dtype=bool)
    found[totals.col[single[totals.row]]] = True
    return found


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
    """A secret that yields these numbers, one array per request, and then zeros; announcements are drawn from ``announced``."""

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
    method: Perturbation | Adjustment, drawn: Callable[[Windows, Public], Drawing], problem: Problem, public: Public
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
    """Windows under which values may be published as they were; the probability and a random number of their announcement."""
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
