"""How likely a method draws sensitive cells to where they are published, and secret numbers with which it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from discreet.lab.public import BoolArray, Public
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.intervals.placement import TOLERATED, strictest
from discreet.methods.intervals.plan import CORRECTIONS
from discreet.methods.intervals.positions import LEAST, MIDDLE, MOST, drawn_ends, sign_bounds
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import AMPLE, Adjustment, distances
from discreet.methods.perturbation.draws import Draws
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.search import Offer, offers
from discreet.methods.perturbation.windows import NoRoomError, Windows
from discreet.problem import Problem, Status
from discreet.relations import FloatArray
from discreet.secret import Secret
from discreet.table import digits_of

DRAWN = 4_096  # draws by which chances are estimated
STEPS = 32  # distances of the way not taken that are told apart, at most
SAME = 1e-9  # share by which what is told may differ and still be the same
DIGITS = "0123456789abcdef" * 2  # of a secret that nothing is drawn from


@dataclass(frozen=True)
class Drawing:
    """The ``chance`` that sensitive cells are drawn to where they are published, as good as estimated from so many ``hits``.

    With each of ``numbers`` the method draws them there. These are equally likely otherwise, and where only some lead to the
    publication, the first do.
    """

    chance: float
    hits: float
    numbers: Sequence[tuple[FloatArray, ...]]


Drawings = Callable[[Problem, Public], Drawing | None]
NEVER = Drawing(0.0, 0.0, ())


@dataclass(frozen=True, repr=False)
class Prescribed(Secret):
    """A secret that these numbers come from, one array each time that a method asks for some, and then zeros."""

    digits: str = DIGITS
    numbers: tuple[FloatArray, ...] = field(default=())

    def generator(self, purpose: str) -> np.random.Generator:
        return _repeated(self.numbers)


class _Repeated:
    """What methods use of a generator."""

    def __init__(self, numbers: Sequence[FloatArray]) -> None:
        self._left = list(numbers)

    def random(self, size: int | tuple[int, ...]) -> FloatArray:
        numbers = np.zeros(size)
        if self._left:
            numbers[...] = self._left.pop(0)
        return numbers

    def triangular(self, left: float, mode: float, right: float, size: int) -> FloatArray:
        return self.random(size) if self._left else np.full(size, mode)

    def permutation(self, among: int) -> np.ndarray:
        return np.arange(among)


def _repeated(numbers: Sequence[FloatArray]) -> np.random.Generator:
    return cast(np.random.Generator, _Repeated(numbers))


def drawings_of(method: Method) -> Drawings | None:
    """How the method draws, as a function of the problem; None if that is not known."""
    made = DRAWINGS.get(type(method))
    return None if made is None else made(method)


def _intervals(method: Intervals) -> Drawings | None:
    """Sensitive cells are told as the intervals that are drawn for them; those that other cells make wider are left out."""
    if method.exact or method.at_most is not None or method.fixed or method.width or not method.rounded:
        return None

    def drawing(problem: Problem, public: Public) -> Drawing | None:
        posed = problem.posed(suppresses=False, lists_zeros=True)
        levels, known, cells = strictest(posed), sign_bounds(posed), posed.primaries
        digits = digits_of(posed.table.value)
        if digits is None or np.any(levels[:, posed.status == Status.FREE]):
            return None
        rng, each = np.random.default_rng(0), []
        for cell in cells:
            value, level, bounds = (
                np.repeat(part[..., cell : cell + 1], DRAWN, axis=-1) for part in (posed.table.value, levels, known)
            )
            low, high = np.log([LEAST, MOST])
            numbers = rng.triangular(low, (low + high) / 2, high, DRAWN), rng.random((2, DRAWN))
            first = drawn_ends(value, level, bounds, 10.0**-digits, _repeated(numbers))
            told = public.told_lower[cell], public.told_upper[cell]
            one = _one_of(numbers, _ends_are(first, told))
            if one is None:
                return NEVER
            last = first
            for _ in range(CORRECTIONS):
                again = _drawn_again(last, value, len(cells), rng)
                fresh = drawn_ends(value, level, bounds, 10.0**-digits, rng)
                last = np.where(again, fresh[0], last[0]), np.where(again, fresh[1], last[1])
            each.append((int(_ends_are(last, told).sum()), one))
        return _together(each)

    return drawing


def _drawn_again(
    ends: tuple[FloatArray, FloatArray], value: FloatArray, cells: int, rng: np.random.Generator
) -> BoolArray:
    """Which draws are given up since their values lie in the middle, where of other cells as many do as are expected to."""
    wide = ends[1] - ends[0]
    expected, found = 2 * MIDDLE * cells, 1 + 2 * MIDDLE * (cells - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        central = np.isfinite(wide) & (np.abs((value - ends[0]) / wide - 0.5) < MIDDLE)
    many = found > expected + TOLERATED * expected**0.5
    return np.asarray(central & many & (rng.random(len(value)) > expected / found))


def _ends_are(ends: tuple[FloatArray, FloatArray], told: tuple[float, float]) -> BoolArray:
    same = [np.isclose(end, one, rtol=SAME, atol=SAME) for end, one in zip(ends, told, strict=True)]
    return np.asarray(same[0] & same[1])


def _perturbed(method: Perturbation) -> Drawings | None:
    """Sensitive cells are published where they are drawn; those that sums move elsewhere are left out."""
    if method.floor is not None or method.at_most is not None:
        return None

    def drawing(problem: Problem, public: Public) -> Drawing | None:
        posed = problem.posed(suppresses=False, lists_zeros=False)
        windows = _announced(offers(posed, method.percent, method.margin), public)
        if windows is None:
            return NEVER
        rng, each = np.random.default_rng(0), []
        for cell in posed.primaries:
            cells = np.full(DRAWN, cell)
            numbers = (rng.random((2, DRAWN)),)
            first, all_tries = (
                Draws(windows, source).within(cells, windows.low[cells], windows.high[cells])
                for source in (_repeated(numbers), rng)
            )
            wanted = _change(windows, public)[cell]
            one = _one_of(numbers, first == wanted)
            if one is None:
                return NEVER
            each.append((int((all_tries == wanted).sum()), one))
        return _together(each)

    return drawing


def _adjusted(method: Adjustment) -> Drawings | None:
    """Sensitive cells go exactly as far as is drawn. Which way they go depends on how far the other way would be.

    The farther that is, the less likely they take it. Of several cells the same share of the other way is taken at a time.
    """
    if method.exact:
        return None

    def drawing(problem: Problem, public: Public) -> Drawing | None:
        posed = problem.posed(suppresses=False, lists_zeros=False)
        windows = _announced(offers(posed, method.percent, method.margin, AMPLE), public)
        if windows is None:
            return NEVER
        change = _change(windows, public)[posed.primaries]
        least, more = distances(windows)
        taken = np.stack([change < 0, change > 0])
        step = np.where(taken, np.abs(change) - least, 0.0)
        if np.any(change == 0) or np.any((step < 0) | (step > more)):
            return NEVER
        choices = more + 1
        steps = int(min(np.where(taken, 1.0, choices).max(initial=1.0), STEPS))
        others = [(k + 0.5) / steps for k in reversed(range(steps))]
        chance = float(np.prod(1 / choices[taken]))
        return Drawing(chance, DRAWN, [(np.where(taken, (step + 0.5) / choices, other),) for other in others])

    return drawing


DRAWINGS: Mapping[type[Any], Callable[[Any], Drawings | None]] = {
    Intervals: _intervals,
    Perturbation: _perturbed,
    Adjustment: _adjusted,
}


def _announced(offered: Sequence[Offer], public: Public) -> Windows | None:
    """The windows of the announcement that was made, if values of this table may be published as they were within them."""
    for offer in offered:
        with suppress(NoRoomError):
            windows, _ = offer()
            change = _change(windows, public)
            lower, upper = windows.intervals(windows.published(change.astype(np.int64)))
            told = windows.problem.status != Status.HIDDEN
            possible = (change >= windows.low) & (change <= windows.high)
            same = [
                np.isclose(mine, theirs, rtol=SAME, atol=SAME)
                for mine, theirs in ((lower, public.told_lower), (upper, public.told_upper))
            ]
            if np.all((possible & same[0] & same[1])[told]):
                return windows
    return None


def _change(windows: Windows, public: Public) -> FloatArray:
    """By how many units published values differ from the table's; hidden ones by none."""
    return np.nan_to_num(np.rint((public.published - windows.problem.table.value) / windows.unit))


def _one_of(numbers: Sequence[FloatArray], there: BoolArray) -> tuple[FloatArray, ...] | None:
    """The numbers of the first draw that led there."""
    return tuple(part[..., np.argmax(there)] for part in numbers) if there.any() else None


def _together(each: Sequence[tuple[int, tuple[FloatArray, ...]]]) -> Drawing:
    """Of cells that are drawn independently, with the hits and numbers of each."""
    if not all(hits for hits, _ in each):
        return NEVER
    chance = float(np.prod([hits / DRAWN for hits, _ in each]))
    hits = 1 / max(sum(1 / hits for hits, _ in each), 1e-300)
    columns = [numbers for _, numbers in each]
    return Drawing(chance, hits, [tuple(np.stack(part, axis=-1) for part in zip(*columns, strict=True))])
