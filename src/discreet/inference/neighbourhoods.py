"""Parts of a component too large for one program: most of its targets are settled by what moves near them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import IntArray
from discreet.inference.component_search import Component, as_network, open_targets, settle, survey
from discreet.inference.deviations import ComponentFindings, Deviation
from discreet.inference.nearest_columns import NearestColumns

LARGE_COMPONENT_COLUMNS = 10_000  # columns of a component, from which on those around its targets are tried first,
LARGE_INTERVAL_COMPONENT_COLUMNS = (
    1_000  # or so many where most cells may be a little off: pushing all of them at once takes long there
)
NEIGHBOURHOOD_SIZES = (300, 1_500, 6_000, 24_000)  # so many around each
MIN_SIZE_RATIO = 4  # times than a component that one program is not too large for, to be worth it,
TRIAL_TARGETS = 12  # which so many targets then tell
SHARING_DIVISOR = (
    8  # one in so many of the smallest parts, the nearest, share it: what is far from the middle seldom moves in it
)


@dataclass(frozen=True, eq=False, repr=False)
class Neighbourhood:
    """Some columns of a component, and what is asked about those in the middle, as a component of its own."""

    columns: IntArray
    component: Component

    def settle(self) -> ComponentFindings:
        """Settle what can be settled here. Columns may go farther where others move as well."""
        found = survey(self.component)
        more = settle(self.component, found, open_targets(self.component, found), near=True)
        return ComponentFindings(more.reach, more.edge, [*found.tables, *more.tables], more.shown)


def needs_neighbourhoods(component: Component, loose: bool) -> bool:
    """Whether parts are worth looking at: for a verdict, in a large component that is no network."""
    many = LARGE_COMPONENT_COLUMNS if loose else LARGE_INTERVAL_COMPONENT_COLUMNS
    return not component.intervals and len(component.low) > many and as_network(component) is None


def neighbourhoods_of(component: Component, chosen: IntArray, size: int, share: int) -> list[Neighbourhood]:
    """So many columns around each of the chosen targets; one in ``share`` of them, the nearest, are settled with it."""
    c, vicinity, found = component, NearestColumns(component.relations), []
    steps = np.ones(len(c.low))
    left = np.zeros(len(c.targets), dtype=bool)
    left[chosen] = True
    for k in chosen.tolist():
        near = vicinity.around(int(c.targets[k]), steps, size) if left[k] else np.zeros(0, dtype=np.int64)
        if not len(near):
            continue
        middle = np.zeros(len(c.low), dtype=bool)
        middle[near[: -(-len(near) // share)]] = True
        mine = np.flatnonzero(left & middle[c.targets])
        left[mine] = False
        columns = np.sort(near)
        part = replace(
            c,
            relations=vicinity.part(columns),
            low=c.low[columns],
            high=c.high[columns],
            targets=np.searchsorted(columns, c.targets[mine]),
            level=c.level[:, mine],
            sliding=c.sliding[mine],
        )
        found.append(Neighbourhood(columns, part))
    return found


def add_findings(found: ComponentFindings, part: Neighbourhood, settled: ComponentFindings) -> None:
    """Add how far a part shows its targets to go. How far they go at most it cannot tell."""
    at = np.unique(part.component.targets)
    columns, reach, shown = part.columns[at], settled.reach[:, at], settled.shown[:, at]
    farther = reach > found.reach[:, columns]
    shown = np.where(shown >= 0, shown + len(found.tables), -1)
    found.reach[:, columns] = np.where(farther, reach, found.reach[:, columns])
    found.shown[:, columns] = np.where(farther, shown, found.shown[:, columns])
    found.tables.extend(Deviation(part.columns[table.cells], table.amount) for table in settled.tables)
