"""Bounds on the changes of suppressed cells from single relations, updated while cells are published."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference.bound_propagation import propagate, propagate_terms
from discreet.inference.nonzeros import terms
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.suppress.deviation_program import DeviationProgram
from discreet.methods.suppress.evidence import KnownDeviations

ROUNDS_OF_RELATION_BOUNDS = 5  # need not be complete: the bounds only save searches


class RelationBounds:
    """Bounds on the changes of the cells of a program. They only get tighter, because cells are only published."""

    def __init__(self, search: DeviationProgram, evidence: KnownDeviations) -> None:
        self.search = search
        self.evidence = evidence
        self.by_column = search.relations.tocsc()
        self.low, self.high = propagate(
            search.relations, -search.slack[DOWN], search.slack[UP], ROUNDS_OF_RELATION_BOUNDS
        )
        self.before: list[tuple[IntArray, FloatArray, FloatArray]] = []

    def rules_out(self, i: int, suppressed: BoolArray) -> bool:
        """Publish cell ``i``; whether another cell is exposed then."""
        return any(self._exposed(columns, suppressed, i) for columns in self._publish(self.search.column[i]))

    def undo(self) -> None:
        """Suppress the cell published last."""
        for columns, low, high in reversed(self.before):
            self.low[columns], self.high[columns] = low, high

    def _exposed(self, columns: IntArray, suppressed: BoolArray, i: int) -> bool:
        evidence, cells = self.evidence, self.search.cells[columns]
        low, high, required = self.low[columns], self.high[columns], 1 - 2 * LEVEL_TOLERANCE
        exposed = (
            (-low < evidence.lower[cells] * required)
            | (high < evidence.upper[cells] * required)
            | (high - low < evidence.sliding[cells] * required)
        )
        return bool(np.any(exposed & evidence.counts(cells, suppressed, i)))

    def _publish(self, column: int) -> Iterator[IntArray]:
        """Publish a column; per round the columns whose bounds get tighter."""
        relations = self.search.relations
        self.before = []
        tighter = np.array([column])
        self._set(tighter, np.zeros(1), np.zeros(1))
        for _ in range(ROUNDS_OF_RELATION_BOUNDS):
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
