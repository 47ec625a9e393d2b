"""The tables that the rules of τ-ARGUS look at: by record and by holding, of the response or of the shadow variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.data.table import Table


@dataclass(frozen=True)
class Given:
    """What a table in a file says about its cells: statuses, and protection levels, NaN where there is none."""

    status: IntArray  # ArgusStatus
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class Views:
    """One table by several units and variables; all have the same cells in the same order."""

    table: Table  # what is published
    decimals: int
    records: Table  # the variable by which rules judge, with its largest contributions
    holdings: Table | None = None
    requests: Mapping[bool, Table] = field(default_factory=dict)  # with requests for protection, by whether of holdings
    weighted: bool = False
    given: Given | None = None
    cost: FloatArray | None = None  # sums of the cost variable
    keys: tuple[FloatArray, int] | None = None  # of cells, as integers below a power of ten, and its exponent

    @property
    def shadowed(self) -> bool:
        """Whether rules judge by another variable than the published one."""
        return self.records.response != self.table.response

    def unit(self, holdings: bool) -> Table:
        if holdings:
            assert self.holdings is not None
            return self.holdings
        return self.records


def with_unit_weights(table: Table, weights: FloatArray, depth: int) -> Table:
    """The table with the largest contributions of its units, as if each contribution came as often as its weight says.

    A contribution of 100 with the weight 4 counts as four contributions of 100. Of a fraction of a unit, a fraction counts; a
    weight below 1 counts as 1, so that no contribution is taken for a smaller one. Contributors are records.
    """
    assert table.top is not None
    assert table.top_contributor is not None
    size = np.abs(table.top)
    # Contributors are called "record 1", "record 2" …
    of_record = np.array([weights[int(name.split()[-1]) - 1] for name in table.contributors] + [0.0])
    weight = np.maximum(of_record[table.top_contributor], np.where(table.top_contributor >= 0, 1.0, 0.0))
    end = np.cumsum(weight, axis=1)
    begin = end - weight
    units = np.zeros((len(table), depth))
    for k in range(depth):
        share = np.clip(np.minimum(end, k + 1) - np.maximum(begin, k), 0.0, None)
        units[:, k] = (share * size).sum(axis=1)
    return table.with_columns(top=units, top_contributor=None, contributors=())
