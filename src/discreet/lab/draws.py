"""How likely a method draws a sensitive cell to where it is published, and secret numbers with which it does.

For tables with one sensitive cell: of several that add up, some are published elsewhere than they were drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from discreet.lab.public import BoolArray, Public
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import Adjustment, distances
from discreet.methods.perturbation.draws import Draws
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.search import Offer, offers
from discreet.methods.perturbation.windows import NoRoomError, Windows
from discreet.problem import Problem, Status
from discreet.relations import FloatArray
from discreet.secret import Secret

DRAWN = 4_096  # draws by which chances are estimated
STEPS = 32  # distances of the way not taken that are told apart, at most
SAME = 1e-9  # share by which what is told may differ and still be the same
DIGITS = "0123456789abcdef" * 2  # of a secret that nothing is drawn from


@dataclass(frozen=True)
class Drawing:
    """The ``chance`` that a sensitive cell is drawn to where it is published, as good as estimated from so many ``hits``.

    With each of ``numbers`` the method draws it there. These are equally likely otherwise, and where only some lead to the
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

    def permutation(self, among: int) -> np.ndarray:
        return np.arange(among)


def _repeated(numbers: Sequence[FloatArray]) -> np.random.Generator:
    return cast(np.random.Generator, _Repeated(numbers))


def drawings_of(method: Method) -> Drawings | None:
    """How the method draws, as a function of the problem; None if that is not known, for this method or this problem."""
    made = DRAWINGS.get(type(method))
    return None if made is None else made(method)


def _perturbed(method: Perturbation) -> Drawings | None:
    """The sensitive cell is published where it is drawn; draws that sums move elsewhere are left out."""
    if method.floor is not None or method.at_most is not None:
        return None

    def drawing(problem: Problem, public: Public) -> Drawing | None:
        posed = problem.posed(suppresses=False, lists_zeros=False)
        if len(posed.primaries) != 1:
            return None
        windows = _announced(method.windows(posed), public)
        if windows is None:
            return NEVER
        cells = np.repeat(posed.primaries, DRAWN)
        rng, wanted = np.random.default_rng(0), _change(windows, public)[cells]
        numbers = (rng.random((3, DRAWN)),)
        first, all_tries = (
            Draws(windows, source).within(cells, windows.low[cells], windows.high[cells])
            for source in (_repeated(numbers), rng)
        )
        return _estimated(all_tries == wanted, numbers, first == wanted)

    return drawing


def _adjusted(method: Adjustment) -> Drawings | None:
    """The sensitive cell goes exactly as far as is drawn. Which way it goes depends on how far the other way would be.

    The farther that is, the less likely it is taken. Tables that cost the same, of which a solver takes now one and now another,
    are told apart by how it decides where the other way is farthest.
    """
    if method.exact:
        return None

    def drawing(problem: Problem, public: Public) -> Drawing | None:
        posed = problem.posed(suppresses=False, lists_zeros=False)
        if len(posed.primaries) != 1:
            return None
        windows = _announced(offers(posed, method.percent, method.margin), public)
        if windows is None:
            return NEVER
        change = _change(windows, public)[posed.primaries]
        least, more = distances(windows)
        taken = np.stack([change < 0, change > 0])
        step = np.where(taken, np.abs(change) - least, 0.0)
        if np.any(change == 0) or np.any((step < 0) | (step > more)):
            return NEVER
        choices = more + 1
        steps = int(min(choices[~taken][0], STEPS))
        others = [(k + 0.5) / steps for k in reversed(range(steps))]
        numbers = [(np.where(taken, (step + 0.5) / choices, other),) for other in others]
        return Drawing(float(1 / choices[taken][0]), DRAWN, numbers)

    return drawing


DRAWINGS: Mapping[type[Any], Callable[[Any], Drawings | None]] = {
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


def _estimated(last: BoolArray, numbers: Sequence[FloatArray], first: BoolArray) -> Drawing:
    """From which draws are there at last, and which were at once, with these numbers."""
    if not (last.any() and first.any()):
        return NEVER
    one = tuple(part[..., np.argmax(first)][..., None] for part in numbers)
    return Drawing(float(last.mean()), float(last.sum()), [one])
