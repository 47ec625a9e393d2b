"""Two publications about the same cells, or sums of them, taken together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.exact import ExactIntervals, exact, midpoint
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.data.relations import from_equations, stack
from discreet.errors import InputError, some
from discreet.progress import Progress


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Differenced(Finding):
    """Exact intervals from both publications; ``narrower`` than from the first alone."""

    alone: ExactIntervals
    narrower: BoolArray

    def _more(self) -> dict[str, object]:
        at = self.alone.public.at(self.labels)
        place = np.searchsorted(self.alone.cell, at)
        return {
            "alone_lower": self.alone.lower[place],
            "alone_upper": self.alone.upper[place],
            "narrower": self.narrower,
        }


def join(first: Public, *others: Public, sums: Mapping[str, Sequence[str]] | None = None) -> Public:
    """One view of everything: cells of the same label are the same, and ``sums`` says which are sums of others.

    Values must not have been revised in between, and labels must mean the same in all of them.
    """
    joint = first
    for other in others:
        joint = _two(joint, other)
    if not sums:
        return joint
    rows = []
    for total, parts in sums.items():
        columns = [joint.index(label) for label in (*parts, total)]
        if len(set(columns)) < len(columns):
            raise InputError(f"The sum {total!r} has a cell twice: {some(list(parts))}.", [total])
        rows.append((columns, [1.0] * len(parts) + [-1.0]))
    more = from_equations(rows, len(joint))
    relations = sparse.csr_array(sparse.vstack([joint.relations, more], format="csr"))
    return replace(joint, relations=relations, rhs=np.r_[joint.rhs, np.zeros(len(rows))])


def merged(
    public: Public, dimension: str, code: str, parts: Sequence[str], within: Public
) -> dict[str, tuple[str, ...]]:
    """The sums that a code of one view stands for in another: ``code`` = the sum of ``parts``, whatever the other dimensions."""
    if dimension not in public.codes or tuple(public.codes) != tuple(within.codes):
        raise InputError(
            f"Both views need the dimension {dimension!r}, and the same ones in the same order.", [dimension]
        )
    cell = {where: label for label, where in zip(within.labels, zip(*within.codes.values(), strict=True), strict=True)}
    place = list(public.codes).index(dimension)
    found: dict[str, tuple[str, ...]] = {}
    for label, where in zip(public.labels, zip(*public.codes.values(), strict=True), strict=True):
        if where[place] == code:
            wanted = [(*where[:place], part, *where[place + 1 :]) for part in parts]
            found[label] = tuple(cell[at] for at in wanted if at in cell)  # cells that are not listed are zeros
    return found


def difference(
    first: Public,
    *others: Public,
    sums: Mapping[str, Sequence[str]] | None = None,
    progress: Progress | None = None,
) -> Differenced:
    """What several publications together say about the suppressed cells of the first."""
    alone = exact(first, progress=progress)
    joint = join(first, *others, sums=sums)
    both = exact(joint, progress=progress)
    cell = joint.at(alone.labels)
    lower, upper = joint.lower[cell], joint.upper[cell]  # of those that the others tell
    place = np.searchsorted(both.cell, cell)
    still = np.isin(cell, both.cell)
    lower, upper = lower.copy(), upper.copy()
    lower[still], upper[still] = both.lower[place[still]], both.upper[place[still]]
    noise = 1e-9 * np.maximum(np.abs(np.where(np.isfinite(alone.upper), alone.upper, alone.lower)), 1e-300)
    return Differenced(
        attack="difference",
        assumes="another publication has the same cells, not revised",
        public=joint,
        cell=cell,
        lower=lower,
        upper=upper,
        estimate=midpoint(lower, upper),
        certain=True,
        alone=alone,
        narrower=(lower > alone.lower + noise) | (upper < alone.upper - noise),
    )


def _two(first: Public, second: Public) -> Public:
    at = first.at(second.labels)
    new = np.flatnonzero(at < 0)
    n = len(first)
    column = at.copy()
    column[new] = n + np.arange(len(new))
    rows = second.relations.tocoo()
    size = n + len(new)
    moved = sparse.csr_array((rows.data, (rows.row, column[rows.col])), shape=(second.relations.shape[0], size))
    mine = first.relations
    own = sparse.csr_array((mine.data, mine.indices, mine.indptr), shape=(mine.shape[0], size))
    if np.any(first.rhs) or np.any(second.rhs):
        relations, rhs = sparse.csr_array(sparse.vstack([own, moved], format="csr")), np.r_[first.rhs, second.rhs]
    else:  # nearly always: then relations that both have are needed once
        relations = stack([own, moved])
        rhs = np.zeros(relations.shape[0])

    def widened(one: FloatArray, other: FloatArray, combine: np.ufunc) -> FloatArray:
        both = np.r_[one, other[new]]
        same = np.flatnonzero(at >= 0)
        both[at[same]] = combine(both[at[same]], other[same])
        return np.asarray(both)

    return Public(
        labels=(*first.labels, *(second.labels[i] for i in new)),
        relations=relations,
        rhs=rhs,
        published=widened(first.published, second.published, np.fmax),
        told_lower=widened(first.told_lower, second.told_lower, np.maximum),
        told_upper=widened(first.told_upper, second.told_upper, np.minimum),
        lower=widened(first.lower, second.lower, np.maximum),
        upper=widened(first.upper, second.upper, np.minimum),
        whole=first.whole and second.whole,
    )
