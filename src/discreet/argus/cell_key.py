"""The cell key method with a probability table and record keys as in τ-ARGUS.

The key of a cell is the sum of the keys of its records without its integer part. In the row of the true count, the change is the
first whose upper bound exceeds the key. Counts beyond the last row have the last row.

Sources: Giessing (2016); the format of the table: the R package ptable, and the program of τ-ARGUS.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import FormatError
from discreet.io.argus.text import fields, numbered_lines
from discreet.methods.context import Run
from discreet.methods.counts.integer_counts import counts_of
from discreet.methods.counts.ptable import PTable
from discreet.methods.method import Traits
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals

PROBABILITY_COLUMNS = ("i", "j", "p", "v", "p_int_ub")
MAX_ROUNDING = 1e-6  # of the sum of the probabilities of a row: files have few decimals


@dataclass(frozen=True, eq=False)
class ProbabilityFile:
    """The probability of each change by true count, and the upper bound of each change in the order of the file."""

    table: PTable
    bounds: tuple[tuple[FloatArray, IntArray], ...]  # by count: upper bounds, and the changes that they belong to

    def change(self, count: IntArray, share: FloatArray) -> IntArray:
        """The change of each count whose cell has this key, from 0 to below 1."""
        found = np.zeros(len(count), dtype=np.int64)
        row = np.minimum(count, len(self.bounds) - 1)
        for i, (upper, change) in enumerate(self.bounds):
            at = np.flatnonzero(row == i)
            found[at] = change[np.minimum(np.searchsorted(upper, share[at], side="right"), len(change) - 1)]
        return found


def read_probabilities(path: Path) -> ProbabilityFile:
    """The table in a file with the columns i;j;p;v;p_int_ub, and names of columns in line 1."""
    rows: dict[int, list[tuple[int, float, float]]] = {}
    for number, line in list(numbered_lines(path))[1:]:
        given = fields(line, ";")
        try:
            i, j, p, _v, bound = (float(text.replace(",", ".")) for text in given[:5])
        except ValueError:
            raise FormatError(f"{path}, line {number}: expected the numbers {';'.join(PROBABILITY_COLUMNS)}.") from None
        if i != int(i) or j != int(j) or min(i, j) < 0 or not 0 <= p <= 1:
            raise FormatError(
                f"{path}, line {number}: i and j are counts, 0 or more, and p is a probability, from 0 to 1."
            )
        rows.setdefault(int(i), []).append((int(j), p, bound))
    if sorted(rows) != list(range(len(rows))) or not rows:
        raise FormatError(f"{path} needs a row for every count from 0 on, without a gap.")
    for i, row in rows.items():
        bounds_of_row = [bound for _, _, bound in row]
        if abs(sum(p for _, p, _ in row) - 1) > MAX_ROUNDING or bounds_of_row != sorted(bounds_of_row):
            raise FormatError(
                f"{path}: the probabilities of count {i} do not add up to 1, or their bounds decrease. Correct "
                f"the rows with i = {i}."
            )
    if [j for j, p, _ in rows[0] if p > 0] != [0]:
        raise FormatError(
            f"{path}: the rows of count 0 change it. Give it the probability 1 of staying 0, so that empty cells stay empty."
        )
    deviation = max(abs(j - i) for i, row in rows.items() for j, p, _ in row if p > 0)
    probability = np.zeros((len(rows), 2 * max(deviation, 1) + 1))
    bounds = []
    for i in range(len(rows)):
        for j, p, _ in rows[i]:
            if p > 0:
                probability[i, j - i + max(deviation, 1)] += p
        bounds.append((np.array([bound for _, _, bound in rows[i]]), np.array([j - i for j, _, _ in rows[i]])))
    return ProbabilityFile(PTable(max(deviation, 1), probability), tuple(bounds))


@dataclass(frozen=True, eq=False)
class CellKeyByFile:
    """Counts with the changes that a probability file gives for the keys of their cells. The table is taken to be public."""

    probabilities: ProbabilityFile
    share: FloatArray  # the key of each cell, from 0 to below 1
    name = "cell-key"
    traits = Traits(kind="counts", needs_counts=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        count = counts_of(problem, self.name)
        fixed: BoolArray = problem.status == Status.PUBLISHED
        suppressed: BoolArray = problem.status == Status.SUPPRESSED
        shown = count + np.where(fixed, 0, self.probabilities.change(count, self.share))
        low, high = self.probabilities.table.counts_behind(shown)
        exactly = fixed & (count > 0)
        low, high = np.where(exactly, count, low), np.where(exactly, count, high)
        return publish_intervals(
            problem,
            published=np.where(suppressed, np.nan, shown),
            lower=np.where(suppressed, -np.inf, low),
            upper=np.where(suppressed, np.inf, high),
            cost=float(np.abs(shown - count)[~suppressed].sum()),
            **run.report(self.name, "heuristic"),
        )
