"""Which protected cells are exposed, by which inference, and which of them need secondary suppressions.

The terms are those of Serpell, Smith, Clark and Staggemeier (2013), about inference from a table in which only the
primaries are suppressed. Their formulas are for nonnegative cells and weights of ±1; here they are extended to any bounds
and weights, to primaries that are totals, to suppressed cells that are not primaries, and to levels that differ from
attacker to attacker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.audit.audit import Audit
from discreet.audit.integer_audit import audit
from discreet.errors import TableError
from discreet.inference import tolerances
from discreet.inference.bound_propagation import propagate
from discreet.inference.requirements import cells_to_protect, published_primaries, required_levels, slacks
from discreet.problem import Problem, Status
from discreet.progress import Progress
from discreet.protection import Protection, suppress

NEVER_UNPICKED = -1
MAX_UNPICKING_ROUNDS = 1000  # later rounds tighten bounds too little to expose a cell
MIN_RELATIVE_GAIN = 1e-6  # smaller relative changes of a bound are rounding error
K_S_FACTOR = 3  # the factor in the definition of K_s by Serpell et al. (2013)


@dataclass(frozen=True, eq=False, repr=False)
class Exposure:
    """How each protected cell is exposed, one entry per cell; with several attackers, by any of them.

    Let P be the cells that must be protected: primaries, and free ones that are suppressed and have levels; ``M x = b`` the
    relations, and ``a`` the true values. Each cell requires slack: its lower level down, its upper level up, its sliding level
    in sum. Symbols and numbers in brackets are those of Serpell et al. (2013), sections 2 and 3.

    - ``exposed`` (E): the audit interval ``[min x_p, max x_p]``, by linear programming, does not give a cell the required
      slack (2, 3). E = E_f ∪ E_p: ``fully`` exposed cells are exactly computable, ``partially`` exposed ones are not.
    - ``unpicked`` (E_u): exposed by bounds that follow from one relation at a time, repeatedly. ``round`` is the number of
      repetitions: 0 if the prior bounds expose the cell or it is published, −1 if it is never unpicked.
    - ``initially`` (I_u): unpicked without the bounds that unpicking gives for other exposed cells; ``consequently``
      (C): the rest of E_u. The examples of the paper are those of the first round; a cell exposed in a later round belongs
      here too if only cells that are not exposed lead to it.
    - ``together`` (K_n = E ∖ E_u): exposed only by several relations at once.
    - ``alone`` (K_1): the only suppressed cell in one of its relations.
    - ``k_pl``: in some relation the other cells, each deviating by at most its own level, do not give the cell the required
      slack: the interval ``[assured_lower, assured_upper]`` of (6) and (7) is too narrow. Prior bounds that are tighter than
      the levels replace them. Suppressed cells that are not in P count as known, because nothing protects them.
    - ``k_nv``: |a_p| + level > Σ |M_ij| |a_i| / |M_pj| over the other cells i of P in some relation j (9). The text of
      section 3.1 compares the protection range instead; then hardly any cell would be in this set that is not in ``k_pl``.
    - ``k_s``: the protection range, or |a_p|, is larger than three times that sum.

    The candidates for protection (figure 4), all within E: ``k1`` = K_1 ∪ K_s, ``k3`` = K_1 ∪ E_p ∪ K_n, and
    ``k5`` = K_1 ∪ K_pl ∪ K_nv ∪ K_n. Every initially exposed cell is in ``k5``: in the relation that exposes it, the cells
    that are not exposed yet still have the slack of their levels, so the cell is in K_1 or K_pl. A protection of ``k5``
    need not protect all of P, although the paper expects it: audit the result.
    """

    problem: Problem
    protection: str  # digest of the protection
    cell: IntArray
    exposed: BoolArray
    fully: BoolArray
    round: IntArray
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
        """Labels of the cells in one set, e.g. ``labels("fully")``."""
        return self.problem.table.labels(self.cell[getattr(self, flag)])

    def counts(self) -> dict[str, int]:
        """The numbers of primaries, of other protected cells (those protected if suppressed), and of cells in each set."""
        primaries = len(self.problem.primaries)
        counted = {"primaries": primaries, "conditional": len(self.cell) - primaries}
        return counted | {flag: int(getattr(self, flag).sum()) for flag in EXPOSURE_SETS}

    def frame(self) -> pd.DataFrame:
        """One row per protected cell: its label, the sets it is in, and the round of unpicking (empty if never)."""
        flags = {flag: getattr(self, flag) for flag in EXPOSURE_SETS}
        rounds = pd.Series(self.round, dtype="Int64").where(self.unpicked)
        return pd.DataFrame({"cell": self.problem.table.labels(self.cell), **flags, "round": rounds})


EXPOSURE_SETS = (
    *("exposed", "fully", "partially", "unpicked", "initially", "consequently", "together", "alone"),
    *("k_pl", "k_nv", "k_s", "k1", "k3", "k5"),
)


def exposure(
    problem: Problem,
    protection: Protection | None = None,
    *,
    checked: Audit | None = None,
    progress: Progress | None = None,
) -> Exposure:
    """How the protected cells are exposed: by one relation at a time, or by all relations together.

    Without ``protection`` only primaries, and cells that were suppressed before, are suppressed. ``checked``, an exact audit
    of all protected cells, saves the linear programs.
    """
    if protection is None:
        protection = suppress(problem, np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED)))
    attackers = problem.attackers()
    protected = np.zeros((len(attackers), len(problem)), dtype=bool)  # one row per attacker
    for row, attacker in zip(protected, attackers, strict=True):
        row[cells_to_protect(problem, protection, attacker)] = True
    exposed, fully = _by_all_relations(problem, protection, protected, checked, progress)
    found = [
        _by_single_relations(problem, protection, attacker, row)
        for attacker, row in zip(attackers, protected, strict=True)
    ]
    rounds = np.stack([of_attacker for of_attacker, _, _ in found])
    first = np.where(rounds == NEVER_UNPICKED, MAX_UNPICKING_ROUNDS, rounds).min(axis=0)
    # Rounding error may contradict the audit if a level is just reached; the audit decides.
    round_ = np.where(exposed & (first < MAX_UNPICKING_ROUNDS), first, NEVER_UNPICKED)
    p = np.flatnonzero(protected.any(axis=0))
    flags = {flag: np.any([sets[flag] for _, sets, _ in found], axis=0)[p] for flag in found[0][1]}
    flags["initially"] &= round_[p] != NEVER_UNPICKED
    down, up = np.min([assured for _, _, assured in found], axis=0)
    return Exposure(
        problem=problem,
        protection=protection.digest,
        cell=p,
        exposed=exposed[p],
        fully=fully[p],
        round=round_[p],
        **flags,
        assured_lower=(problem.table.value - down)[p],
        assured_upper=(problem.table.value + up)[p],
    )


def _by_all_relations(
    problem: Problem, protection: Protection, protected: BoolArray, checked: Audit | None, progress: Progress | None
) -> tuple[BoolArray, BoolArray]:
    """E and E_f as masks of all cells, by linear programs."""
    if checked is None:
        quick = audit(problem, protection, intervals=False, whole=False, progress=progress)
        exposed_cells = np.unique(quick.cell[~quick.safe])
        checked = audit(problem, protection, cells=exposed_cells, whole=False, progress=progress)
    else:
        fits = checked.protection == protection.digest and checked.exact
        fits = fits and checked.knowledge == tuple(attacker.digest for attacker in problem.attackers())
        if fits:
            audited = np.zeros_like(protected)
            audited[checked.attacker, checked.cell] = True
        if not (fits and np.all(audited | ~protected)):
            raise TableError("The audit is not an exact one of all protected cells under this protection. Audit again.")
    rows = np.flatnonzero(~checked.safe & protected[checked.attacker, checked.cell])
    cell = checked.cell[rows]
    size = np.maximum(problem.table.magnitude[cell], checked.required[:, rows].max(axis=0))
    computable = checked.upper[rows] - checked.lower[rows] <= 1e-9 * size
    exposed, fully = np.zeros((2, len(problem)), dtype=bool)
    exposed[cell] = True
    fully[cell[computable]] = True
    return exposed, fully


def _by_single_relations(
    problem: Problem, protection: Protection, attacker: Attacker, protected: BoolArray
) -> tuple[IntArray, dict[str, BoolArray], FloatArray]:
    """What one attacker infers from single relations: the round, the sets and the assured deviations of each cell."""
    value = problem.table.value
    need = required_levels(problem, protection, attacker) * protected
    low, high = slacks(problem, protection, attacker)
    published = published_primaries(problem, protection)
    suppressed = np.flatnonzero(low < high)
    relations = sparse.csr_array(problem.table.relations[:, suppressed])

    round_ = np.where(published | _is_violated(low, high, need), 0, NEVER_UNPICKED)
    initially = round_ == 0
    of_suppressed = low[suppressed], high[suppressed], need[:, suppressed]
    round_[suppressed] = _unpick(relations, *of_suppressed, through_exposed=True)
    initially[suppressed] = _unpick(relations, *of_suppressed, through_exposed=False) != NEVER_UNPICKED

    entries = relations.tocoo()
    row, cell, weight = entries.row, suppressed[entries.col], entries.data
    alone = np.zeros(len(value), dtype=bool)
    alone[cell[np.bincount(row, minlength=relations.shape[0])[row] == 1]] = True
    assured = _assured(row, cell, weight, need[:2], np.stack([-low, high]))
    # The sum over the other protected cells of a relation, in units of the cell; the least of its relations.
    amount = np.abs(weight) * (np.abs(value) * protected)[cell]
    others = np.full(len(value), np.inf)
    np.minimum.at(others, cell, (np.bincount(row, amount, relations.shape[0])[row] - amount) / np.abs(weight))
    protection_range = np.maximum(need[0] + need[1], need[2])
    flags = {
        "initially": initially,
        "alone": alone & protected,
        "k_pl": _is_violated(-assured[0], assured[1], need) | published,
        "k_nv": protected & (np.abs(value) + need.max(axis=0) > others),
        "k_s": protected & (np.maximum(protection_range, np.abs(value)) > K_S_FACTOR * others),
    }
    return round_, flags, np.where(protected, assured, np.inf)


def _is_violated(low: FloatArray, high: FloatArray, need: FloatArray) -> BoolArray:
    """Whether the slack between ``low`` and ``high`` is less than needed: down, up, or in sum."""
    down, up, width = need * (1 - tolerances.LEVEL_TOLERANCE)
    return np.asarray((-low < down) | (high < up) | (high - low < width))


def _unpick(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, need: FloatArray, through_exposed: bool
) -> IntArray:
    """The round in which single relations expose each cell, with ``through_exposed`` also by the bounds of exposed cells."""
    rounds = np.where(_is_violated(low, high, need), 0, NEVER_UNPICKED)
    for number in range(1, MAX_UNPICKING_ROUNDS):
        new_low, new_high = propagate(relations, low, high, rounds=1)
        rounds[(rounds == NEVER_UNPICKED) & _is_violated(new_low, new_high, need)] = number
        if not through_exposed:  # exposed cells keep their earlier bounds
            new_low, new_high = np.where(rounds == NEVER_UNPICKED, (new_low, new_high), (low, high))
        gained = (new_low > low * (1 - MIN_RELATIVE_GAIN)) | (new_high < high * (1 - MIN_RELATIVE_GAIN))
        low, high = new_low, new_high
        if not gained.any():
            break
    return rounds


def _assured(
    row: IntArray, cell: IntArray, weight: FloatArray, levels: FloatArray, own_slack: FloatArray
) -> FloatArray:
    """The farthest deviation of each cell, down and up, if in one relation the others stay within levels: (6) and (7)."""
    relations = int(row.max(initial=-1)) + 1
    size, slack = np.abs(weight), np.minimum(levels, own_slack)
    # Cells with the same sign deviate in the opposite direction, those with the opposite sign in the same.
    terms = np.where(weight > 0, slack[:, cell], slack[::-1, cell]) * size
    sums = np.stack([np.bincount(row, side, relations)[row] for side in terms])
    others = np.maximum(sums - terms, 0.0) / size
    assured = own_slack.copy()
    for side, opposite in enumerate((1, 0)):
        np.minimum.at(assured[side], cell, np.where(weight > 0, others[opposite], others[side]))
    return assured
