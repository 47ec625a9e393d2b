"""The primary cells of a table by the rules of ``<SAFETYRULE>``, and their protection levels.

Rules are tried in the order of τ-ARGUS: p% and dominance, request, frequency, zero. The first that a cell violates gives its
status and its levels; those of later rules do not count, even if they are larger. A level in percent of the variable by which
rules judge is the same percentage of the published value. No level is below one unit of the last decimal.

Sources: τ-ARGUS version 4.1, User's Manual, section 4.4.4, for the rules; its program for their order and for the smallest level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.argus.request import ArgusRequest, rules_of_request
from discreet.argus.views import Views
from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import Table
from discreet.errors import InputError
from discreet.io.argus.statuses import ArgusStatus
from discreet.rules import Dominance, Percent, PriorPosterior, Sensitivity

DEFAULT_MARGIN = 20.0  # percent, for cells that are unsafe by hand or by a status in a file


@dataclass(frozen=True, eq=False, repr=False)
class KnownVerdict:
    """A rule of the program's rules package whose verdict is known already."""

    text: str
    found: Sensitivity
    depth: int = 0

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        return self.found

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Primaries:
    """The status of each cell by rules, its levels, the rules that say so, and how many levels later rules would raise."""

    status: IntArray  # ArgusStatus
    lower: FloatArray
    upper: FloatArray
    rules: tuple[KnownVerdict, ...]
    margin: float  # percent, for cells that are unsafe by hand
    raised: int = 0


@dataclass(frozen=True)
class _Found:
    """Which cells a rule calls unsafe, its level as a share of the value by which it judges, and the smallest level."""

    text: str
    unsafe: BoolArray
    share: FloatArray
    least: FloatArray | float = 0.0


def primaries(request: ArgusRequest, views: Views) -> Primaries:
    """The primary cells by the rules of a table, or by the statuses in its file if it has no rules."""
    margin = (request.calls("MAN") or [(DEFAULT_MARGIN,)])[0][0]
    if not any(request.calls(name) for name in ("P", "NK", "FREQ", "ZERO", "REQ")):
        return _given(views, margin)
    _check(request)
    contributions = [*_percent_rules(request, views), *_dominance_rules(request, views)]
    groups = [
        (ArgusStatus.UNSAFE_RULE, contributions),
        (ArgusStatus.UNSAFE_REQUEST, _request_rules(request, views)),
        (ArgusStatus.UNSAFE_FREQUENCY, _frequency_rules(request, views)),
    ]
    value, n, not_zero = np.abs(views.table.value), len(views.table), views.table.magnitude > 0
    unit, of_zero = 10.0**-views.decimals, max((width for (width,) in request.calls("ZERO")), default=0.0)
    status = np.where(_stored(views), ArgusStatus.SAFE, ArgusStatus.EMPTY).astype(np.int64)
    lower, upper, later = np.zeros(n), np.zeros(n), np.zeros(n)
    verdicts = []
    for kind, rules in groups:
        fresh = status == ArgusStatus.SAFE
        for rule in rules:
            mine = fresh & rule.unsafe
            # Where all contributions are zero, the range for zeros applies, and nothing lies below.
            wanted = np.maximum(np.maximum(rule.share * value, rule.least), unit)
            level = np.where(mine, np.where(not_zero, wanted, of_zero), 0.0)
            down = np.where(not_zero, level, 0.0)
            verdicts.append(_verdict(rule.text, mine, down, level))
            lower, upper = np.maximum(lower, down), np.maximum(upper, level)
            status[mine] = kind
            later = np.maximum(later, np.where(rule.unsafe, np.maximum(rule.share * value, rule.least), 0.0))
    for (width,) in request.calls("ZERO"):
        zero = (status == ArgusStatus.SAFE) & (views.table.magnitude == 0)
        status[zero] = ArgusStatus.UNSAFE_ZERO
        level = np.where(zero, float(width), 0.0)
        upper = np.maximum(upper, level)
        verdicts.append(_verdict(f"ZERO({width:g})", zero, np.zeros(n), level))
    raised = int((later > upper * (1 + 1e-9)).sum())
    return Primaries(status, lower, upper, tuple(verdicts), margin, raised)


def _check(request: ArgusRequest) -> None:
    """Raise if a rule does not apply to the table."""
    if request.specify.counts and (wrong := [n for n in ("P", "NK", "ZERO", "REQ") if request.calls(n)]):
        raise InputError(f"{wrong[0]} does not apply to a table of counts: use FREQ.", wrong)


def _stored(views: Views) -> BoolArray:
    """Cells with records."""
    count = views.table.count
    return np.ones(len(views.table), dtype=bool) if count is None else np.asarray(count > 0)


def _verdict(text: str, unsafe: BoolArray, lower: FloatArray, upper: FloatArray) -> KnownVerdict:
    score = np.where(unsafe, np.maximum(upper, 1e-300), -1.0)
    return KnownVerdict(text, Sensitivity(score, unsafe, lower, upper, np.zeros(len(unsafe))))


def _share(level: FloatArray, cells: Table) -> FloatArray:
    """A level as a share of the values by which rules judge."""
    return np.divide(level, cells.magnitude, out=np.zeros(len(cells)), where=cells.magnitude > 0)


def _least(verdict: Sensitivity, views: Views) -> FloatArray | float:
    """The level in units of the response, unless rules judge by another variable.

    Where contributions are negative the value is smaller than what they amount to, and a share of it is too small a level.
    """
    return 0.0 if views.shadowed else verdict.upper


def _at(number: int, several: int = 2) -> bool:
    """Whether the rule of this place is one of holdings."""
    return number >= several


def _percent_rules(request: ArgusRequest, views: Views) -> list[_Found]:
    found = []
    for number, given in enumerate(request.calls("P")):
        p, q, coalition = _percent_parameters(given)
        if p == 0:
            continue
        rule = Percent(p, coalition) if q == 100 else PriorPosterior(p, q, coalition)
        cells = views.unit(_at(number))
        verdict = rule(cells)
        found.append(_Found(str(rule), verdict.sensitive, _share(verdict.upper, cells), _least(verdict, views)))
    return found


def _percent_parameters(given: Sequence[float]) -> tuple[float, float, int]:
    """p, q and the size of the coalition of ``P(p)``, ``P(p,n)`` or ``P(p,q,n)``."""
    if len(given) == 3:
        return given[0], given[1], int(given[2])
    return given[0], 100.0, int(given[1]) if len(given) > 1 else 1


def _dominance_rules(request: ArgusRequest, views: Views) -> list[_Found]:
    found = []
    for number, (n, k) in enumerate(request.calls("NK")):
        if n == 0 or k == 0:
            continue
        cells = views.unit(_at(number))
        verdict = Dominance(int(n), k)(cells)
        found.append(
            _Found(f"NK({n:g},{k:g})", verdict.sensitive, _share(verdict.upper, cells), _least(verdict, views))
        )
    return found


def _request_rules(request: ArgusRequest, views: Views) -> list[_Found]:
    """A cell with a large contribution of one who requested protection, or with such a one among few contributors.

    The manual has one percentage for each of the two codes of request. The margin is a share of the value.
    """
    found = []
    margins = [given[3] for given in request.calls("REQ")]
    for number, call in enumerate(request.calls("REQ")):
        held = _at(number, 1)
        if held not in views.requests:
            continue
        cells = views.requests[held]
        # With rules of holdings the larger margin applies to both.
        share = np.full(len(cells), max(margins) / 100)
        found += [_Found(str(rule), rule(cells).sensitive, share) for rule in rules_of_request(call)]
    return found


def _frequency_rules(request: ArgusRequest, views: Views) -> list[_Found]:
    found = []
    for number, (minimum, _range) in enumerate(request.calls("FREQ")):
        if minimum == 0:
            continue
        cells = views.unit(_at(number, 1))
        count = cells.weighted_count if views.weighted and cells.weighted_count is not None else cells.count
        if count is None:
            raise InputError("FREQ needs the number of contributors to each cell: a variable with <FREQUENCY>.")
        # With a rule of holdings the larger range applies to both, as in τ-ARGUS.
        share = max(given[1] for given in request.calls("FREQ") if given[0]) / 100
        unsafe = _stored(views) & (np.asarray(count) < minimum)
        found.append(_Found(f"FREQ({minimum:g})", unsafe, np.full(len(cells), share)))
    return found


def _given(views: Views, margin: float) -> Primaries:
    """The primary cells by the statuses in a file; without levels there, the margin applies."""
    n, given = len(views.table), views.given
    status = np.where(_stored(views), ArgusStatus.SAFE, ArgusStatus.EMPTY).astype(np.int64)
    if given is None:
        return Primaries(status, np.zeros(n), np.zeros(n), (), margin)
    status = np.where(given.status == ArgusStatus.EMPTY, status, given.status)
    unsafe = status == ArgusStatus.UNSAFE_MANUAL
    by_margin = margin / 100 * np.abs(views.table.value)
    # No level is below one unit; nothing lies below a zero.
    unit = np.where(views.table.magnitude > 0, 10.0**-views.decimals, 0.0)
    lower, upper = (
        np.where(unsafe, np.maximum(np.where(np.isnan(level), by_margin, level), unit), 0.0)
        for level in (given.lower, given.upper)
    )
    return Primaries(status, lower, upper, (_verdict("given statuses", unsafe, lower, upper),), margin)
