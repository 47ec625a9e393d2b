"""From a table to a problem: which cells are sensitive, how much protection they need, what hiding costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.costs import cost_of
from discreet.errors import InputError, RuleError, some
from discreet.link import RESPONSES
from discreet.problem import BoolArray, Problem, Status
from discreet.relations import FloatArray
from discreet.rules import Boundary, Rule, Sensitivity, combine, parse_rules
from discreet.table import Table

Label = str | Sequence[str]

WORDS = {
    "primary": Status.PRIMARY,
    "free": Status.FREE,
    "published": Status.PUBLISHED,
    "hidden": Status.HIDDEN,
}


def assess(
    table: Table,
    rules: str | Rule | Iterable[str | Rule],
    *,
    cost: str | FloatArray = "value",
    boundary: Boundary = "strict",
    statuses: Mapping[str, str] | Mapping[tuple[str, ...], str] | None = None,
    margin: float = 20.0,
    waivers: Iterable[str | tuple[str, Label]] = (),
    prior: float | None = None,
) -> Problem:
    """Apply rules to every cell; a cell is sensitive if any rule says so, and its levels are the largest.

    ``statuses`` overrides the rules for single cells: ``primary`` (with levels of ``margin`` percent of its magnitude unless a
    rule gave it some), ``free``, ``published`` or ``hidden``. ``waivers`` names respondents who consent to publication,
    everywhere or, as ``(respondent, cell)``, in one cell. ``prior`` is what everybody is said to know beforehand: nothing
    but the sign (``None``), or each contribution to within that many percent.

    Cells with value zero stay published unless sensitive: hiding a zero protects nobody who knows it is one.
    """
    if prior is not None and not 0 < prior <= 100:
        raise RuleError("prior is a percentage above 0 and up to 100.")  # not which: it is the q of the pq rule
    if not 0 <= margin < np.inf:
        raise RuleError(f"margin is a percentage of the value, not {margin:g}.")
    chosen = parse_rules(rules, boundary=boundary)
    waived = _waived(table, waivers)
    nothing = np.zeros(len(table))
    found = combine([Sensitivity(nothing, nothing > 0, nothing, nothing, nothing), *(r(table, waived) for r in chosen)])
    status = np.where(table.magnitude == 0, Status.PUBLISHED, Status.FREE).astype(np.int8)
    status[found.sensitive] = Status.PRIMARY
    lower, upper, sliding = found.lower.copy(), found.upper.copy(), found.sliding.copy()
    for label, word in (statuses or {}).items():
        i = table.index(label)
        if word not in WORDS:
            raise InputError(
                f"Cell {table.label(i)!r}: there is no status {word!r}. Choose from {some(list(WORDS), 9)}."
            )
        status[i] = WORDS[word]
        if status[i] == Status.PRIMARY and not found.sensitive[i]:
            lower[i] = upper[i] = margin / 100 * table.magnitude[i]
    if table.behind is not None:
        status[table.behind] = Status.HIDDEN  # never published, and nothing is required of them
    needs = status == Status.PRIMARY
    prior_lower, prior_upper = _prior(table, prior)
    # Nobody can be made to believe what they know to be impossible: no level reaches beyond the prior bounds.
    lower = np.where(needs, np.minimum(lower, table.value - prior_lower), 0.0)
    upper = np.where(needs, np.minimum(upper, prior_upper - table.value), 0.0)
    sliding = np.where(needs, np.minimum(sliding, prior_upper - prior_lower), 0.0)
    return Problem(
        table,
        status=status,
        cost=cost_of(table, cost),
        lower=lower,
        upper=upper,
        sliding=sliding,
        prior_lower=prior_lower,
        prior_upper=prior_upper,
        rules=tuple(str(rule) for rule in chosen),
        boundary=boundary,
    )


def _prior(table: Table, prior: float | None) -> tuple[FloatArray, FloatArray]:
    if prior is not None:
        room = prior / 100 * table.magnitude
        if table.behind is not None and table.behind_drawn:  # not the true values: nothing is known to be near them
            room = np.where(table.behind, np.inf, room)
            return np.where(table.behind, 0.0, table.value - room), table.value + room
        return table.value - room, table.value + room
    # Contributions of both signs: nobody knows even the sign of a cell. Otherwise everybody does. That turnover is never
    # negative is known also where it is linked to profit, which may be.
    signed = (table.value < 0) | (table.magnitude > np.abs(table.value) * (1 + 1e-9))
    listed = "response" in table.dimensions and table.dimensions["response"].total == RESPONSES
    response = table.codes[list(table.dimensions).index("response")] if listed else np.zeros(len(table), dtype=np.int64)
    either = np.bincount(response, signed, minlength=1)[response] > 0
    return np.where(either, -np.inf, 0.0), np.full(len(table), np.inf)


def _waived(table: Table, waivers: Iterable[str | tuple[str, Label]]) -> BoolArray | None:
    """Which of the largest contributions are made by somebody who consents to publication."""
    listed = list(waivers)
    if not listed:
        return None
    if table.who is None or table.top is None:
        raise InputError(
            "Waivers need to know who contributes: tabulate with contributor= (or a finished table with names)."
        )
    index = {name: i for i, name in enumerate(table.contributors)}
    waived: NDArray[np.bool_] = np.zeros(table.who.shape, dtype=bool)
    for waiver in listed:
        name, cell = (waiver, None) if isinstance(waiver, str) else waiver
        at = slice(None) if cell is None else table.index(cell)
        # Somebody who is nowhere among the largest contributors is no target anyway.
        waived[at] |= table.who[at] == index.get(name, -2)
    return waived
