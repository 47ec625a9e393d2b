"""Exact deviations and combinations near the floats of a solver. All are checked exactly, so a wrong guess costs only time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray
from discreet.inference.exact_lp import Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import MAX_DENOMINATOR_BITS, Bound, Rational
from discreet.inference.rational_systems import solve

Primal = tuple[Sequence[int], FloatArray]  # cells and their deviations
Dual = tuple[Sequence[int], FloatArray]  # relations and their multipliers

DENOMINATOR_FACTORS = (1, 2, 3, 4, 6, 12)  # vertices are simple fractions of the bounds they touch
SIMPLE_DENOMINATORS = (1, 2, 3, 4, 6, 12, 60)  # multipliers are simple fractions
MAX_ROUNDED_DECIMALS = 9  # values rarely have more decimals
RECONSTRUCTION_NOISE_SHARES = (1e-15, 1e-12, 1e-9)  # numerical error of a solver, as a share of the largest deviation
BOUND_VIOLATION_TOLERANCE = 1e-6  # share of a deviation that may exceed the bounds: more is no rounding error
MULTIPLIER_TOLERANCE = 1e-6  # about the accuracy of the dual values of a solver


def exact_deviations(program: ExactProgram, cells: Sequence[int], amount: FloatArray) -> Iterator[ExactDeviation]:
    """Exact deviations near one that a solver found, those with simple numbers first.

    They may violate bounds by rounding error, which :meth:`ExactProgram.multiple` removes. First all amounts are rounded to
    multiples of one simple fraction, which is mostly enough. Otherwise amounts next to a bound are set to it, those next to
    zero are set to zero, and the others follow from the relations.
    """
    largest = float(np.abs(amount).max(initial=0.0))
    if not 0 < largest < np.inf:
        return
    first, *further = (share * largest for share in RECONSTRUCTION_NOISE_SHARES)
    noises = (4 * _residual(program, cells, amount) + first, *further)
    for attempt in (_rounded, _solved):
        for noise in noises:
            found = attempt(program, cells, amount, noise)
            if found is not None and found.cells and program.multiple(found) >= 1 - BOUND_VIOLATION_TOLERANCE:
                yield found


def single_relation_bound(program: ExactProgram, cell: int, sign: int) -> Combination:
    """The best bound from at most one relation."""
    single = ({row: sign / Fraction(weight)} for row, weight in program.relations_of(cell))
    return min((program.combine(cell, sign, one) for one in ({}, *single)), key=lambda one: one.bound)


def exact_combinations(
    program: ExactProgram, cell: int, sign: int, rows: Sequence[int], dual: FloatArray
) -> Iterator[Combination]:
    """Combinations near the multipliers of a solver: first rounded to simple fractions, then solved exactly."""
    used = np.flatnonzero(np.abs(dual) > 1e-9)
    rows, dual = [rows[k] for k in used.tolist()], dual[used]
    for denominator in SIMPLE_DENOMINATORS:
        numerators = np.rint(dual * denominator)
        if np.all(np.abs(numerators / denominator - dual) <= MULTIPLIER_TOLERANCE):
            simple = {row: Fraction(int(y), denominator) for row, y in zip(rows, numerators, strict=True)}
            yield _combine(program, cell, sign, simple)
    rounded = {row: Fraction(y).limit_denominator(10**6) for row, y in zip(rows, dual.tolist(), strict=True)}
    yield _combine(program, cell, sign, rounded)
    solved = _solved_multipliers(program, cell, sign, rounded)
    if solved is not None:
        yield _combine(program, cell, sign, solved)


def reconstruct_extreme(
    program: ExactProgram, cell: int, sign: int, primal: Primal, dual: Dual, shown: ExactDeviation | None = None
) -> tuple[ExactDeviation | None, Combination]:
    """An exact deviation and a bound on ``sign · d[cell]`` from an optimal solution; they meet if the solution is accurate.

    The deviation is ``shown``, which was known before, if that takes the cell as far.
    """
    best = single_relation_bound(program, cell, sign)
    attained = reach_of(program, shown, cell, sign)
    for combination in exact_combinations(program, cell, sign, *dual):
        if best.bound <= attained:
            return shown, best
        best = min(best, combination, key=lambda one: one.bound)
    for deviation in exact_deviations(program, *primal):
        reach = reach_of(program, deviation, cell, sign)
        if reach > attained:
            shown, attained = deviation, reach
        if best.bound <= attained:
            break
    return shown, best


def reach_of(program: ExactProgram, deviation: ExactDeviation | None, cell: int, sign: int) -> Bound:
    """How far a deviation, or its reverse, takes a cell up (``sign`` 1) or down (−1)."""
    numerator = deviation.by_cell.get(cell, 0) if deviation is not None else 0
    if deviation is None or not numerator:
        return Fraction(0)
    return sign * program.reach(deviation, cell, sign if numerator > 0 else -sign)


def _residual(program: ExactProgram, cells: Sequence[int], amount: FloatArray) -> float:
    """The largest absolute residual of a relation."""
    sums: defaultdict[int, float] = defaultdict(float)
    for cell, d in zip(cells, amount.tolist(), strict=True):
        for row, weight in program.relations_of(cell):
            sums[row] += weight * d
    return max(map(abs, sums.values()), default=0.0)


def _rounded(program: ExactProgram, cells: Sequence[int], amount: FloatArray, noise: float) -> ExactDeviation | None:
    """All amounts as multiples of one simple fraction, if that changes none by more than the noise."""
    for decimals in range(MAX_ROUNDED_DECIMALS + 1):
        denominators = [10**decimals * factor for factor in DENOMINATOR_FACTORS]
        units = np.array(denominators, dtype=float)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # infinite numbers fail the comparison
            numerators = np.rint(amount * units)
            is_near = np.all(np.abs(numerators / units - amount) <= noise, axis=1)
        for k in np.flatnonzero(is_near).tolist():
            by_cell = dict(zip(cells, map(int, numerators[k].tolist()), strict=True))
            deviation = ExactDeviation.of(by_cell, denominators[k])
            if program.violated(deviation) is None:
                return deviation
    return None


def _solved(program: ExactProgram, cells: Sequence[int], amount: FloatArray, noise: float) -> ExactDeviation | None:
    """Amounts next to a bound set to it, those next to zero set to zero, and the others solved for."""
    at_bound: dict[int, Rational] = {}
    inner: dict[int, Rational] = {}
    decimals = max(0, math.ceil(-math.log10(max(noise, 1e-300)))) + 1
    for cell, d in zip(cells, amount.tolist(), strict=True):
        if abs(d) <= noise:
            continue
        bound = program.slack(cell)[d > 0]
        if abs(d - float(bound)) <= max(noise, 1e-10 * abs(d)):
            at_bound[cell] = Fraction(bound)
        else:
            inner[cell] = Fraction(round(Fraction(d) * 10**decimals), 10**decimals)
    # If bounds contradict each other in the last digit, all cells are solved for.
    for fixed, free in ((at_bound, inner), ({}, inner | at_bound)):
        equations: defaultdict[int, dict[int, Rational]] = defaultdict(dict)
        constants: defaultdict[int, Rational] = defaultdict(int)
        for cell, exact in fixed.items():
            for row, weight in program.relations_of(cell):
                constants[row] += weight * exact
        for cell in free:
            for row, weight in program.relations_of(cell):
                equations[row][cell] = weight
        rows = [*equations, *(row for row in constants if row not in equations)]
        found = solve([equations[row] for row in rows], [constants[row] for row in rows], free, last=at_bound)
        if found is not None:
            deviation = ExactDeviation.of({**fixed, **free, **found})
            too_long = deviation.denominator.bit_length() >= MAX_DENOMINATOR_BITS
            return None if too_long or program.violated(deviation) is not None else deviation
    return None


def _combine(program: ExactProgram, cell: int, sign: int, multipliers: Mapping[int, Fraction]) -> Combination:
    return program.combine(cell, sign, {row: y for row, y in sorted(multipliers.items()) if y})


def _solved_multipliers(
    program: ExactProgram, cell: int, sign: int, near: Mapping[int, Fraction]
) -> dict[int, Fraction] | None:
    """Multipliers near these for which cells that almost cancel out do so exactly."""
    left: defaultdict[int, float] = defaultdict(float, {cell: float(sign)})
    equations: defaultdict[int, dict[int, Rational]] = defaultdict(dict)
    for row, y in near.items():
        for i, weight in program.relation(row):
            left[i] -= float(y * weight)
            equations[i][row] = weight
    canceled = [i for i in equations if abs(left[i]) <= 10 * MULTIPLIER_TOLERANCE and program.is_uncertain(i)]
    found = solve([equations[i] for i in canceled], [-sign if i == cell else 0 for i in canceled], near)
    if found is None:
        return None
    solved = {row: Fraction(y) for row, y in (dict(near) | found).items()}
    return solved if all(y.denominator.bit_length() < MAX_DENOMINATOR_BITS for y in solved.values()) else None
