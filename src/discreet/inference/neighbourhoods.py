"""Neighbourhoods of targets in a component that is too large for one program: they settle most targets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import IntArray
from discreet.executors import in_order
from discreet.inference.component_search import Component, as_network, initial_findings, open_targets, settle, survey
from discreet.inference.deviations import ComponentFindings, Deviation
from discreet.inference.nearest_columns import NearestColumns

LARGE_COMPONENT_COLUMNS = 10_000  # above it, one program for a verdict takes longer than neighbourhoods
LARGE_INTERVAL_COMPONENT_COLUMNS = 1_000  # the same if most cells are published as intervals: programs take longer
NEIGHBOURHOOD_SIZES = (300, 1_500, 6_000, 24_000)  # columns; larger neighbourhoods are tried for what is still open
MIN_SIZE_RATIO = 4  # smallest quotient of component and neighbourhood for which neighbourhoods can be faster
TRIAL_TARGETS = 12  # targets on which a size is tried; fewer would say little about the others
SHARING_DIVISOR = 8  # the nearest eighth of a smallest neighbourhood shares it: farther columns seldom deviate in it


def needs_neighbourhoods(component: Component, mostly_exact: bool) -> bool:
    """Whether to start with neighbourhoods: for a verdict, in a large component that is not a network."""
    columns = LARGE_COMPONENT_COLUMNS if mostly_exact else LARGE_INTERVAL_COMPONENT_COLUMNS
    return not component.intervals and len(component.low) > columns and as_network(component) is None


def findings_around_targets(
    component: Component, executor: Executor | None, report: Callable[[int], None]
) -> ComponentFindings:
    """The findings from larger and larger neighbourhoods of the targets that are still open.

    If one program for the component is feasible, a size is used only if it is much smaller than the component and settles
    at least half of some targets on which it is tried. The number of settled targets is reported.
    """
    found = initial_findings(component)
    is_large = len(component.low) > LARGE_COMPONENT_COLUMNS

    def settle_around(chosen: IntArray, size: int, divisor: int) -> None:
        done = len(component.targets) - len(open_targets(component, found))
        parts = _neighbourhoods_of(component, chosen, size, divisor)
        for part, settled in zip(parts, in_order(executor, _Neighbourhood.settle, parts), strict=True):
            _add_findings(found, part, settled)
            done += len(part.component.targets)
            report(done)

    for size in (size for size in NEIGHBOURHOOD_SIZES if is_large or MIN_SIZE_RATIO * size <= len(component.low)):
        left = open_targets(component, found)
        if not is_large and len(left) > TRIAL_TARGETS:
            tried = left[np.linspace(0, len(left) - 1, TRIAL_TARGETS).astype(np.int64)]
            settle_around(tried, size, size)
            left = open_targets(component, found)
            if 2 * np.isin(tried, left).sum() > TRIAL_TARGETS:
                continue
        settle_around(left, size, SHARING_DIVISOR if size == NEIGHBOURHOOD_SIZES[0] else size)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class _Neighbourhood:
    """Some columns of a component as a component of its own, with targets in the middle."""

    columns: IntArray
    component: Component

    def settle(self) -> ComponentFindings:
        """Settle its targets. In the complete component they may deviate farther."""
        found = survey(self.component)
        more = settle(self.component, found, open_targets(self.component, found), nearest_first=True)
        return ComponentFindings(more.reach, more.limit, [*found.tables, *more.tables], more.shown)


def _neighbourhoods_of(component: Component, chosen: IntArray, size: int, divisor: int) -> list[_Neighbourhood]:
    """Neighbourhoods of ``size`` columns of chosen targets, also used for targets in the nearest 1/``divisor`` of the columns."""
    c, columns_near, found = component, NearestColumns(component.relations), []
    steps = np.ones(len(c.low))
    left = np.zeros(len(c.targets), dtype=bool)
    left[chosen] = True
    for k in chosen.tolist():
        nearest = columns_near.around(int(c.targets[k]), steps, size) if left[k] else np.zeros(0, dtype=np.int64)
        if not len(nearest):
            continue
        in_middle = np.zeros(len(c.low), dtype=bool)
        in_middle[nearest[: -(-len(nearest) // divisor)]] = True
        targets = np.flatnonzero(left & in_middle[c.targets])
        left[targets] = False
        columns = np.sort(nearest)
        part = replace(
            c,
            relations=columns_near.part(columns),
            low=c.low[columns],
            high=c.high[columns],
            targets=np.searchsorted(columns, c.targets[targets]),
            level=c.level[:, targets],
            sliding=c.sliding[targets],
        )
        found.append(_Neighbourhood(columns, part))
    return found


def _add_findings(found: ComponentFindings, part: _Neighbourhood, settled: ComponentFindings) -> None:
    """Add the reach of the targets in a neighbourhood, which says nothing about their limit."""
    at = np.unique(part.component.targets)
    columns, reach, shown = part.columns[at], settled.reach[:, at], settled.shown[:, at]
    farther = reach > found.reach[:, columns]
    shown = np.where(shown >= 0, shown + len(found.tables), -1)
    found.reach[:, columns] = np.where(farther, reach, found.reach[:, columns])
    found.shown[:, columns] = np.where(farther, shown, found.shown[:, columns])
    found.tables.extend(Deviation(part.columns[table.cells], table.amount) for table in settled.tables)
