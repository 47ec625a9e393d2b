"""Before attackers begin to infer: who they are, what must be kept from them, and how far each cell may be from its value."""

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
    """Cells that are not simply told: suppressed, or published as an interval or as a value that stands for one."""
    return np.asarray(protection.suppressed | (protection.lower < protection.upper))


def fully_suppressed(protection: Protection) -> BoolArray:
    """Cells about which nothing is published. Those behind linked tables are not among them."""
    nothing = protection.suppressed & np.isinf(protection.lower) & np.isinf(protection.upper)
    behind = protection.problem.table.behind
    return np.asarray(nothing if behind is None else nothing & ~behind)


def cells_to_protect(problem: Problem, protection: Protection, attacker: Attacker) -> IntArray:
    """Cells that must be protected from an attacker: primaries, and free cells with levels that are not simply told.

    Cells that were suppressed beforehand must not be computable exactly by whom the levels of the problem hold.
    """
    found = problem.protected(attacker, withheld(protection))
    if attacker.levels is None:
        found |= fully_suppressed(protection) & (problem.status == Status.SUPPRESSED) & (problem.least > 0)
    return np.flatnonzero(found)


def other_suppressed_cells(problem: Problem, protection: Protection, attacker: Attacker) -> IntArray:
    """Further suppressed cells, which need no protection but must not be computable exactly."""
    if attacker.levels is not None or not problem.least.any():
        return np.zeros(0, dtype=np.int64)
    found = fully_suppressed(protection)
    found[cells_to_protect(problem, protection, attacker)] = False
    return np.flatnonzero(found)


def required_levels(problem: Problem, protection: Protection, attacker: Attacker) -> FloatArray:
    """How far an attacker must hold each cell possible: down, up and in all, one row each.

    Nobody can be made to believe what is known to be impossible: lower levels end where the release says that values do.
    """
    # Levels of a free cell count only if it is suppressed.
    pointless = (problem.status == Status.FREE) & ~withheld(protection)
    lower, *other_suppressed_cells = np.where(pointless, 0.0, problem.levels(attacker))
    levels = np.stack(
        [np.minimum(lower, np.maximum(problem.table.value - release_floor(protection), 0.0)), *other_suppressed_cells]
    )
    never_exact = (problem.status == Status.PRIMARY) | fully_suppressed(protection)
    return problem.with_least(levels, attacker, never_exact)


def release_floor(protection: Protection) -> FloatArray:
    """The least that cells can be by the release as it is written: what is left out of it may be zero."""
    return protection.problem.floor(protection.published != 0)


def exact_slacks(problem: Problem, protection: Protection, attacker: Attacker) -> tuple[list[Bound], list[Bound]]:
    """How far below and above its true value an attacker must hold each cell possible, exactly."""
    value = problem.table.value
    slacks: tuple[list[Bound], list[Bound]] = ([Fraction(0)] * len(value), [Fraction(0)] * len(value))
    for slack, (end, beyond) in zip(slacks, _ends(problem, protection, attacker), strict=True):
        for i in beyond.tolist():
            slack[i] = exact_difference(float(end[i]), float(value[i]))
    return slacks


def slacks(problem: Problem, protection: Protection, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
    """The same as floats: audits and certificates must not start from different numbers."""
    value = problem.table.value
    slacks = np.zeros((2, len(value)))
    for slack, (end, beyond) in zip(slacks, _ends(problem, protection, attacker), strict=True):
        slack[beyond] = exact_differences(end[beyond], value[beyond])
    return slacks[0], slacks[1]


def value_limits(protection: Protection, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
    """Between which values each cell lies, by what is published and what is known beforehand."""
    lower = np.maximum(np.maximum(protection.lower, attacker.lower), release_floor(protection))
    return lower, np.minimum(protection.upper, attacker.upper)


def _ends(
    problem: Problem, protection: Protection, attacker: Attacker
) -> tuple[tuple[FloatArray, IntArray], tuple[FloatArray, IntArray]]:
    """The limits, and for which cells they leave slack below and above the value."""
    value = problem.table.value
    lower, upper = value_limits(protection, attacker)
    return (lower, np.flatnonzero(lower < value)), (upper, np.flatnonzero(upper > value))
