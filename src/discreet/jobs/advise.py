"""Redesign of a table before it is protected: categories to combine, so that fewer cells are sensitive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, FloatArray
from discreet.assess import Label, ManualStatus, assess
from discreet.data.coarsening import Candidates, Change, Design, with_merged
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import InputError, some
from discreet.problem import Status
from discreet.progress import Progress, Silent
from discreet.rules import Boundary, Rule

# Share of the sensitive cells below which a change is ranked last: it changes the table for too little.
MIN_REMOVED_SHARE = 0.02

# Columns of advice that are members of a step.
EFFECTS = (
    *("sensitive_before", "sensitive_after", "removed", "cells_before", "cells_after"),
    *("detail_lost", "detail_lost_so_far"),
)

# Called with by= and recode=, e.g. partial(tabulate, "survey.csv", response="turnover").
Tabulation = Callable[..., Table]


@dataclass(frozen=True)
class Step:
    """A change and its effect on the table before it. Labels and counts only."""

    change: Change
    sensitive_before: int
    sensitive_after: int
    cells_before: int
    cells_after: int
    detail_lost: float  # share of the detail of the original table
    detail_lost_so_far: float

    @property
    def removed(self) -> int:
        return self.sensitive_before - self.sensitive_after

    @property
    def worth(self) -> float:
        """Sensitive cells removed per share of detail lost."""
        return self.removed / max(self.detail_lost, 1e-12)


@dataclass(frozen=True, repr=False)
class Advice:
    """A sequence of changes, each the best after those before it, and all single changes that remove sensitive cells."""

    design: Design
    sensitive: int
    cells: int
    sequence: tuple[Step, ...]
    single: tuple[Step, ...]  # the best first

    def __repr__(self) -> str:
        after = self.sequence[-1].sensitive_after if self.sequence else self.sensitive
        return f"Advice({len(self.sequence)} steps, sensitive cells from {self.sensitive:,} to {after:,})"

    def frame(self, which: str = "sequence") -> pd.DataFrame:
        """One row per step of the ``"sequence"``, or per change of the ``"single"`` ones."""
        if which not in ("sequence", "single"):
            raise InputError(f"There is a 'sequence' and a list of 'single' changes, not {which!r}.")
        steps: tuple[Step, ...] = getattr(self, which)
        rows = [_row(i, step) for i, step in enumerate(steps, start=1)]
        return pd.DataFrame(rows, columns=["step", "dimension", "kind", "codes", "into", *EFFECTS])


def apply(advice: Advice, steps: int | None = None, *, single: int | None = None) -> Design:
    """The design after the first ``steps`` of the sequence, or after one of the ``single`` changes by its number."""
    if (steps is None) == (single is None):
        raise InputError("Say how many steps of the sequence to apply, or which single change.")
    changes, noun = (advice.sequence, "steps") if single is None else (advice.single, "single changes")
    number = steps if single is None else single
    assert number is not None
    if not 1 <= number <= len(changes):
        raise InputError(f"The advice has {len(changes)} {noun}: there is no number {number}.")
    design = advice.design
    for step in changes[:number] if single is None else [changes[number - 1]]:
        design = design.changed(step.change)
    return design


def advise(
    tabulation: Tabulation,
    by: Sequence[str] | Mapping[str, Hierarchy | None] | None,
    rules: str | Rule | Iterable[str | Rule],
    *,
    boundary: Boundary = "strict",
    statuses: Mapping[str, ManualStatus] | None = None,
    waivers: Iterable[str | tuple[str, Label]] = (),
    recode: Mapping[str, Mapping[str, str]] | None = None,
    keep: Mapping[str, Collection[str] | None] | None = None,
    cells: Iterable[Label] = (),
    ordered: Collection[str] = (),
    steps: int = 10,
    progress: Progress | None = None,
) -> Advice:
    """Find the codes to merge and the levels to leave out that remove most sensitive cells per detail lost.

    ``tabulation`` makes the table from its hierarchies, ``by``, and from codes to replace, ``recode``: for instance
    ``partial(tabulate, "survey.csv", response="turnover", contributor="firm")``. If ``by`` is None, it has its own
    hierarchies. The rules are applied to every candidate as tabulated from the records. In ``ordered`` dimensions only
    neighbours are merged. Codes in ``keep``, by dimension, stay (``None``: all of them), and so do those of ``cells`` and of
    cells with a status or a waiver.
    """
    progress, waivers = progress or Silent(), list(waivers)

    def assessed(table: Table) -> _Assessed:
        problem = assess(table, rules, boundary=boundary, statuses=statuses, waivers=waivers)
        return _Assessed(table, problem.status == Status.PRIMARY)

    def assessed_design(design: Design) -> _Assessed:
        return assessed(tabulation(by=design.by, recode=design.recode))

    now = begin = assessed(tabulation(by=by, recode=recode or {}))
    design = start = Design(dict(begin.table.dimensions), recode or {})
    cells_of_waivers = [cell for waiver in waivers if not isinstance(waiver, str) for cell in waiver[1:]]
    kept = _kept_codes(begin.table, keep or {}, [*cells, *(statuses or {}), *cells_of_waivers])
    _check_dimensions(design.by, ordered)
    sequence: list[Step] = []
    single: tuple[Step, ...] = ()
    progress.stage("advise", steps)
    for done in range(steps):
        found = _ranked(design, now, begin, assessed_design, kept, ordered)
        single = single or found
        if not found:
            break
        design = design.changed(found[0].change)
        now, before = assessed_design(design), now
        sequence.append(_step(found[0].change, before, begin, now.n_sensitive, len(now.table), now.detail.sum()))
        progress.update(done + 1, f"{now.n_sensitive:,} sensitive cells")
    return Advice(start, begin.n_sensitive, len(begin.table), tuple(sequence), single)


class _Assessed:
    """A table, its sensitive cells, and the detail of each cell."""

    def __init__(self, table: Table, sensitive: BoolArray) -> None:
        if table.count is None:
            raise InputError("The table has no numbers of contributors: tabulate it from records.")
        self.table, self.sensitive = table, sensitive
        share = table.count / max(table.count.max(initial=0), 1)
        # A cell with the share p of all contributors adds p·log2(1/p) to the entropy of its level.
        self.detail = -share * np.log2(share, where=share > 0, out=np.zeros(len(table)))

    @property
    def n_sensitive(self) -> int:
        return int(self.sensitive.sum())

    def by_code(self, dimension: str) -> FloatArray:
        """Four rows: numbers of sensitive cells and of cells, detail and contributors of each code of a dimension."""
        d = list(self.table.dimensions).index(dimension)
        code, codes = self.table.codes[d], len(self.table.dimensions[dimension])
        columns = (self.sensitive, np.ones(len(self.table)), self.detail, self.table.count)
        return np.stack([np.bincount(code, column, minlength=codes) for column in columns])


def _ranked(
    design: Design,
    now: _Assessed,
    begin: _Assessed,
    assessed_design: Callable[[Design], _Assessed],
    kept: Mapping[str, Collection[str]],
    ordered: Collection[str],
) -> tuple[Step, ...]:
    """All changes that remove sensitive cells: first those that remove enough, then most cells per detail lost."""
    found: list[Step] = []

    def consider(change: Change, difference: FloatArray) -> None:
        removed, cells, detail = difference[:3]
        if removed > 0:
            after = (now.n_sensitive - int(removed), len(now.table) - int(cells), now.detail.sum() - detail)
            found.append(_step(change, now, begin, *after))

    for name, hierarchy in design.by.items():
        candidates, figures = Candidates(name, hierarchy, kept[name], name in ordered), now.by_code(name)
        for change in candidates.levels():
            consider(change, figures[:, [hierarchy.index(code) for code in change.into]].sum(axis=1))
        sets = candidates.sets(figures[0], figures[3])
        if sets:
            candidate = Design({**design.by, name: with_merged(hierarchy, sets)}, design.recode)
            merged = assessed_design(candidate).by_code(name)
            taken = set(design.recode.get(name, {}))
            for k, members in enumerate(sets, start=len(hierarchy)):
                consider(candidates.merge(members, taken), figures[:, list(members)].sum(axis=1) - merged[:, k])
    enough = MIN_REMOVED_SHARE * now.n_sensitive
    return tuple(sorted(found, key=lambda step: (step.removed < enough, -step.worth, -step.removed)))


def _step(change: Change, before: _Assessed, begin: _Assessed, sensitive: int, cells: int, detail: float) -> Step:
    original = max(float(begin.detail.sum()), 1e-300)
    return Step(
        change,
        sensitive_before=before.n_sensitive,
        sensitive_after=sensitive,
        cells_before=len(before.table),
        cells_after=cells,
        detail_lost=max(float(before.detail.sum()) - float(detail), 0.0) / original,
        detail_lost_so_far=max(1 - float(detail) / original, 0.0),
    )


def _row(number: int, step: Step) -> dict[str, Any]:
    change = step.change
    return {
        "step": number,
        "dimension": change.dimension,
        "kind": change.kind,
        "codes": ", ".join(change.into),
        "into": ", ".join(dict.fromkeys(change.into.values())),
        **{name: getattr(step, name) for name in EFFECTS},
    }


def _kept_codes(table: Table, keep: Mapping[str, Collection[str] | None], cells: Iterable[Any]) -> dict[str, set[str]]:
    """The codes of each dimension that stay: those in ``keep``, and those of the named ``cells``."""
    _check_dimensions(table.dimensions, keep)
    kept: dict[str, set[str]] = {}
    at = [table.index(cell) for cell in cells]
    for d, (name, hierarchy) in enumerate(table.dimensions.items()):
        requested = keep.get(name, ())
        unknown = [code for code in requested or () if code not in hierarchy]
        if unknown:
            raise InputError(f"Dimension {name!r} has no code {some(unknown)} that could be kept.", unknown)
        named = {hierarchy.codes[code] for code in table.codes[d, at]}
        kept[name] = set(hierarchy.codes) if requested is None else {*requested, *named}
    return kept


def _check_dimensions(dimensions: Mapping[str, Hierarchy], names: Iterable[str]) -> None:
    unknown = [name for name in names if name not in dimensions]
    if unknown:
        raise InputError(f"There is no dimension {unknown[0]!r}; the table has {some(list(dimensions), 12)}.", unknown)
