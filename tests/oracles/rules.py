"""The rules, written once more: what is sensitive, and the interval that a reader must not be able to narrow."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from tests.oracles.records import Cell, Codes, Survey


@dataclass(frozen=True)
class Need:
    """The protection that a sensitive cell requires: distances below and above its value, and a width."""

    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(0)
    width: Fraction = Fraction(0)

    def __or__(self, other: Need) -> Need:
        return Need(max(self.lower, other.lower), max(self.upper, other.upper), max(self.width, other.width))


@dataclass(frozen=True)
class Rule:
    """A rule as written: its name and its numbers."""

    name: str
    numbers: tuple[Fraction, ...]

    def number(self, place: int, default: int) -> Fraction:
        return self.numbers[place] if place < len(self.numbers) else Fraction(default)

    @property
    def about_contributions(self) -> bool:
        return self.name in ("P", "PQ", "NK")

    @property
    def measure(self) -> tuple[Fraction, Fraction, int]:
        """A sum X is sensitive if lead · target + other · others > X: lead, other, and how many others there are."""
        if self.name == "P":
            return 1 + self.numbers[0] / 100, Fraction(1), int(self.number(1, 1))
        if self.name == "PQ":
            return 1 + self.numbers[0] / self.numbers[1], Fraction(1), int(self.number(2, 1))
        share = 100 / self.numbers[1]
        return share, share, int(self.numbers[0]) - 1


def parse(texts: list[str]) -> list[Rule]:
    found = []
    for text in (part for one in texts for part in one.split("|")):
        name, numbers = re.fullmatch(r"\s*(\w+)\((.*)\)\s*", text).groups()  # type: ignore[union-attr]
        found.append(Rule(name.upper(), tuple(Fraction(number.strip()) for number in numbers.split(","))))
    return found


def needs(survey: Survey) -> dict[Codes, Need]:
    """The sensitive cells and the protection each requires, cut to what readers can believe at all."""
    rules = parse(survey.rules["sensitive"])
    by_hand = _by_hand(survey)
    found: dict[Codes, Need] = {}
    for place, cell in survey.cells.items():
        need: Need | None = None
        for rule in rules:
            asked = _need(rule, cell, survey)
            if asked is not None:
                need = asked if need is None else need | asked
        if place in by_hand and need is None:
            level = Fraction(str(survey.rules.get("margin", 20))) / 100 * cell.magnitude
            need = Need(level, level)
        if need is not None:
            low, high = prior_bounds(survey, place)
            least = smallest(survey)
            if least > 0:
                low = max(low or Fraction(0), min(least * listed_below(survey, place), cell.value))
            lower = need.lower if low is None else min(need.lower, cell.value - low)
            upper = need.upper if high is None else min(need.upper, high - cell.value)
            found[place] = Need(max(lower, Fraction(0)), upper, need.width)
    return found


def prior_bounds(survey: Survey, place: Codes) -> tuple[Fraction | None, Fraction | None]:
    """What everybody knows about a suppressed cell beforehand; None where there is no bound.

    The percentage is about cells of the tables: of those behind linked tables nothing is known but the sign.
    """
    prior = survey.rules.get("prior")
    cell = survey.cells.get(place) or Cell()
    if prior is not None and cell.magnitude:  # so many percent of zero say nothing
        room = Fraction(str(prior)) / 100 * cell.magnitude
        return cell.value - room, cell.value + room
    return None if survey.signed else Fraction(0), None


def _need(rule: Rule, cell: Cell, survey: Survey) -> Need | None:
    if rule.name in ("FREQ", "WFREQ"):
        return _threshold(rule, cell, survey)
    if rule.name == "ZERO":
        return None if any(cell.weighted.values()) else Need(upper=rule.numbers[0])
    sizes = sorted((abs(amount) for amount in contributions(survey, cell).values()), reverse=True)
    lead, _, others = rule.measure
    alone = sizes[: others + 1] if rule.name == "NK" else sizes[:1]
    rest = cell.magnitude - sum(sizes[: others + 1], Fraction(0))
    shortfall = (lead - 1) * sum(alone, Fraction(0)) - max(rest, Fraction(0))
    inclusive = survey.rules.get("boundary", "strict") == "inclusive"
    return Need(shortfall, shortfall) if shortfall > 0 or (inclusive and shortfall == 0) else None


def contributions(survey: Survey, cell: Cell) -> dict[str, Fraction]:
    """What respondents contribute: with their weights, unless these are secret."""
    return cell.reported if survey.settings["data"].get("weights", "known") == "secret" else cell.weighted


def _threshold(rule: Rule, cell: Cell, survey: Survey) -> Need | None:
    n = rule.numbers[0]
    count = len(cell.weighted) if rule.name == "FREQ" else sum(cell.weights.values(), Fraction(0))
    if not (cell.weighted and count < n):
        return None
    if len(rule.numbers) > 2:
        return Need(width=rule.numbers[2])
    if survey.is_count and cell.value == len(cell.weighted):
        return Need(cell.value, n - cell.value)
    level = rule.number(1, 20) / 100 * cell.magnitude
    return Need(level, level)


def listed_below(survey: Survey, place: Codes) -> int:
    """How many finest cells of a table that a cell consists of are listed, each of which is at least 1."""
    trees, most = list(survey.trees.values()), 1
    for names in survey.tables:
        inside = [name in names for name in survey.trees]
        if all(mine or code == tree.total for mine, code, tree in zip(inside, place, trees, strict=True)):
            parts = [
                tree.below[code] if mine else [tree.total]
                for mine, code, tree in zip(inside, place, trees, strict=True)
            ]
            most = max(most, sum(tuple(part) in survey.cells for part in product(*parts)))
    return most


def smallest(survey: Survey) -> Fraction:
    """The least that a suppressed cell can be where zeros are always published, as readers know; 0 where it may be zero."""
    zeros = survey.rules.get("zeros", "published" if survey.is_count else "as rules say")
    if zeros != "published" or survey.signed:
        return Fraction(0)
    if any(not cell.magnitude and place in _suppressed_zeros(survey) for place, cell in survey.cells.items()):
        return Fraction(0)
    if survey.is_count and not survey.is_weighted:
        return Fraction(1)
    if survey.is_count and survey.settings["data"].get("weights", "known") == "known":
        return min(sum(cell.weights.values(), Fraction(0)) / len(cell.weights) for cell in survey.cells.values())
    return unit(survey)


def _suppressed_zeros(survey: Survey) -> set[Codes]:
    """Cells that are suppressed although they are zero, if they are."""
    zero = any(rule.name == "ZERO" for rule in parse(survey.rules["sensitive"]))
    few = [rule.numbers[0] for rule in parse(survey.rules["sensitive"]) if rule.name in ("FREQ", "WFREQ")]
    by_rule = {place for place, cell in survey.cells.items() if zero or (few and len(cell.weighted) < max(few))}
    return by_rule | _by_hand(survey)


def unit(survey: Survey) -> Fraction:
    """The last decimal place of the data."""
    digits = 0
    while digits < 12 and any((c.value * Fraction(10) ** digits).denominator != 1 for c in survey.cells.values()):
        digits += 1
    return Fraction(1, 10**digits)


def _by_hand(survey: Survey) -> set[Codes]:
    name = survey.rules.get("statuses")
    if not name:
        return set()
    with (survey.folder / name).open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    # A label is made of the codes of the table's dimensions.
    return {tuple(row["cell"].split(" × ")) for row in rows if row["status"] == "primary"}
