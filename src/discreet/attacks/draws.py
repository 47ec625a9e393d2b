"""How likely a method draws a sensitive cell to where it is published, and secret numbers with which it does.

For tables with one sensitive cell: of several that add up, some are published elsewhere than they were drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.public import Public
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import Adjustment, distances
from discreet.methods.perturbation.announcement import ANNOUNCEMENT, Announcement, announcements, multiple_at
from discreet.methods.perturbation.draws import Draws
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.windows import NoSlackError, Windows
from discreet.problem import Problem, Status
from discreet.secret import Secret

DRAWN = 4_096  # draws by which chances are estimated
MULTIPLES = 64  # of the slack that levels need, by which the chance of an announcement is worked out
STEPS = 32  # distances of the way not taken that are told apart, at most
SAME = 1e-9  # share by which what is told may differ and still be the same
DIGITS = "0123456789abcdef" * 2  # of a secret that nothing is drawn from


@dataclass(frozen=True, repr=False)
class Drawing:
    """The ``chance`` that a sensitive cell is drawn to where it is published, as good as estimated from so many ``hits``.

    With each of ``numbers`` the method draws it there, and with ``announced`` what readers are told. Numbers are equally likely
    otherwise, and where only some lead to the publication, the first do.
    """

    chance: float
    hits: float
    numbers: Sequence[tuple[FloatArray, ...]]
    announced: float = 0.5

    def secret(self, place: int) -> Prescribed:
        """From which the method draws the numbers at a place."""
        return Prescribed(numbers=self.numbers[place], announced=self.announced)


Drawings = Callable[[Problem, Public], Drawing | None]
NEVER = Drawing(0.0, 0.0, ())


@dataclass(frozen=True, repr=False)
class Prescribed(Secret):
    """A secret that these numbers come from, one array each time that a method asks for some, and then zeros.

    What readers are told is drawn from ``announced`` alone.
    """

    digits: str = DIGITS
    numbers: tuple[FloatArray, ...] = field(default=())
    announced: float = 0.5

    def generator(self, purpose: str) -> np.random.Generator:
        return _repeated((np.array([self.announced]),) if purpose.startswith(ANNOUNCEMENT) else self.numbers)


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
        said = _announced(method, posed, public)
        if said is None:
            return NEVER
        windows = said.windows
        cells = np.repeat(posed.primaries, DRAWN)
        rng, wanted = np.random.default_rng(0), _change(windows, public)[cells]
        numbers = (rng.random((3, DRAWN)),)
        first, all_tries = (
            Draws(windows, source).within(cells, windows.low[cells], windows.high[cells])
            for source in (_repeated(numbers), rng)
        )
        return said.with_chance(_estimated(all_tries == wanted, numbers, first == wanted))

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
        said = _announced(method, posed, public)
        if said is None:
            return NEVER
        windows = said.windows
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
        return said.with_chance(Drawing(float(1 / choices[taken][0]), DRAWN, numbers))

    return drawing


DRAWINGS: Mapping[type[Any], Callable[[Any], Drawings | None]] = {
    Perturbation: _perturbed,
    Adjustment: _adjusted,
}


@dataclass(frozen=True, eq=False)
class _Announced:
    """Windows of the announcement that was made, the chance that it is, and a number that it is drawn with."""

    windows: Windows
    chance: float
    number: float

    def with_chance(self, drawn: Drawing) -> Drawing:
        return replace(drawn, chance=self.chance * drawn.chance, announced=self.number)


def _announced(method: Perturbation | Adjustment, problem: Problem, public: Public) -> _Announced | None:
    """What the announcement says about a table, if its values may be published as they were within these windows."""
    said = defaultdict[Announcement, list[float]](list)
    for number in (np.arange(MULTIPLES) + 0.5) / MULTIPLES:
        for one in announcements(problem, method.percent, method.margin, multiple_at(float(number))):
            said[one].append(float(number))
    for one, numbers in said.items():
        with suppress(NoSlackError):
            windows = Windows.announced(problem, one)
            if _within(windows, public):
                return _Announced(windows, len(numbers) / MULTIPLES, numbers[len(numbers) // 2])
    return None


def _within(windows: Windows, public: Public) -> bool:
    """Whether the values of a table may be published as they were, with the same intervals."""
    change = _change(windows, public)
    lower, upper = windows.intervals(windows.published(change.astype(np.int64)))
    told = windows.problem.status != Status.SUPPRESSED
    possible = (change >= windows.low) & (change <= windows.high)
    same = [
        np.isclose(mine, theirs, rtol=SAME, atol=SAME)
        for mine, theirs in ((lower, public.told_lower), (upper, public.told_upper))
    ]
    return bool(np.all((possible & same[0] & same[1])[told]))


def _change(windows: Windows, public: Public) -> FloatArray:
    """By how many units published values differ from the table's; suppressed ones by none."""
    return np.nan_to_num(np.rint((public.published - windows.problem.table.value) / windows.unit))


def _estimated(last: BoolArray, numbers: Sequence[FloatArray], first: BoolArray) -> Drawing:
    """From which draws are there at last, and which were at once, with these numbers."""
    if not (last.any() and first.any()):
        return NEVER
    one = tuple(part[..., np.argmax(first)][..., None] for part in numbers)
    return Drawing(float(last.mean()), float(last.sum()), [one])
