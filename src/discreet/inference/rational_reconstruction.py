"""From a solver's floats to exact numbers. What comes out is checked exactly, so a wrong guess costs time, never truth."""

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

DENOMINATOR_FACTORS = (1, 2, 3, 4, 6, 12)  # corners of tables are simple fractions of the bounds they touch
SIMPLE_DENOMINATORS = (1, 2, 3, 4, 6, 12, 60)  # multipliers are simple fractions
MAX_ROUNDED_DECIMALS = 9  # decimals to round to
RECONSTRUCTION_NOISE_SHARES = (1e-15, 1e-12, 1e-9)  # shares of the largest move that may be numerical error
BOUND_VIOLATION_TOLERANCE = 1e-6  # share of a difference that may stick out of the bounds
MULTIPLIER_TOLERANCE = 1e-6  # multipliers closer to a fraction than this are that fraction


def simplest_exact_deviation(program: ExactProgram, cells: Sequence[int], move: FloatArray) -> ExactDeviation | None:
    """The simplest exactly congruent difference near one that a solver found; None if there is none near it."""
    return next(exact_deviations(program, cells, move), None)


def exact_deviations(program: ExactProgram, cells: Sequence[int], move: FloatArray) -> Iterator[ExactDeviation]:
    """Exactly congruent differences near one that a solver found, those with simple numbers first.

    They may violate bounds by rounding error, which :meth:`ExactProgram.multiple` takes off. First all moves are rounded to
    multiples of one simple fraction, and most often that is all. Otherwise moves next to a bound are put there, moves next
    to zero left out, and the others follow from the relations.
    """
    far = float(np.abs(move).max(initial=0.0))
    if not 0 < far < np.inf:
        return
    residual = _residual(program, cells, move)
    for attempt in (_rounded, _solved):
        for noise in (
            4 * residual + RECONSTRUCTION_NOISE_SHARES[0] * far,
            *(share * far for share in RECONSTRUCTION_NOISE_SHARES[1:]),
        ):
            found = attempt(program, cells, move, noise)
            if found is not None and found.cells and program.multiple(found) >= 1 - BOUND_VIOLATION_TOLERANCE:
                yield found


def single_relation_bound(program: ExactProgram, cell: int, sign: int) -> Combination:
    """The best bound that needs a single relation, or none: what one would try with pencil and paper."""
    single = ({row: sign / Fraction(weight)} for row, weight in program.relations_of(cell))
    return min((program.combine(cell, sign, one) for one in ({}, *single)), key=lambda one: one.bound)


def exact_combinations(
    program: ExactProgram, cell: int, sign: int, rows: Sequence[int], dual: FloatArray
) -> Iterator[Combination]:
    """Bounds that follow from a solver's multipliers: those rounded to simple fractions first, then exact solutions."""
    used = np.flatnonzero(np.abs(dual) > 1e-9)
    rows, dual = [rows[k] for k in used.tolist()], dual[used]
    for over in SIMPLE_DENOMINATORS:
        near = np.rint(dual * over)
        if np.all(np.abs(near / over - dual) <= MULTIPLIER_TOLERANCE):
            yield _combine(
                program, cell, sign, {row: Fraction(int(y), over) for row, y in zip(rows, near, strict=True)}
            )
    rounded = {row: Fraction(y).limit_denominator(10**6) for row, y in zip(rows, dual.tolist(), strict=True)}
    yield _combine(program, cell, sign, rounded)
    solved = _solved_multipliers(program, cell, sign, rounded)
    if solved is not None:
        yield _combine(program, cell, sign, solved)


def reconstruct_extreme(
    program: ExactProgram,
    cell: int,
    sign: int,
    primal: tuple[Sequence[int], FloatArray],
    dual: tuple[Sequence[int], FloatArray],
    shown: ExactDeviation | None = None,
) -> tuple[ExactDeviation | None, Combination]:
    """How far a cell goes up (``sign`` 1) or down (−1), exactly, from an optimal solution for ``sign · d[cell]``.

    ``primal`` holds cells and their moves, ``dual`` relations and their multipliers; ``shown`` is a difference known
    already. What comes back is a difference that goes far, and a combination that says that nothing goes beyond its bound.
    Unless numerical trouble was great, the difference gets there.
    """
    best = single_relation_bound(program, cell, sign)
    attained = reach_of(program, shown, cell, sign)
    for combination in exact_combinations(program, cell, sign, *dual):
        if best.bound <= attained:
            return shown, best
        best = min(best, combination, key=lambda one: one.bound)
    for difference in exact_deviations(program, *primal):
        reach = reach_of(program, difference, cell, sign)
        if reach > attained:
            shown, attained = difference, reach
        if best.bound <= attained:
            break
    return shown, best


def reach_of(program: ExactProgram, difference: ExactDeviation | None, cell: int, sign: int) -> Bound:
    """How far a difference, taken forwards or reversed, moves a cell up (``sign`` 1) or down (−1)."""
    move = difference.by_cell.get(cell, 0) if difference is not None else 0
    if difference is None or not move:
        return Fraction(0)
    return sign * program.reach(difference, cell, sign if move > 0 else -sign)


def _residual(program: ExactProgram, cells: Sequence[int], move: FloatArray) -> float:
    """By how much relations fail to hold: a hint at how noisy the moves are."""
    sums: defaultdict[int, float] = defaultdict(float)
    for cell, step in zip(cells, move.tolist(), strict=True):
        for row, weight in program.relations_of(cell):
            sums[row] += weight * step
    return max(map(abs, sums.values()), default=0.0)


def _rounded(program: ExactProgram, cells: Sequence[int], move: FloatArray, noise: float) -> ExactDeviation | None:
    """All moves as multiples of one simple fraction, if that changes none by more than noise."""
    for places in range(MAX_ROUNDED_DECIMALS + 1):
        for factor in DENOMINATOR_FACTORS:
            over = 10**places * factor
            with np.errstate(over="ignore", invalid="ignore"):  # numbers near the end of floats fit no multiple
                whole = np.rint(move * over)
                near = np.all(np.abs(whole / over - move) <= noise)
            if near:
                difference = ExactDeviation.of(dict(zip(cells, map(int, whole.tolist()), strict=True)), over)
                if program.violated(difference) is None:
                    return difference
    return None


def _solved(program: ExactProgram, cells: Sequence[int], move: FloatArray, noise: float) -> ExactDeviation | None:
    """Moves next to a bound are put there, moves next to zero left out, and the others solved for."""
    fixed: dict[int, Rational] = {}
    inner: dict[int, Rational] = {}
    places = max(0, math.ceil(-math.log10(max(noise, 1e-300)))) + 1
    for cell, step in zip(cells, move.tolist(), strict=True):
        if abs(step) <= noise:
            continue
        bound = program.slack(cell)[step > 0]
        if abs(step - float(bound)) <= max(noise, 1e-10 * abs(step)):
            fixed[cell] = Fraction(bound)
        else:
            inner[cell] = Fraction(round(Fraction(step) * 10**places), 10**places)
    # Bounds may contradict each other in the last digit. Then they cannot all be met, and are solved for, too.
    for held, free in ((fixed, inner), ({}, inner | fixed)):
        equations: defaultdict[int, dict[int, Rational]] = defaultdict(dict)
        constants: defaultdict[int, Rational] = defaultdict(int)
        for cell, step in held.items():
            for row, weight in program.relations_of(cell):
                constants[row] += weight * step
        for cell in free:
            for row, weight in program.relations_of(cell):
                equations[row][cell] = weight
        rows = [*equations, *(row for row in constants if row not in equations)]
        found = solve([equations[row] for row in rows], [constants[row] for row in rows], free, last=fixed)
        if found is not None:
            difference = ExactDeviation.of({**held, **free, **found})
            return (
                difference
                if difference.denominator.bit_length() < MAX_DENOMINATOR_BITS and program.violated(difference) is None
                else None
            )
    return None


def _combine(program: ExactProgram, cell: int, sign: int, multipliers: Mapping[int, Fraction]) -> Combination:
    return program.combine(cell, sign, {row: y for row, y in sorted(multipliers.items()) if y})


def _solved_multipliers(
    program: ExactProgram, cell: int, sign: int, near: Mapping[int, Fraction]
) -> dict[int, Fraction] | None:
    """Multipliers near these for which just those cells cancel out that nearly do."""
    left: defaultdict[int, float] = defaultdict(float, {cell: float(sign)})
    equations: defaultdict[int, dict[int, Rational]] = defaultdict(dict)
    for row, y in near.items():
        for i, weight in program.relation(row):
            left[i] -= float(y * weight)
            equations[i][row] = weight
    cancel = [i for i in equations if abs(left[i]) <= 10 * MULTIPLIER_TOLERANCE and program.is_uncertain(i)]
    found = solve([equations[i] for i in cancel], [-sign if i == cell else 0 for i in cancel], near)
    if found is None:
        return None
    solved = {row: Fraction(y) for row, y in (dict(near) | found).items()}
    return solved if all(y.denominator.bit_length() < MAX_DENOMINATOR_BITS for y in solved.values()) else None
