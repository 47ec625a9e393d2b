"""Why a cell is exposed, as a sentence: which relations to add up, and what is left then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.arrays import DOWN, UP
from discreet.data.table import Table
from discreet.inference.exact_lp import Combination, ExactProgram
from discreet.inference.exact_numbers import Rational, decimal_fraction, format_number

MAX_NAMED_TERMS = 6  # relations, or cells of one, that are still named one by one
SIDE_SIGN, LIMIT_WORDS, REACH_WORDS = (-1, 1), ("at least", "at most"), ("down to", "up to")


def explain(
    table: Table,
    program: ExactProgram,
    cell: int,
    levels: Sequence[Fraction],
    limits: Mapping[int, Combination],
    violated: Sequence[str],
) -> list[str]:
    """What an exposed cell lacks, then how that can be inferred; ``limits`` says what bounds it down (0) and up (1).

    Confidential: it tells values and levels.
    """
    who, value = repr(table.label(cell)), decimal_fraction(table.value[cell])
    if "published" in violated:
        return [f"{who} is sensitive, and published as it is."]
    ends = {side: value + SIDE_SIGN[side] * limit.bound for side, limit in limits.items()}
    said, used = [], set()
    for side, name in enumerate(("lower", "upper")):
        if name in violated:
            needed = format_number(value + SIDE_SIGN[side] * levels[side])
            said.append(
                f"{who} is {LIMIT_WORDS[side]} {format_number(ends[side])}, but should be possible {REACH_WORDS[side]} {needed}."
            )
            used.add(side)
    if "sliding" in violated:
        width = format_number(ends[UP] - ends[DOWN])
        said.append(f"{who} is known to within {width}, but should be uncertain by {format_number(levels[2])}.")
        used |= {DOWN, UP}
    if used == {DOWN, UP} and not limits[UP].remaining:  # all other cells cancel out: the same sum gives both ends
        used = {UP}
    return said + [_inference(table, program, cell, side, limits[side]) for side in sorted(used)]


def _inference(table: Table, program: ExactProgram, cell: int, side: int, combination: Combination) -> str:
    sign, who = SIDE_SIGN[side], repr(table.label(cell))
    end = format_number(decimal_fraction(table.value[cell]) + sign * combination.bound)
    said = f"{who} is {LIMIT_WORDS[side] if combination.remaining else 'exactly'} {end}"
    if not combination.multipliers:
        return f"{said}: that is published, or known beforehand."
    # Relations that are added come before those that are subtracted.
    multipliers = sorted(combination.multipliers.items(), key=lambda item: sign * item[1] < 0)
    relations = [_term(sign * y, f"[{_relation(table, program, row)}]") for row, y in multipliers]
    terms = [_term(sign * weight, repr(table.label(i))) for i, weight in combination.remaining.items()]
    ends = {i: decimal_fraction(table.value[i]) + program.slack(i)[w > 0] for i, w in combination.remaining.items()}
    bounds = [
        f"{table.label(i)!r} is {LIMIT_WORDS[weight > 0]} {format_number(ends[i])}"
        for i, weight in combination.remaining.items()
    ]
    left = f" {_list(terms, ' ')}, and {_list(bounds)}" if terms else ""
    return f"{said}: {_list(relations, ' ').removeprefix('+ ')} leaves {who} = published cells{left}."


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
    """All of them, or the first few and how many more."""
    shown = between.join(items[:MAX_NAMED_TERMS])
    return shown if len(items) <= MAX_NAMED_TERMS else f"{shown} and {len(items) - MAX_NAMED_TERMS} more"
