"""Every rounding of a small table, one after the other, judged by plain linear programs of GLPK."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

import numpy as np
from tests.helpers.brute import Program, enough

from discreet.attackers import Attacker
from discreet.problem import Problem, Status


def choices(problem: Problem, base: float, steps: int = 1, zero_restricted: bool = True) -> list[list[Fraction]]:
    """The multiples that each cell may be published with; suppressed cells go further than they need to."""
    found = []
    for i, value in enumerate(problem.table.value.tolist()):
        true, b = Fraction(str(value)), Fraction(str(base))
        below, above = floor(true / b), ceil(true / b)
        if problem.status[i] == Status.PUBLISHED:
            found.append([true])
            continue
        if problem.status[i] == Status.SUPPRESSED:
            found.append([k * b for k in range(below - 3, above + 4)])
            continue
        reach = steps if below == above and not zero_restricted else steps - 1
        if zero_restricted and true == 0:
            reach = 0
        low, high = problem.prior_lower[i], problem.prior_upper[i]
        lowest = -np.inf if np.isinf(low) else min(floor(Fraction(str(low)) / b), below)
        highest = np.inf if np.isinf(high) else max(ceil(Fraction(str(high)) / b), above)
        found.append([k * b for k in range(below - reach, above + reach + 1) if lowest <= k <= highest])
    return found


def roundings(problem: Problem, base: float, steps: int = 1, zero_restricted: bool = True) -> Iterator[list[Fraction]]:
    """All additive ones, by trying cell after cell and looking at each relation as soon as its last cell is chosen."""
    options = choices(problem, base, steps, zero_restricted)
    relations = problem.table.relations
    ending: dict[int, list[tuple[list[int], list[int], Fraction]]] = {}
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, signs = relations.indices[part].tolist(), [int(w) for w in relations.data[part]]
        ending.setdefault(max(cells), []).append((cells, signs, Fraction(str(problem.table.rhs[row]))))
    chosen: list[Fraction] = []

    def fill() -> Iterator[list[Fraction]]:
        i = len(chosen)
        if i == len(options):
            yield list(chosen)
            return
        for multiple in options[i]:
            chosen.append(multiple)
            if all(
                sum(s * chosen[c] for c, s in zip(cells, signs, strict=True)) == rhs
                for cells, signs, rhs in ending.get(i, ())
            ):
                yield from fill()
            chosen.pop()

    return fill()


def deviation(problem: Problem, rounding: list[Fraction]) -> Fraction:
    told = np.isin(problem.status, (Status.FREE, Status.PRIMARY)).tolist()
    values = [Fraction(str(v)) for v in problem.table.value.tolist()]
    return sum((abs(v - a) for v, a, t in zip(rounding, values, told, strict=True) if t), Fraction(0))


def is_safe(
    problem: Problem, rounding: list[Fraction], base: float, steps: int = 1, zero_restricted: bool = True
) -> bool:
    """Whether attackers who know how near the truth is keep every protected cell as open as its levels ask."""
    value = problem.table.value
    whole = zero_restricted and base % 1 == 0 and not np.any(value % 1)
    radius = steps * base - (1 if whole else 0)
    published = np.array([float(v) for v in rounding])
    suppressed, exact = problem.status == Status.SUPPRESSED, problem.status == Status.PUBLISHED
    low = np.where(suppressed, -np.inf, np.where(exact, value, np.round(published - radius, 9)))
    high = np.where(suppressed, np.inf, np.where(exact, value, np.round(published + radius, 9)))
    for who in problem.attackers():
        knows = Attacker(who.name, np.maximum(who.lower, low), np.minimum(who.upper, high))
        levels = problem.levels(who)
        program = Program(problem, knows)
        if radius <= 0 and len(problem.primaries):
            return False
        for p in np.flatnonzero(problem.protected(who, ~suppressed & ~exact & (radius > 0))).tolist():
            everything = np.ones(len(value), dtype=bool)
            if levels[:, p].any() and not enough(program.reach(p, levels[:, p], everything), levels[:, p]):
                return False
    return True


def best(problem: Problem, base: float, steps: int = 1, zero_restricted: bool = True) -> float | None:
    """The least deviation of a safe rounding; None if there is none."""
    found = sorted(
        ((deviation(problem, v), v) for v in roundings(problem, base, steps, zero_restricted)), key=lambda x: x[0]
    )
    for cost, rounding in found:
        if is_safe(problem, rounding, base, steps, zero_restricted):
            return float(cost)
    return None
