"""Inference from several publications of the same cells, or of sums of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.attacks.exact import ExactIntervals, exact
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.data.relations import from_equations, stack
from discreet.errors import InputError, some
from discreet.progress import Progress


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Differenced(Finding):
    """Exact intervals from all publications; ``narrower``: narrower than from the first alone."""

    alone: ExactIntervals
    narrower: BoolArray

    def _extra_columns(self) -> dict[str, object]:
        place = np.searchsorted(self.alone.cell, self.alone.public.indices(self.labels))
        return {
            "alone_lower": self.alone.lower[place],
            "alone_upper": self.alone.upper[place],
            "narrower": self.narrower,
        }


def join(first: Public, *others: Public, sums: Mapping[str, Sequence[str]] | None = None) -> Public:
    """One view of all publications: cells with the same label are the same cell; ``sums`` lists cells that are sums of others.

    Values must not have been revised between publications, and labels must have the same meaning in all of them.
    """
    joint = first
    for other in others:
        joint = _joined(joint, other)
    if not sums:
        return joint
    rows = []
    for total, addends in sums.items():
        columns = [joint.index(label) for label in (*addends, total)]
        if len(set(columns)) < len(columns):
            raise InputError(
                f"The sum {total!r} has a cell twice: {some(list(addends))}. List every cell once.", [total]
            )
        rows.append((columns, [1.0] * len(addends) + [-1.0]))
    relations = sparse.csr_array(sparse.vstack([joint.relations, from_equations(rows, len(joint))], format="csr"))
    return replace(joint, relations=relations, rhs=np.r_[joint.rhs, np.zeros(len(rows))])


def merged(
    public: Public, dimension: str, code: str, parts: Sequence[str], within: Public
) -> dict[str, tuple[str, ...]]:
    """The cells of ``public`` with ``code``, each with the cells of the view ``within`` that have one of ``parts`` instead."""
    if dimension not in public.codes or tuple(public.codes) != tuple(within.codes):
        raise InputError(
            f"Both views need dimension {dimension!r} and the same dimensions in the same order.", [dimension]
        )
    cell = {where: label for label, where in zip(within.labels, zip(*within.codes.values(), strict=True), strict=True)}
    place = list(public.codes).index(dimension)
    found: dict[str, tuple[str, ...]] = {}
    for label, where in zip(public.labels, zip(*public.codes.values(), strict=True), strict=True):
        if where[place] == code:
            addends = [(*where[:place], part, *where[place + 1 :]) for part in parts]
            found[label] = tuple(cell[at] for at in addends if at in cell)  # cells that are not listed are zeros
    return found


def difference(
    first: Public, *others: Public, sums: Mapping[str, Sequence[str]] | None = None, progress: Progress | None = None
) -> Differenced:
    """The exact intervals of the suppressed cells of the first publication that follow from all publications together."""
    alone = exact(first, progress=progress)
    joint = join(first, *others, sums=sums)
    both = exact(joint, progress=progress)
    cell = joint.indices(alone.labels)
    lower, upper = joint.lower[cell], joint.upper[cell]
    unknown = np.isin(cell, both.cell)  # the other cells are published elsewhere
    place = np.searchsorted(both.cell, cell[unknown])
    lower[unknown], upper[unknown] = both.lower[place], both.upper[place]
    noise = 1e-9 * np.maximum(np.abs(np.where(np.isfinite(alone.upper), alone.upper, alone.lower)), 1e-300)
    narrower = (lower > alone.lower + noise) | (upper < alone.upper - noise)
    found = ("another publication has the same cells, not revised", joint, cell, lower, upper)
    return Differenced.certain_intervals("difference", *found, alone=alone, narrower=narrower)


def _joined(first: Public, second: Public) -> Public:
    """Two views as one; of cells that both have, the tighter bounds hold."""
    at = first.indices(second.labels)
    new, common = np.flatnonzero(at < 0), np.flatnonzero(at >= 0)
    column = at.copy()
    column[new] = len(first) + np.arange(len(new))
    size = len(first) + len(new)
    rows, entries = first.relations, second.relations.tocoo()
    wider = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], size))
    shape = (second.relations.shape[0], size)
    renumbered = sparse.csr_array((entries.data, (entries.row, column[entries.col])), shape=shape)
    if np.any(first.rhs) or np.any(second.rhs):
        relations = sparse.csr_array(sparse.vstack([wider, renumbered], format="csr"))
        rhs = np.r_[first.rhs, second.rhs]
    else:  # the usual case: relations that both views have are kept once
        relations = stack([wider, renumbered])
        rhs = np.zeros(relations.shape[0])

    def combined(name: str, tighter: np.ufunc) -> FloatArray:
        of_first, of_second = getattr(first, name), getattr(second, name)
        both = np.r_[of_first, of_second[new]]
        both[at[common]] = tighter(both[at[common]], of_second[common])
        return np.asarray(both)

    return Public(
        labels=(*first.labels, *(second.labels[i] for i in new)),
        relations=relations,
        rhs=rhs,
        published=combined("published", np.fmax),
        published_lower=combined("published_lower", np.maximum),
        published_upper=combined("published_upper", np.minimum),
        lower=combined("lower", np.maximum),
        upper=combined("upper", np.minimum),
        is_integer=first.is_integer and second.is_integer,
    )
