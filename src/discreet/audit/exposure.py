"""Which protected cells are exposed, how a reader gets at them, and which of them need protecting at all.

The words are those of Serpell, Smith, Clark and Staggemeier (2013), who ask what a reader can infer when only the
primaries are suppressed. Their formulas are for cells that are not negative and weights of ±1; here they hold for any
bounds and weights, for totals that are primaries, for cells that are suppressed without being primary, and for levels that
differ from attacker to attacker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.attackers import Attacker
from discreet.audit.audit import Audit
from discreet.audit.audit import linear_audit as audit
from discreet.errors import TableError
from discreet.inference import tolerances
from discreet.inference.bound_propagation import propagate
from discreet.inference.requirements import cells_to_protect, required_levels, slacks
from discreet.problem import Problem, Status
from discreet.progress import Progress
from discreet.protection import Protection, suppress

NEVER_UNPICKED = -1
MAX_UNPICKING_ROUNDS = 1000  # bounds that creep towards each other for longer are left where they are
MIN_RELATIVE_GAIN = 1e-6  # share of itself by which a bound must get tighter to count
K_S_FACTOR = 3  # of K_s


@dataclass(frozen=True, eq=False, repr=False)
class Exposure:
    """How each protected cell is exposed, one entry a cell; against several attackers, by any of them.

    Let P be the cells that must be protected: primaries, and free ones that are suppressed and have levels; ``M x = b`` the
    relations, and ``a`` the true values; each cell needs slack: its lower level down, its upper level up, its sliding level in
    all. Symbols and numbers in brackets are those of Serpell et al. (2013), sections 2 and 3.

    - ``exposed`` (E): the interval of all x that fit, ``[min x_p, max x_p]`` by linear programming, does not give a cell
      its slack (2, 3). E = E_f ∪ E_p: ``fully`` exposed cells can be computed exactly, ``partially`` exposed ones cannot.
    - ``unpicked`` (E_u): bounds that follow from one relation at a time, over and over, are enough. ``round`` says when:
      0 if the attacker knew too much beforehand or the cell is published, −1 if never.
    - ``initially`` (I_u): unpicked without using what unpicking found out about other exposed cells; ``consequently``
      (C): the rest of E_u. The paper's examples are those of the first round; a later round belongs here too if it only
      goes through cells that are not exposed.
    - ``together`` (K_n = E ∖ E_u): several relations are needed at once.
    - ``alone`` (K_1): no other cell is suppressed in one of its relations.
    - ``k_pl``: in some relation the others, each moving by no more than its own level, do not give the cell its slack:
      the interval ``[assured_lower, assured_upper]`` of (6) and (7) is too narrow. An attacker's bounds count where they
      are tighter than the levels, and suppressed cells that are not in P count as known, since nothing keeps them apart.
    - ``k_nv``: |a_p| + level > Σ |M_ij| |a_i| / |M_pj| over the other cells i of P in some relation j (9). The words of
      section 3.1 compare the protection range instead, which would leave hardly a cell that is not in ``k_pl``.
    - ``k_s``: the protection range, or |a_p|, is larger than three times that sum.

    The candidates for protection (figure 4), all within E: ``k1`` = K_1 ∪ K_s, ``k3`` = K_1 ∪ E_p ∪ K_n, and
    ``k5`` = K_1 ∪ K_pl ∪ K_nv ∪ K_n. Every initially exposed cell is in ``k5``: in the relation that exposes it, cells not
    exposed so far still have the slack of their levels, so that K_1 or K_pl holds. That protecting ``k5`` protects all of P
    is the paper's experience and not proven; audit what comes out.
    """

    problem: Problem
    protection: str  # digest of what was attacked
    cell: NDArray[np.int64]
    exposed: BoolArray
    fully: BoolArray
    round: NDArray[np.int64]
    initially: BoolArray
    alone: BoolArray
    k_pl: BoolArray
    k_nv: BoolArray
    k_s: BoolArray
    assured_lower: FloatArray
    assured_upper: FloatArray

    def __repr__(self) -> str:
        what = "primaries" if len(self.cell) == len(self.problem.primaries) else "protected cells"
        found = f"{self.exposed.sum():,} of {len(self.cell):,} {what} exposed"
        return f"Exposure({found}, {self.unpicked.sum():,} by single relations)"

    @property
    def partially(self) -> BoolArray:
        return self.exposed & ~self.fully

    @property
    def unpicked(self) -> BoolArray:
        return np.asarray(self.round != NEVER_UNPICKED)

    @property
    def consequently(self) -> BoolArray:
        return self.unpicked & ~self.initially

    @property
    def together(self) -> BoolArray:
        return self.exposed & ~self.unpicked

    @property
    def k1(self) -> BoolArray:
        return (self.alone | self.k_s) & self.exposed

    @property
    def k3(self) -> BoolArray:
        return (self.alone | self.partially | self.together) & self.exposed

    @property
    def k5(self) -> BoolArray:
        return (self.alone | self.k_pl | self.k_nv | self.together) & self.exposed

    def labels(self, flag: str) -> list[str]:
        """The cells of one set, e.g. ``labels("fully")``."""
        return self.problem.table.labels(self.cell[getattr(self, flag)])

    def counts(self) -> dict[str, int]:
        """How many primaries there are, how many others are protected because they are suppressed, and how many in each set."""
        primaries = len(self.problem.primaries)
        counted = {"primaries": primaries, "conditional": len(self.cell) - primaries}
        return counted | {flag: int(getattr(self, flag).sum()) for flag in EXPOSURE_SETS}

    def frame(self) -> pd.DataFrame:
        """One row a protected cell: its label, the sets it is in, and the round of unpicking (empty if never)."""
        flags = {flag: getattr(self, flag) for flag in EXPOSURE_SETS}
        turn = pd.Series(self.round, dtype="Int64").where(self.unpicked)
        return pd.DataFrame({"cell": self.problem.table.labels(self.cell), **flags, "round": turn})


EXPOSURE_SETS = (
    "exposed",
    "fully",
    "partially",
    "unpicked",
    "initially",
    "consequently",
    "together",
    "alone",
    "k_pl",
    "k_nv",
    "k_s",
    "k1",
    "k3",
    "k5",
)


def exposure(
    problem: Problem,
    protection: Protection | None = None,
    *,
    checked: Audit | None = None,
    progress: Progress | None = None,
) -> Exposure:
    """How a reader gets at the protected cells: one relation at a time, or all relations together.

    Without ``protection`` only the primaries, and cells suppressed already, are suppressed. ``checked`` saves the linear
    programs if an exact audit of all protected cells is at hand.
    """
    if protection is None:
        protection = suppress(problem, np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED)))
    whom = problem.attackers()
    mine = np.zeros((len(whom), len(problem)), dtype=bool)
    for protected, attacker in zip(mine, whom, strict=True):
        protected[cells_to_protect(problem, protection, attacker)] = True
    exposed, fully = _by_all_relations(problem, protection, mine, checked, progress)
    views = [_view(problem, protection, attacker, protected) for attacker, protected in zip(whom, mine, strict=True)]
    turns = np.stack([view.round for view in views])
    first = np.where(turns == NEVER_UNPICKED, MAX_UNPICKING_ROUNDS, turns).min(axis=0)
    # Floats on the line itself may see it otherwise; the verdict is the audit's.
    turn = np.where(exposed & (first < MAX_UNPICKING_ROUNDS), first, NEVER_UNPICKED)
    p = np.flatnonzero(mine.any(axis=0))
    return Exposure(
        problem=problem,
        protection=protection.digest,
        cell=p,
        exposed=exposed[p],
        fully=fully[p],
        round=turn[p],
        initially=(_any([view.initially for view in views]) & (turn != NEVER_UNPICKED))[p],
        alone=_any([view.alone for view in views])[p],
        k_pl=_any([view.k_pl for view in views])[p],
        k_nv=_any([view.k_nv for view in views])[p],
        k_s=_any([view.k_s for view in views])[p],
        assured_lower=(problem.table.value - np.min([view.down for view in views], axis=0))[p],
        assured_upper=(problem.table.value + np.min([view.up for view in views], axis=0))[p],
    )


def _any(masks: Sequence[BoolArray]) -> BoolArray:
    return np.asarray(np.any(masks, axis=0))


def _by_all_relations(
    problem: Problem, protection: Protection, mine: BoolArray, checked: Audit | None, progress: Progress | None
) -> tuple[BoolArray, BoolArray]:
    """E and E_f, as masks over all cells; ``mine`` says which are protected, one row an attacker."""
    if checked is None:
        quick = audit(problem, protection, intervals=False, progress=progress)
        checked = audit(problem, protection, cells=np.unique(quick.cell[~quick.safe]), progress=progress)
    else:
        same = checked.protection == protection.digest and checked.exact
        known = checked.knowledge == tuple(attacker.digest for attacker in problem.attackers())
        if same and known:
            audited = np.zeros_like(mine)
            audited[checked.attacker, checked.cell] = True
        if not (same and known and np.all(audited | ~mine)):
            raise TableError("The audit is not an exact one of all protected cells under this protection. Audit again.")
    rows = np.flatnonzero(~checked.safe & mine[checked.attacker, checked.cell])
    cell = checked.cell[rows]
    needed = np.maximum(problem.table.magnitude[cell], checked.required[:, rows].max(axis=0))
    pinned = checked.upper[rows] - checked.lower[rows] <= 1e-9 * needed
    exposed, fully = np.zeros((2, len(problem)), dtype=bool)
    exposed[cell] = True
    fully[cell[pinned]] = True
    return exposed, fully


@dataclass(frozen=True, eq=False)
class _View:
    """What one attacker gets by looking at single relations; one entry a cell."""

    round: NDArray[np.int64]
    initially: BoolArray
    alone: BoolArray
    k_pl: BoolArray
    k_nv: BoolArray
    k_s: BoolArray
    down: FloatArray  # how far the others assure that the cell may move, if it is protected from this attacker
    up: FloatArray


def _view(problem: Problem, protection: Protection, attacker: Attacker, mine: BoolArray) -> _View:
    value = problem.table.value
    need = required_levels(problem, protection, attacker) * mine
    low, high = slacks(problem, protection, attacker)
    told = (problem.status == Status.PRIMARY) & (protection.lower == protection.upper)
    suppressed = np.flatnonzero(low < high)
    relations = sparse.csr_array(problem.table.relations[:, suppressed])

    turn = np.where(told | _short(low, high, need), 0, NEVER_UNPICKED)
    initially = turn == 0
    turn[suppressed] = _unpick(relations, low[suppressed], high[suppressed], need[:, suppressed], pass_on=True)
    initially[suppressed] = (
        _unpick(relations, low[suppressed], high[suppressed], need[:, suppressed], pass_on=False) != NEVER_UNPICKED
    )

    entries = relations.tocoo()
    row, cell, weight = entries.row, suppressed[entries.col], entries.data
    alone = np.zeros(len(value), dtype=bool)
    alone[cell[np.bincount(row, minlength=relations.shape[0])[row] == 1]] = True
    slack = np.minimum(need[:2], np.stack([-low, high]))
    down, up = _assured(row, cell, weight, slack, np.stack([-low, high]))
    # In units of the cell itself: what the other protected cells of a relation amount to, where that is least.
    amount = np.abs(weight) * (np.abs(value) * mine)[cell]
    others = np.full(len(value), np.inf)
    np.minimum.at(others, cell, (np.bincount(row, amount, relations.shape[0])[row] - amount) / np.abs(weight))
    reach = np.maximum(need[0] + need[1], need[2])
    return _View(
        round=turn,
        initially=initially,
        alone=alone & mine,
        k_pl=_short(-down, up, need) | told,
        k_nv=mine & (np.abs(value) + need.max(axis=0) > others),
        k_s=mine & (np.maximum(reach, np.abs(value)) > K_S_FACTOR * others),
        down=np.where(mine, down, np.inf),
        up=np.where(mine, up, np.inf),
    )


def _short(low: FloatArray, high: FloatArray, need: FloatArray) -> BoolArray:
    """Whether the slack between ``low`` and ``high`` is less than needed: down, up, or in all."""
    down, up, width = need * (1 - tolerances.LEVEL_TOLERANCE)
    return np.asarray((-low < down) | (high < up) | (high - low < width))


def _unpick(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, need: FloatArray, pass_on: bool
) -> NDArray[np.int64]:
    """The round in which bounds from single relations expose each cell.

    Without ``pass_on`` a cell that is exposed keeps the bounds it had before, so that nobody else is exposed through it.
    """
    turn = np.where(_short(low, high, need), 0, NEVER_UNPICKED)
    for this in range(1, MAX_UNPICKING_ROUNDS):
        new_low, new_high = propagate(relations, low, high, rounds=1)
        turn[(turn == NEVER_UNPICKED) & _short(new_low, new_high, need)] = this
        if not pass_on:
            new_low, new_high = np.where(turn == NEVER_UNPICKED, (new_low, new_high), (low, high))
        gained = (new_low > low * (1 - MIN_RELATIVE_GAIN)) | (new_high < high * (1 - MIN_RELATIVE_GAIN))
        low, high = new_low, new_high
        if not gained.any():
            break
    return turn


def _assured(
    row: NDArray[np.int64], cell: NDArray[np.int64], weight: FloatArray, slack: FloatArray, own: FloatArray
) -> FloatArray:
    """How far, down and up, each cell moves at most if in one relation all others keep to their ``slack``: (6) and (7)."""
    relations = int(row.max(initial=-1)) + 1
    size = np.abs(weight)
    # Others with the same sign must go the other way, those with the opposite sign the same way.
    giving = np.where(weight > 0, slack[:, cell], slack[::-1, cell]) * size
    sums = np.stack([np.bincount(row, side, relations)[row] for side in giving])
    others = np.maximum(sums - giving, 0.0) / size
    assured = own.copy()
    for side, opposite in enumerate((1, 0)):
        np.minimum.at(assured[side], cell, np.where(weight > 0, others[opposite], others[side]))
    return assured
