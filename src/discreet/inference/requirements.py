"""Attackers, the cells and levels that must be protected from each, and the slack of every cell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.errors import InputError
from discreet.inference.exact_numbers import Bound, exact_difference, exact_differences
from discreet.problem import Problem, Status
from discreet.protection import Protection


def chosen_attackers(problem: Problem, attackers: Sequence[Attacker] | None) -> tuple[Attacker, ...]:
    """The given attackers, by default those of the problem. Raises an error unless each has bounds for every cell."""
    found = tuple(problem.attackers() if attackers is None else attackers)
    if not found:
        raise InputError("At least one attacker is needed: list some, or omit attackers= to use those of the problem.")
    for attacker in found:
        for side in ("lower", "upper"):
            bound = np.asarray(getattr(attacker, side), dtype=np.float64)
            if bound.shape != (len(problem),) or np.isnan(bound).any():
                raise InputError(
                    f"The bounds {side!r} of the attacker {attacker.name!r} are not one number for each of the "
                    f"{len(problem):,} cells: give them in the order of the table, infinite if nothing is known.",
                    [attacker.name],
                )
    return found


def withheld(protection: Protection) -> BoolArray:
    """Cells whose exact value is not published: suppressed, or published as an interval or a value that stands for one."""
    return np.asarray(protection.suppressed | (protection.lower < protection.upper))


def fully_suppressed(protection: Protection) -> BoolArray:
    """Suppressed cells for which no interval is published either; cells behind linked tables are not counted."""
    unpublished = protection.suppressed & np.isinf(protection.lower) & np.isinf(protection.upper)
    behind = protection.problem.table.behind
    return np.asarray(unpublished if behind is None else unpublished & ~behind)


def published_primaries(problem: Problem, protection: Protection) -> BoolArray:
    """Primaries whose exact value is published. They are exposed, whatever their levels are."""
    return np.asarray((protection.lower == protection.upper) & (problem.status == Status.PRIMARY))


def cells_to_protect(problem: Problem, protection: Protection, attacker: Attacker) -> IntArray:
    """Cells that must be protected from an attacker: primaries, and free cells that have levels and are not published exactly.

    Cells that were suppressed before must not be exactly computable by attackers without levels of their own.
    """
    found = problem.protected(attacker, withheld(protection))
    if attacker.levels is None:
        found |= fully_suppressed(protection) & (problem.status == Status.SUPPRESSED) & (problem.least_width > 0)
    return np.flatnonzero(found)


def other_suppressed_cells(problem: Problem, protection: Protection, attacker: Attacker) -> IntArray:
    """The other suppressed cells: they have no levels against the attacker, and need only not be exactly computable."""
    if attacker.levels is not None or not problem.least_width.any():
        return np.zeros(0, dtype=np.int64)
    found = fully_suppressed(protection)
    found[cells_to_protect(problem, protection, attacker)] = False
    return np.flatnonzero(found)


def required_levels(problem: Problem, protection: Protection, attacker: Attacker) -> FloatArray:
    """The lower, upper and sliding level of each cell against an attacker, one row each.

    Lower levels reach down no farther than to the least value that a reader of the release considers possible.
    """
    # Levels of a free cell count only if it is suppressed.
    without_level = (problem.status == Status.FREE) & ~withheld(protection)
    lower, upper, sliding = np.where(without_level, 0.0, problem.levels(attacker))
    lower = np.minimum(lower, np.maximum(problem.table.value - release_floor(protection), 0.0))
    never_exact = (problem.status == Status.PRIMARY) | fully_suppressed(protection)
    return problem.with_least_width(np.stack([lower, upper, sliding]), attacker, never_exact)


def release_floor(protection: Protection) -> FloatArray:
    """The least possible value of each cell for a reader of the release; a cell that is not in the release may be zero."""
    return protection.problem.floor(protection.published != 0)


def exact_slacks(problem: Problem, protection: Protection, attacker: Attacker) -> tuple[list[Bound], list[Bound]]:
    """The exact slack of each cell down (not positive) and up for an attacker."""
    value = problem.table.value.tolist()
    lower, upper = (limit.tolist() for limit in value_limits(protection, attacker))
    return (
        [exact_difference(end, v) if end < v else Fraction(0) for end, v in zip(lower, value, strict=True)],
        [exact_difference(end, v) if end > v else Fraction(0) for end, v in zip(upper, value, strict=True)],
    )


def slacks(problem: Problem, protection: Protection, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
    """:func:`exact_slacks` as floats, so that audits and certificates start from the same numbers."""
    value = problem.table.value
    lower, upper = value_limits(protection, attacker)
    low, high = np.zeros((2, len(value)))
    for slack, end, beyond in ((low, lower, lower < value), (high, upper, upper > value)):
        slack[beyond] = exact_differences(end[beyond], value[beyond])
    return low, high


def value_limits(protection: Protection, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest value of each cell according to the publication and the prior bounds."""
    lower = np.maximum(np.maximum(protection.lower, attacker.lower), release_floor(protection))
    return lower, np.minimum(protection.upper, attacker.upper)
