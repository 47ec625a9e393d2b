"""Linear inequalities that every safe publication satisfies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.inference.cut_proofs import CutProof


@dataclass(frozen=True, eq=False)
class Cut:
    """``weight`` times the columns adds up to at least ``least``; the ``proof`` may be missing."""

    columns: IntArray
    weight: FloatArray
    least: float
    proof: CutProof | None = field(default=None, kw_only=True)

    def shortfall(self, point: FloatArray) -> float:
        """By how much a point violates the cut; not above 0 if it satisfies it."""
        return self.least - float(self.weight @ point[self.columns])

    def violated_by(self, point: FloatArray, least: float) -> Cut:
        """The same cut, or a slightly stronger one that the point violates by ``least``: rounding errors may hide a shortfall."""
        missing = least - self.shortfall(point)
        return replace(self, least=self.least + missing) if missing > 0 else self


def as_rows(cuts: Sequence[Cut], width: int, place: IntArray | None = None) -> tuple[sparse.csr_array, FloatArray]:
    """Cuts as rows of so many columns, and what each must add up to; ``place`` is the column of each number in a cut."""
    begin = np.r_[0, np.cumsum([len(cut.columns) for cut in cuts])].astype(np.int64)
    columns = np.concatenate([cut.columns for cut in cuts]) if cuts else np.zeros(0, dtype=np.int64)
    weight = np.concatenate([cut.weight for cut in cuts]) if cuts else np.zeros(0)
    at = columns if place is None else place[columns]
    return sparse.csr_array((weight, at, begin), shape=(len(cuts), width)), np.array([cut.least for cut in cuts])
