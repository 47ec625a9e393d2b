"""Redesign of a table before it is protected: which categories to roll up, so that fewer cells are sensitive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discreet.arrays import FloatArray
from discreet.assess import Label, ManualStatus, assess
from discreet.data.coarsening import Candidates, Change, Design, with_merged
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import InputError, some
from discreet.problem import Status
from discreet.progress import Progress, Silent
from discreet.rules import Boundary, Rule

LEAST = (
    0.02  # share of the sensitive cells that a change should remove: less is not worth the trouble if there are others
)

Tabulation = Callable[
    ..., Table
]  # called with by= and recode=, e.g. partial(tabulate, "survey.csv", response="turnover")


@dataclass(frozen=True)
class Step:
    """A change, and what it does to the table as it was before. Labels and counts only."""

    change: Change
    sensitive_before: int
    sensitive_after: int
    cells_before: int
    cells_after: int
    detail_lost: float  # share of the detail of the table as it was given
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
    """Changes one after the other, each the best after those before it; and all that help if they are the only one."""

    design: Design
    sensitive: int
    cells: int
    sequence: tuple[Step, ...]
    single: tuple[Step, ...]  # the best first

    def __repr__(self) -> str:
        after = self.sequence[-1].sensitive_after if self.sequence else self.sensitive
        return f"Advice({len(self.sequence)} steps, sensitive cells from {self.sensitive:,} to {after:,})"

    def frame(self, which: str = "sequence") -> pd.DataFrame:
        """One row a step: of the ``"sequence"``, or of the ``"single"`` changes."""
        if which not in ("sequence", "single"):
            raise InputError(f"There is a 'sequence' and a list of 'single' changes, not {which!r}.")
        steps: tuple[Step, ...] = getattr(self, which)
        rows = [_row(i, step) for i, step in enumerate(steps, start=1)]
        return pd.DataFrame(rows, columns=list(_row(0, _NOTHING)))


def apply(advice: Advice, steps: int | None = None, *, single: int | None = None) -> Design:
    """The design after the first ``steps`` of the sequence, or after one of the ``single`` changes by its number."""
    if (steps is None) == (single is None):
        raise InputError("Say how many steps of the sequence to apply, or which single change.")
    number, there = (steps, advice.sequence) if steps is not None else (single, advice.single)
    assert number is not None
    if not 1 <= number <= len(there):
        what = "steps" if steps is not None else "single changes"
        raise InputError(f"The advice has {len(there)} {what}: there is no number {number}.")
    design = advice.design
    for step in there[:number] if steps is not None else [there[number - 1]]:
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
    """Look for the codes to merge and the levels to leave out that remove most sensitive cells for the detail they cost.

    ``tabulation`` makes the table from its hierarchies, ``by``, and from codes to replace, ``recode``: for instance
    ``partial(tabulate, "survey.csv", response="turnover", contributor="firm")``. Where ``by`` is none, it has hierarchies of
    its own. Every candidate is judged by the rules on its own cells, tabulated from the records. In ``ordered`` dimensions
    only neighbours are merged. Codes in ``keep``, by dimension, stay (``None``: all of them), and so do those of ``cells``
    and of cells with a status or a waiver of their own.
    """
    progress, waivers = progress or Silent(), list(waivers)

    def judge(table: Table) -> _Judged:
        problem = assess(table, rules, boundary=boundary, statuses=statuses, waivers=waivers)
        return _Judged(table, problem.status == Status.PRIMARY)

    def judged(design: Design) -> _Judged:
        return judge(tabulation(by=design.by, recode=design.recode))

    now = begin = judge(tabulation(by=by, recode=recode or {}))
    design = start = Design(dict(begin.table.dimensions), recode or {})
    named = [
        *cells,
        *(statuses or {}),
        *(cell for waiver in waivers if not isinstance(waiver, str) for cell in waiver[1:]),
    ]
    kept = _kept(begin.table, keep or {}, named)
    _check_dimensions(design, ordered)
    sequence: list[Step] = []
    single: tuple[Step, ...] = ()
    progress.stage("advise", steps)
    for done in range(steps):
        found = _ranked(design, now, begin, judged, kept, ordered)
        single = single or found
        if not found:
            break
        design = design.changed(found[0].change)
        now, before = judged(design), now
        sequence.append(_step(found[0].change, before, begin, now.n_sensitive, len(now.table), now.detail.sum()))
        progress.update(done + 1, f"{now.n_sensitive:,} sensitive cells")
    return Advice(start, begin.n_sensitive, len(begin.table), tuple(sequence), single)


class _Judged:
    """A table, which of its cells are sensitive, and the detail that each of them shows."""

    def __init__(self, table: Table, sensitive: NDArray[np.bool_]) -> None:
        if table.count is None:
            raise InputError("The table does not say how many contributors its cells have: tabulate it from records.")
        self.table, self.sensitive = table, sensitive
        share = table.count / max(table.count.max(initial=0), 1)
        # A cell that shows the share p of all contributors adds p·log2(1/p) to the entropy of its level.
        self.detail = -share * np.log2(share, where=share > 0, out=np.zeros(len(table)))

    @property
    def n_sensitive(self) -> int:
        return int(self.sensitive.sum())

    def by_code(self, dimension: str) -> FloatArray:
        """Sensitive cells, cells, detail and contributors of each code of a dimension, one row each."""
        d = list(self.table.dimensions).index(dimension)
        code, codes = self.table.codes[d], len(self.table.dimensions[dimension])
        columns = (self.sensitive, np.ones(len(self.table)), self.detail, self.table.count)
        return np.stack([np.bincount(code, column, minlength=codes) for column in columns])


def _ranked(
    design: Design,
    now: _Judged,
    begin: _Judged,
    judged: Callable[[Design], _Judged],
    kept: Mapping[str, Collection[str]],
    ordered: Collection[str],
) -> tuple[Step, ...]:
    """All changes that remove sensitive cells: those first that remove many, and of these most for the detail they cost."""
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
            merged = judged(Design({**design.by, name: with_merged(hierarchy, sets)}, design.recode)).by_code(name)
            taken = {code for code in design.recode.get(name, {})}
            for k, members in enumerate(sets, start=len(hierarchy)):
                consider(candidates.merge(members, taken), figures[:, list(members)].sum(axis=1) - merged[:, k])
    least = LEAST * now.n_sensitive
    return tuple(sorted(found, key=lambda step: (step.removed < least, -step.worth, -step.removed)))


def _step(change: Change, before: _Judged, begin: _Judged, sensitive: int, cells: int, detail: float) -> Step:
    whole = max(float(begin.detail.sum()), 1e-300)
    return Step(
        change,
        sensitive_before=before.n_sensitive,
        sensitive_after=sensitive,
        cells_before=len(before.table),
        cells_after=cells,
        detail_lost=max(float(before.detail.sum()) - float(detail), 0.0) / whole,
        detail_lost_so_far=max(1 - float(detail) / whole, 0.0),
    )


def _row(number: int, step: Step) -> dict[str, Any]:
    change = step.change
    return {
        "step": number,
        "dimension": change.dimension,
        "kind": change.kind,
        "codes": ", ".join(change.into),
        "into": ", ".join(dict.fromkeys(change.into.values())),
        "sensitive_before": step.sensitive_before,
        "sensitive_after": step.sensitive_after,
        "removed": step.removed,
        "cells_before": step.cells_before,
        "cells_after": step.cells_after,
        "detail_lost": step.detail_lost,
        "detail_lost_so_far": step.detail_lost_so_far,
    }


_NOTHING = Step(Change("", "", {}, ""), 0, 0, 0, 0, 0.0, 0.0)


def _kept(table: Table, keep: Mapping[str, Collection[str] | None], cells: Iterable[Any]) -> dict[str, set[str]]:
    """The codes of each dimension that stay: by wish, and those of cells that something is said about by name."""
    strange = [name for name in keep if name not in table.dimensions]
    if strange:
        raise InputError(
            f"There is no dimension {strange[0]!r}; the table has {some(list(table.dimensions), 12)}.", strange
        )
    kept: dict[str, set[str]] = {}
    at = [table.index(cell) for cell in cells]
    for d, (name, hierarchy) in enumerate(table.dimensions.items()):
        wish = keep.get(name, ())
        unknown = [code for code in wish or () if code not in hierarchy]
        if unknown:
            raise InputError(f"Dimension {name!r} has no code {some(unknown)} that could be kept.", unknown)
        named = {hierarchy.codes[code] for code in table.codes[d, at]}
        kept[name] = set(hierarchy.codes) if wish is None else {*wish, *named}
    return kept


def _check_dimensions(design: Design, ordered: Collection[str]) -> None:
    strange = [name for name in ordered if name not in design.by]
    if strange:
        raise InputError(f"There is no dimension {strange[0]!r}; the table has {some(list(design.by), 12)}.", strange)
