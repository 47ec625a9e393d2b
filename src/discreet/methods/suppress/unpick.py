"""What single relations tell about suppressed cells, kept up to date while some are published again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference.bound_propagation import propagate, propagate_terms
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.suppress.evidence import KnownDeviations
from discreet.methods.suppress.mover import Mover
from discreet.methods.suppress.nonzeros import terms

ROUNDS = 5


class Unpicked:
    """Bounds of the cells of a program. As cells are only published, bounds only get tighter."""

    def __init__(self, mover: Mover, evidence: KnownDeviations) -> None:
        self.mover = mover
        self.evidence = evidence
        self.by_column = mover.relations.tocsc()
        self.low, self.high = propagate(mover.relations, -mover.slack[DOWN], mover.slack[UP], ROUNDS)
        self.before: list[tuple[IntArray, FloatArray, FloatArray]] = []

    def rules_out(self, i: int, suppressed: BoolArray) -> bool:
        """Publish cell ``i``: whether another one is unsafe then."""
        return any(self._lacking(columns, suppressed, i) for columns in self._publish(self.mover.column[i]))

    def undo(self) -> None:
        """Hide the last one again."""
        for columns, low, high in reversed(self.before):
            self.low[columns], self.high[columns] = low, high

    def _lacking(self, columns: IntArray, suppressed: BoolArray, i: int) -> bool:
        evidence, cells = self.evidence, self.mover.cells[columns]
        low, high, short = self.low[columns], self.high[columns], 1 - 2 * LEVEL_TOLERANCE
        lacking = (
            (-low < evidence.lower[cells] * short)
            | (high < evidence.upper[cells] * short)
            | (high - low < evidence.sliding[cells] * short)
        )
        return bool(np.any(lacking & evidence.counts(cells, suppressed, i)))

    def _publish(self, column: int) -> Iterator[IntArray]:
        """Round by round, the columns whose bounds get tighter without this one."""
        relations = self.mover.relations
        self.before = []
        tighter = np.array([column])
        self._set(tighter, np.zeros(1), np.zeros(1))
        for _ in range(ROUNDS):
            rows = np.unique(self.by_column.indices[terms(self.by_column, tighter)[0]])
            at, length = terms(relations, rows)
            columns, place = np.unique(relations.indices[at], return_inverse=True)
            by_column = np.argsort(place, kind="stable")
            row = np.repeat(np.arange(len(rows)), length)[by_column]
            old_low, old_high = self.low[columns], self.high[columns]
            weight = relations.data[at][by_column]
            low, high = propagate_terms(row, place[by_column], weight, old_low, old_high, rounds=1)
            new = np.flatnonzero((low > old_low * (1 - 1e-6)) | (high < old_high * (1 - 1e-6)))
            if not len(new):
                break
            tighter = columns[new]
            self._set(tighter, low[new], high[new])
            yield tighter

    def _set(self, columns: IntArray, low: FloatArray, high: FloatArray) -> None:
        self.before.append((columns, self.low[columns], self.high[columns]))
        self.low[columns], self.high[columns] = low, high
