"""Sentences that explain why a cell is exposed: which relations to add up, and which terms remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.arrays import DOWN, UP
from discreet.data.table import Table
from discreet.inference.exact_lp import DIRECTIONS, Combination, ExactProgram
from discreet.inference.exact_numbers import Rational, decimal_fraction, format_number

MAX_NAMED_TERMS = 6  # relations, or cells of a relation, that are named, so that a sentence stays readable
LIMIT_WORDS, REACH_WORDS = ("at least", "at most"), ("down to", "up to")


def explain(
    table: Table,
    program: ExactProgram,
    cell: int,
    levels: Sequence[Fraction],
    limits: Mapping[int, Combination],
    violated: Sequence[str],
) -> list[str]:
    """The violated levels of an exposed cell, then the inference; ``limits`` are the combinations down (0) and up (1).

    Confidential: it contains values and levels. The sentences are part of certificates, which are compared word by word, so a
    change of them needs another version of the format.
    """
    name, value = repr(table.label(cell)), decimal_fraction(table.value[cell])
    if "published" in violated:
        return [f"{name} is sensitive, and published as it is."]
    ends = {side: value + DIRECTIONS[side] * limit.bound for side, limit in limits.items()}
    sentences, used = [], set()
    for side, level in enumerate(("lower", "upper")):
        if level in violated:
            end, needed = format_number(ends[side]), format_number(value + DIRECTIONS[side] * levels[side])
            sentences.append(
                f"{name} is {LIMIT_WORDS[side]} {end}, but should be possible {REACH_WORDS[side]} {needed}."
            )
            used.add(side)
    if "sliding" in violated:
        width = format_number(ends[UP] - ends[DOWN])
        sentences.append(f"{name} is known to within {width}, but should be uncertain by {format_number(levels[2])}.")
        used |= {DOWN, UP}
    if used == {DOWN, UP} and not limits[UP].remaining:  # all other cells cancel out: the same sum gives both ends
        used = {UP}
    return sentences + [_inference(table, program, cell, side, limits[side]) for side in sorted(used)]


def _inference(table: Table, program: ExactProgram, cell: int, side: int, combination: Combination) -> str:
    sign, name = DIRECTIONS[side], repr(table.label(cell))
    end = format_number(decimal_fraction(table.value[cell]) + sign * combination.bound)
    conclusion = f"{name} is {LIMIT_WORDS[side] if combination.remaining else 'exactly'} {end}"
    if not combination.multipliers:
        return f"{conclusion}: that is published, or known beforehand."
    # Relations that are added come before those that are subtracted.
    multipliers = sorted(combination.multipliers.items(), key=lambda item: sign * item[1] < 0)
    relations = [_term(sign * y, f"[{_relation(table, program, row)}]") for row, y in multipliers]
    terms, bounds = [], []
    for i, weight in combination.remaining.items():
        bound = format_number(decimal_fraction(table.value[i]) + program.slack(i)[weight > 0])
        terms.append(_term(sign * weight, repr(table.label(i))))
        bounds.append(f"{table.label(i)!r} is {LIMIT_WORDS[weight > 0]} {bound}")
    left = f" {_list(terms, ' ')}, and {_list(bounds)}" if terms else ""
    return f"{conclusion}: {_list(relations, ' ').removeprefix('+ ')} leaves {name} = published cells{left}."


def _relation(table: Table, program: ExactProgram, row: int) -> str:
    """``'A × 1' + 'A × 2' + 3 published = 'A × Total'``: uncertain cells and totals by name."""
    sides: tuple[list[str], list[str]] = ([], [])
    published = [0, 0]
    totals = [cell for cell, weight in program.relation(row) if weight < 0]
    for cell, weight in program.relation(row):
        right = weight < 0
        if program.is_uncertain(cell) or [cell] == totals:
            sides[right].append(_term(-weight if right else weight, repr(table.label(cell))).removeprefix("+ "))
        else:
            published[right] += 1
    written = [
        _list([*terms, *([f"{others} published"] if others else [])], " + ")
        for terms, others in zip(sides, published, strict=True)
    ]
    return f"{written[0] or '0'} = {written[1] or 'a constant'}"


def _term(weight: Rational, label: str) -> str:
    times = "" if abs(weight) == 1 else f"{format_number(abs(Fraction(weight)))} × "
    return f"{'+' if weight > 0 else '−'} {times}{label}"


def _list(items: Sequence[str], between: str = ", ") -> str:
    """All items, or the first few and the number of the others."""
    shown = between.join(items[:MAX_NAMED_TERMS])
    return shown if len(items) <= MAX_NAMED_TERMS else f"{shown} and {len(items) - MAX_NAMED_TERMS} more"
