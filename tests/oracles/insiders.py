"""Insiders: respondents who know their own figures, anywhere in the table, and what they learn about others.

No combination of published figures may be sensitive. For a target and some insiders, with X the sum of absolute contributions
to a cell, t the target's and s the insiders', let gap = X − lead · t − other · s. By duality no combination is sensitive if and
only if, for every choice of directions in the cells with a negative gap, there is a deviation of the unpublished finest cells
that leaves all published figures as they are, goes in these cells at least as far as the gap is negative, and elsewhere no
farther than the gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.oracles.records import Codes, Survey
from tests.oracles.release import Release
from tests.oracles.rules import Rule, contributions, parse

MOST_DIRECTIONS = 6  # cells that a group makes sensitive: 2 to the power of this programs
CLOSE = 1e-12  # of a cell: on the boundary of a rule
EXACT = 1e-7  # what solvers leave of equalities
HAIR = 1e-7  # of a contribution: what goes beyond the boundary


@dataclass(frozen=True)
class Exposed:
    """A respondent whose contribution insiders learn too closely."""

    target: str
    insiders: tuple[str, ...]
    cells: tuple[Codes, ...]
    share: float  # of the deviation that is required, the largest possible


@dataclass(frozen=True)
class Unknown:
    """The unpublished finest cells, the published sums of them, and who contributes what to them."""

    cells: list[Codes]
    rows: sparse.csr_array
    amounts: dict[str, np.ndarray]  # by respondent, one number per cell
    total: np.ndarray


def exposed(survey: Survey, release: Release) -> list[Exposed]:
    """All respondents who are exposed, each with the first insiders found."""
    unknown = _unknown(survey, release)
    inclusive = survey.rules.get("boundary", "strict") == "inclusive"
    found = []
    for rule in (rule for rule in parse(survey.rules["sensitive"]) if rule.about_contributions):
        for target in unknown.amounts:
            one = _attacked(unknown, rule, target, inclusive)
            if one is not None:
                found.append(one)
    return found


def _unknown(survey: Survey, release: Release) -> Unknown:
    cells = [base for base in survey.behind if base not in release.lines or release.lines[base].suppressed]
    column = {base: k for k, base in enumerate(cells)}
    rows = []
    for place, line in release.lines.items():
        parts = [column[base] for base in survey.below(place) if base in column]
        if not line.suppressed and parts:
            rows.append(parts)
    matrix = sparse.csr_array(
        (np.ones(sum(map(len, rows))), np.concatenate([*rows, []]).astype(int), np.cumsum([0, *map(len, rows)])),
        shape=(len(rows), len(cells)),
    )
    amounts: dict[str, np.ndarray] = {}
    for base, k in column.items():
        for who, amount in contributions(survey, survey.behind[base]).items():
            if amount:
                amounts.setdefault(who, np.zeros(len(cells)))[k] = float(abs(amount))
    return Unknown(cells, matrix, amounts, np.array([float(survey.behind[base].magnitude) for base in cells]))


def _attacked(unknown: Unknown, rule: Rule, target: str, inclusive: bool) -> Exposed | None:
    """The first insiders found who learn too much about a target; None if there are none."""
    lead, other, size = (float(number) for number in rule.measure)
    own, close = unknown.amounts[target], CLOSE * unknown.total
    left = unknown.total - lead * own
    # The largest others make a cell as sensitive as can be: where even they do not, nobody does.
    others = np.sort(np.stack([row for who, row in unknown.amounts.items() if who != target] or [0 * own]), axis=0)
    worst = left - other * others[::-1][: int(size)].sum(axis=0)
    if not (_sensitive(worst, close, inclusive) & (own > 0)).any():
        return None
    met: dict[tuple[tuple[int, ...], tuple[int, ...]], list[np.ndarray]] = {}
    for insiders in _groups(unknown, target, int(size)):
        gap = left - other * sum((unknown.amounts[who] for who in insiders), 0 * own)
        gap[np.abs(gap) <= close] = 0.0
        sensitive = (gap < 0) | (_sensitive(gap, close, inclusive) & (own > 0))
        if not (sensitive & (own > 0)).any():
            continue
        mine = tuple(np.flatnonzero(sensitive).tolist()[:MOST_DIRECTIONS])
        # A sum on the boundary is sensitive, too: deviations must go farther, by a hair.
        least = (np.maximum(-gap, 0.0) + (HAIR * lead * own if inclusive else 0.0))[list(mine)]
        room = np.maximum(gap, 0.0)
        for signs in product((1, -1), repeat=len(mine) - 1):
            directions = (1, *signs)
            known = met.setdefault((mine, directions), [])
            if any(_serves(table, mine, directions, least, room) for table in known):
                continue
            share, table = _deviation(unknown, mine, directions, least, room)
            if share < 1 - EXACT:
                return Exposed(target, insiders, tuple(unknown.cells[k] for k in mine), share)
            known.append(table)
    return None


def _sensitive(gap: np.ndarray, close: np.ndarray, inclusive: bool) -> np.ndarray:
    return (gap <= close) if inclusive else (gap < -close)


def _groups(unknown: Unknown, target: str, size: int) -> Iterator[tuple[str, ...]]:
    yield ()
    others = [who for who in unknown.amounts if who != target]
    for k in range(1, size + 1):
        yield from combinations(others, k)


def _serves(
    table: np.ndarray, mine: tuple[int, ...], signs: tuple[int, ...], least: np.ndarray, room: np.ndarray
) -> bool:
    """Whether a deviation found before does against other insiders, too, perhaps a part of it."""
    own = np.array(signs) * table[list(mine)]
    if (own <= 0).any():
        return False
    part = float((least / own).max())
    rest = np.delete(np.arange(len(table)), list(mine))
    return bool((part * np.abs(table[rest]) <= room[rest] + EXACT * 0.1 * max(least.max(), 1e-300)).all())


def _deviation(
    unknown: Unknown, mine: tuple[int, ...], signs: tuple[int, ...], least: np.ndarray, room: np.ndarray
) -> tuple[float, np.ndarray]:
    """The largest multiple of what is required that a deviation reaches in all cells of the target, at most 2; and it."""
    unit = float(least.max()) or 1.0
    n = len(room)
    low, high = -room / unit, room / unit
    for k, sign in zip(mine, signs, strict=True):
        low[k], high[k] = (0, np.inf) if sign > 0 else (-np.inf, 0)
    low, high = np.maximum(low, -1e6), np.minimum(high, 1e6)
    # One more unknown: how many times the requirement is met.
    rows = sparse.hstack([unknown.rows, sparse.csr_array((unknown.rows.shape[0], 1))])
    own = sparse.lil_array((len(mine), n + 1))
    for row, (k, sign) in enumerate(zip(mine, signs, strict=True)):
        own[row, k], own[row, n] = sign, -least[row] / unit
    constraints = [LinearConstraint(rows, 0, 0)] if unknown.rows.shape[0] else []
    constraints.append(LinearConstraint(own.tocsr(), 0, np.inf))
    objective = np.zeros(n + 1)
    objective[n] = -1
    found = milp(objective, bounds=Bounds(np.append(low, 0), np.append(high, 2)), constraints=constraints)
    if found.x is None:
        raise RuntimeError(f"The solver failed: {found.message}")
    return -float(found.fun), found.x[:n] * unit
