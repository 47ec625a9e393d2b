"""What attackers know before they begin to infer: who they are, and how far each cell may be from its true value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.attackers import Attacker
from discreet.audit.evidence import IntArray
from discreet.audit.numbers import Bound, difference, differences
from discreet.errors import InputError
from discreet.problem import Problem
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
