"""Before attackers begin to infer: who they are, what must be kept from them, and how far each cell may be from its value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.attackers import Attacker
from discreet.audit.evidence import IntArray
from discreet.audit.numbers import Bound, difference, differences
from discreet.errors import InputError
from discreet.problem import BoolArray, Problem, Status
from discreet.protection import Protection
from discreet.relations import FloatArray


def against(problem: Problem, attackers: Sequence[Attacker] | None) -> tuple[Attacker, ...]:
    """The attackers asked for, by default the problem's own; refused unless each knows something about every cell."""
    found = tuple(problem.attackers() if attackers is None else attackers)
    if not found:
        raise InputError("At least one attacker is needed: name some, or leave attackers= out for the problem's own.")
    for attacker in found:
        for side in ("lower", "upper"):
            bound = np.asarray(getattr(attacker, side), dtype=np.float64)
            if bound.shape != (len(problem),) or np.isnan(bound).any():
                raise InputError(
                    f"The bounds {side!r} of the attacker {attacker.name!r} are not one number for each of the "
                    f"{len(problem):,} cells: give them in the order of the table, infinite where nothing is known.",
                    [attacker.name],
                )
    return found


def withheld(protection: Protection) -> BoolArray:
    """Cells that are not simply told: hidden, or published as an interval or as a value that stands for one."""
    return np.asarray(protection.hidden | (protection.lower < protection.upper))


def due(problem: Problem, protection: Protection, attacker: Attacker) -> IntArray:
    """Cells that must be protected from an attacker: primaries, and free cells with levels that are not simply told."""
    return np.flatnonzero(problem.protected(attacker, withheld(protection)))


def required(problem: Problem, protection: Protection, attacker: Attacker) -> FloatArray:
    """How far an attacker must hold each cell possible: down, up and in all, one row each."""
    # Levels of a free cell count only if it is hidden.
    pointless = (problem.status == Status.FREE) & ~withheld(protection)
    return np.asarray(np.where(pointless, 0.0, problem.levels(attacker)))


def known(problem: Problem, protection: Protection, attacker: Attacker) -> tuple[list[Bound], list[Bound]]:
    """How far below and above its true value an attacker must hold each cell possible, exactly."""
    value = problem.table.value
    rooms: tuple[list[Bound], list[Bound]] = ([Fraction(0)] * len(value), [Fraction(0)] * len(value))
    for room, (end, beyond) in zip(rooms, _ends(problem, protection, attacker), strict=True):
        for i in beyond.tolist():
            room[i] = difference(float(end[i]), float(value[i]))
    return rooms


def known_floats(problem: Problem, protection: Protection, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
    """The same as floats: audits and certificates must not start from different numbers."""
    value = problem.table.value
    rooms = np.zeros((2, len(value)))
    for room, (end, beyond) in zip(rooms, _ends(problem, protection, attacker), strict=True):
        room[beyond] = differences(end[beyond], value[beyond])
    return rooms[0], rooms[1]


def limits(protection: Protection, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
    """Between which values each cell lies, by what is published and what is known beforehand."""
    return np.maximum(protection.lower, attacker.lower), np.minimum(protection.upper, attacker.upper)


def _ends(
    problem: Problem, protection: Protection, attacker: Attacker
) -> tuple[tuple[FloatArray, IntArray], tuple[FloatArray, IntArray]]:
    """The limits, and for which cells they leave room below and above the value."""
    value = problem.table.value
    lower, upper = limits(protection, attacker)
    return (lower, np.flatnonzero(lower < value)), (upper, np.flatnonzero(upper > value))
