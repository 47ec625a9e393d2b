"""What a reader of a release knows, as linear constraints on the finest cells of the full cross-classification.

Every published figure is a sum of finest cells of all dimensions, also of those that linked tables never show together. So
additivity, tables that share cells, and cells behind cyclic linked tables are one system. Unknowns are deviations from the true
table: the truth is only used for scoring, and numbers of any size stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse
from tests.oracles.records import Cell, Codes, Survey
from tests.oracles.release import Line, Release
from tests.oracles.rules import prior_bounds, smallest

ADJUSTING = ("round", "random-round", "conventional-round", "perturb", "adjust", "cell-key", "small-counts", "combined")
Bounds = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True)
class System:
    """Bounds on deviations: of finest cells (columns), and of the sums of them that are published (rows)."""

    columns: dict[Codes, int]
    low: np.ndarray
    high: np.ndarray
    rows: sparse.csr_array
    row_low: np.ndarray
    row_high: np.ndarray
    whole: bool

    def of(self, survey: Survey, place: Codes) -> np.ndarray:
        """The columns of the cell's finest cells that are not known anyway."""
        return np.array([self.columns[base] for base in survey.below(place) if base in self.columns], dtype=int)


@dataclass(frozen=True)
class Reading:
    """What a reader knows of each cell, and the statements of the release that the truth contradicts."""

    bounds: dict[Codes, Bounds]
    false: list[tuple[Codes, str]]

    def system(self, survey: Survey) -> System:
        return _system(survey, self.bounds)


def read(survey: Survey, release: Release) -> Reading:
    """From the lines of a release to bounds on cells."""
    half = _half_width(survey)
    unlisted = _unlisted(survey, release)
    each = survey.method == "small-counts"  # finest counts change by so much, and totals follow
    bounds: dict[Codes, Bounds] = {}
    false = []
    for place in survey.combinations():
        line = release.lines.get(place)
        most = unlisted * len(survey.below(place)) if each else unlisted
        told: Bounds = (Fraction(0), most) if line is None else _told(survey, line, half)
        value = survey.cells[place].value if place in survey.cells else Fraction(0)
        off = 1e-12 * float(abs(value))
        if (told[0] is not None and told[0] > value + off) or (told[1] is not None and told[1] < value - off):
            false.append((place, f"the release says {_text(told)}, the records say {float(value):.15g}"))
        bounds[place] = told
    return Reading(bounds, false)


def _told(survey: Survey, line: Line, half: Fraction) -> Bounds:
    """What one line says."""
    low, high = line.lower, line.upper
    if line.value is None:
        least = _least(survey)
        return (least if low is None else low if least is None else max(low, least)), high
    if low is None or high is None:
        return line.value - half, line.value + half
    if survey.method not in ADJUSTING:  # where values are not changed a value is the rounded truth
        return max(low, line.value - half), min(high, line.value + half)
    return low, high


def _least(survey: Survey) -> Fraction | None:
    """The lowest value that a suppressed cell can have: of counts 1, where zeros are always published."""
    return None if survey.signed else smallest(survey)


def _half_width(survey: Survey) -> Fraction:
    """By how much published values may be off because the job rounds them."""
    decimals = survey.output.get("decimals")
    if decimals is None or all(
        (cell.value * Fraction(10) ** decimals).denominator == 1 for cell in survey.cells.values()
    ):
        return Fraction(0)
    return Fraction(1, 2) / Fraction(10) ** decimals


def _unlisted(survey: Survey, release: Release) -> Fraction:
    """The largest value that a cell can have which the release does not list; of ``small-counts`` a finest one."""
    if survey.method not in ADJUSTING or release.lists_zeros or not survey.is_count:
        return Fraction(0)
    options, whole = survey.options, survey.whole
    if survey.method in ("round", "random-round"):
        reach = options.get("base", 5) * options.get("steps", 1)
        return Fraction(reach - 1 if whole and options.get("zero_restricted", True) else reach)
    if survey.method == "conventional-round":
        return Fraction(options.get("base", 5), 2)
    if survey.method == "cell-key":
        return Fraction(options.get("announced", options.get("deviation", 3)))
    if survey.method == "small-counts":
        return Fraction(options.get("base", 3) - 1)
    if survey.method == "combined":
        return Fraction(str(options.get("base", 0))) / 2
    return _margin(survey, release)


def _margin(survey: Survey, release: Release) -> Fraction:
    """How far a published 0 may be off, from how far all others are said to be: margin + percent · value."""
    if "margin" in survey.options:
        return Fraction(str(survey.options["margin"]))
    wide = {abs(line.value): line.upper - line.value for line in release.lines.values() if line.value and line.upper}
    if len(wide) < 2:
        return min(wide.values(), default=Fraction(0))
    (small, near), (large, far) = min(wide.items()), max(wide.items())
    return max(near - (far - near) / (large - small) * small, Fraction(0))


def _system(survey: Survey, bounds: dict[Codes, Bounds]) -> System:
    finest = survey.finest()
    empty = {base for place, told in bounds.items() if told == (0, 0) for base in survey.below(place)}
    if survey.signed:  # zeros of cells with records may be sums of opposite numbers
        empty = {base for base in empty if base not in survey.behind}
    limits = {base: _known(survey, base, bounds) for base in finest if base not in empty}
    columns = {base: k for k, base in enumerate(base for base, (low, high) in limits.items() if low != high)}
    low, high = (np.array([limits[base][side] for base in columns], dtype=float) for side in (0, 1))
    rows, ends = [], []
    for place in bounds:
        parts = [columns[base] for base in survey.below(place) if base in columns]
        if place not in columns and parts:
            rows.append(parts)
            ends.append(_known(survey, place, bounds))
    matrix = sparse.csr_array(
        (np.ones(sum(map(len, rows))), np.concatenate([*rows, []]).astype(int), np.cumsum([0, *map(len, rows)])),
        shape=(len(rows), len(columns)),
    )
    row_low, row_high = (np.array([end[side] for end in ends], dtype=float) for side in (0, 1))
    return System(columns, low, high, matrix, row_low, row_high, survey.is_count and not survey.is_weighted)


def _known(survey: Survey, place: Codes, bounds: dict[Codes, Bounds]) -> tuple[float, float]:
    """By how much a cell may deviate from the truth, as far as a reader knows beforehand and from its line."""
    cell = survey.cells.get(place) or survey.behind.get(place) or Cell()
    ends = [prior_bounds(survey, place), bounds.get(place, (None, None))]
    low = max((end[0] - cell.value for end in ends if end[0] is not None), default=None)
    high = min((end[1] - cell.value for end in ends if end[1] is not None), default=None)
    return -np.inf if low is None else min(float(low), 0.0), np.inf if high is None else max(float(high), 0.0)


def _text(told: Bounds) -> str:
    low, high = ("…" if end is None else f"{float(end):.15g}" for end in told)
    return f"[{low}, {high}]"
