"""Sparse systems of linear equations, solved in rational numbers."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import TypeVar

from discreet.inference.exact_numbers import Rational, quotient

Unknown = TypeVar("Unknown", bound=Hashable)

MAX_ELIMINATION_MULTIPLICATIONS = 3_000_000  # systems of tables need far fewer, because they hardly fill in


def solve(
    equations: Sequence[Mapping[Unknown, Rational]],
    constants: Sequence[Rational],
    kept: Mapping[Unknown, Rational],
    last: Container[Unknown] = (),
) -> dict[Unknown, Rational] | None:
    """Values with ``sum(weight × unknown) + constant == 0`` in every equation; None if there are none, or it takes too long.

    Unknowns that the equations leave free keep their value in ``kept``. Those in ``last`` are left free before any other.
    """
    rows = [dict(equation) for equation in equations]
    rest = list(constants)
    rows_with: defaultdict[Unknown, set[int]] = defaultdict(set)
    for number, row in enumerate(rows):
        for unknown in row:
            rows_with[unknown].add(number)
    # Shortest equations first: one with a single unknown determines it, which shortens others.
    queue = [(len(row), number) for number, row in enumerate(rows)]
    heapq.heapify(queue)
    pivots: list[tuple[Unknown, int]] = []
    done: set[int] = set()
    steps = 0
    while queue:
        length, number = heapq.heappop(queue)
        row = rows[number]
        if number in done or length != len(row):
            continue
        done.add(number)
        if not row:
            if rest[number]:
                return None
            continue
        pivot = min(row, key=lambda unknown: (unknown in last, len(rows_with[unknown])))
        pivots.append((pivot, number))
        for unknown in row:
            rows_with[unknown].discard(number)
        for other in list(rows_with[pivot]):
            steps += len(row)
            factor = quotient(rows[other][pivot], row[pivot])
            subtract(rows[other], row, factor)
            for unknown in row:
                (rows_with[unknown].add if unknown in rows[other] else rows_with[unknown].discard)(other)
            rest[other] -= factor * rest[number]
            heapq.heappush(queue, (len(rows[other]), other))
        if steps > MAX_ELIMINATION_MULTIPLICATIONS:
            return None
    found = {unknown: kept[unknown] for row in equations for unknown in row}
    for unknown, number in reversed(pivots):
        others = sum(weight * found[c] for c, weight in rows[number].items() if c != unknown)
        found[unknown] = quotient(-(rest[number] + others), rows[number][unknown])
    return found


def subtract(row: dict[Unknown, Rational], other: Mapping[Unknown, Rational], factor: Rational) -> None:
    """Subtract a multiple of another equation from an equation."""
    for unknown, weight in other.items():
        difference = row.get(unknown, 0) - factor * weight
        if difference:
            row[unknown] = difference
        else:
            row.pop(unknown, None)
