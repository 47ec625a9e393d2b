"""From a table to a problem: which cells are sensitive, how much protection they need, what suppressing costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, FloatArray
from discreet.costs import cost_of
from discreet.data.link import RESPONSES
from discreet.data.table import Table, digits_of
from discreet.errors import InputError, RuleError, some
from discreet.problem import Override, Problem, Status
from discreet.rules import Boundary, Rule, Sensitivity, combine, parse_rules

Label = str | Sequence[str]
Zeros = Literal["published", "suppressible"]
ByHand = str | tuple[str, str]  # a status, or a status and the reason for it

WORDS = {
    "primary": Status.PRIMARY,
    "free": Status.FREE,
    "published": Status.PUBLISHED,
    "suppressed": Status.SUPPRESSED,
    "hidden": Status.SUPPRESSED,  # as it was called before
}
RELEASING = ("free", "published")  # of these a sensitive cell may be published, which takes a reason


def assess(
    table: Table,
    rules: str | Rule | Iterable[str | Rule],
    *,
    cost: str | FloatArray = "value",
    boundary: Boundary = "strict",
    statuses: Mapping[str, ByHand] | Mapping[tuple[str, ...], ByHand] | None = None,
    margin: float = 20.0,
    waivers: Iterable[str | tuple[str, Label]] = (),
    prior: float | None = None,
    zeros: Zeros | None = None,
) -> Problem:
    """Apply rules to every cell; a cell is sensitive if any rule says so, and its levels are the largest.

    ``statuses`` sets single cells by hand: ``primary`` (with levels of ``margin`` percent of its magnitude unless a rule gave
    it some), ``free``, ``published`` or ``suppressed``. A sensitive cell that is to be ``suppressed`` stays sensitive; to make it
    ``free`` or ``published`` takes a reason, as ``("published", "reason")``, and is recorded in ``Problem.overrides``. If a
    free one is suppressed after all, it keeps the protection that the rules require. ``waivers`` names respondents who consent
    to publication, everywhere or, as ``(respondent, cell)``, in one cell. ``prior`` is what everybody is said to know
    beforehand: nothing but the sign (``None``), or each value of the tables to within that many percent; of zeros the sign.

    ``zeros`` says what happens to cells that are zero and not sensitive. ``"published"``: they stay published, so readers of a
    table of counts know that a suppressed cell is at least 1, and levels end there. ``"suppressible"``: they may be
    suppressed to protect others, at the cost of the cheapest other cell; give those that are zero by definition the status
    ``published``. By default they are published in tables of counts; elsewhere those without contributors are.
    """
    if zeros not in (None, *get_args(Zeros)):
        raise InputError(f"zeros is {' or '.join(map(repr, get_args(Zeros)))}, not {zeros!r}.")
    if prior is not None and not 0 < prior <= 100:
        raise RuleError("prior is a percentage above 0 and up to 100.")  # not which: it is the q of the pq rule
    if not 0 <= margin < np.inf:
        raise RuleError(f"margin is a percentage of the value, not {margin:g}.")
    if zeros == "suppressible" and table.n_empty:
        raise InputError(
            f"zeros='suppressible' needs all cells, and {table.n_empty:,} empty ones are not stored: readers would know that "
            "those are zero. Tabulate with store_empty=True."
        )
    chosen = parse_rules(rules, boundary=boundary)
    waived = _waived(table, waivers)
    found = _judged(table, verdicts := [rule(table, waived) for rule in chosen])
    fixed = _published_zeros(table, zeros)
    status = np.where(fixed, Status.PUBLISHED, Status.FREE).astype(np.int8)
    status[found.sensitive] = Status.PRIMARY
    lower, upper, sliding = found.lower.copy(), found.upper.copy(), found.sliding.copy()
    overrides: list[Override] = []
    withheld: list[str] = []
    for label, given in (statuses or {}).items():
        i = table.index(label)
        word, reason = _by_hand(table.label(i), given)
        if not found.sensitive[i]:
            status[i] = WORDS[word]
            if status[i] == Status.PRIMARY:
                lower[i] = upper[i] = margin / 100 * table.magnitude[i]
        elif word in RELEASING:
            status[i] = WORDS[word]
            by = tuple(str(rule) for rule, seen in zip(chosen, verdicts, strict=True) if seen.sensitive[i])
            overrides.append(Override(table.label(i), by, word, reason))
        elif WORDS[word] == Status.SUPPRESSED:
            withheld.append(table.label(i))
    _refuse_without_reason(overrides)
    if table.behind is not None:
        status[table.behind] = Status.SUPPRESSED  # never published, and nothing is required of them
    needs = (status == Status.PRIMARY) | (found.sensitive & (status == Status.FREE))
    prior_lower, prior_upper = _prior(table, prior)
    # Nobody can be made to believe what they know to be impossible: no level reaches beyond the prior bounds.
    lower = np.where(needs, np.minimum(lower, table.value - prior_lower), 0.0)
    upper = np.where(needs, np.minimum(upper, prior_upper - table.value), 0.0)
    sliding = np.where(needs, np.minimum(sliding, prior_upper - prior_lower), 0.0)
    return Problem(
        table,
        status=status,
        cost=_cost(table, cost, ~fixed),
        lower=lower,
        upper=upper,
        sliding=sliding,
        prior_lower=prior_lower,
        prior_upper=prior_upper,
        rules=tuple(str(rule) for rule in chosen),
        boundary=boundary,
        smallest=np.where(prior_lower >= 0, _smallest(table, zeros, status), 0.0),
        overrides=tuple(overrides),
        withheld=tuple(withheld),
        waived=0 if waived is None else _spared(_judged(table, [rule(table, None) for rule in chosen]), found),
    )


def _smallest(table: Table, zeros: Zeros | None, status: NDArray[np.int8]) -> float:
    """The least that readers know a suppressed cell to be, where zeros are always published; 0 where it may be zero.

    A count is at least 1. Whoever knows weights knows that a weighted count is at least the smallest of them, as far as numbers
    of respondents tell. Other values are at least one unit of the last digit.
    """
    published = table.is_count or zeros == "published" or not table.counts_zeros
    listed = np.arange(len(table)) < table.n_listed
    if (
        zeros == "suppressible"
        or not published
        or np.any((table.magnitude == 0) & listed & (status != Status.PUBLISHED))
    ):
        return 0.0
    if table.is_count and table.weights is None:
        return 1.0
    if table.is_count and table.weights == "known" and table.weighted_count is not None and table.count is not None:
        there = listed & (table.count > 0)
        return float(np.min(table.weighted_count[there] / table.count[there], initial=np.inf)) if there.any() else 0.0
    digits = digits_of(table.value)
    return 0.0 if digits is None else 10.0**-digits


def _published_zeros(table: Table, zeros: Zeros | None) -> BoolArray:
    """Cells that are zero and stay published unless they are sensitive."""
    zero = table.magnitude == 0
    if zeros == "suppressible":
        return np.zeros(len(table), dtype=bool)
    if zeros == "published" or table.is_count or table.count is None:
        return np.asarray(zero)
    return np.asarray(zero & (table.count == 0))


def _cost(table: Table, cost: str | FloatArray, may_go: BoolArray) -> FloatArray:
    """The cost of each cell; a zero that may be suppressed costs as much as the cheapest other cell, not nothing."""
    costs = cost_of(table, cost)
    if not isinstance(cost, str) or not np.any(costs > 0):
        return costs
    return np.where(may_go & (table.magnitude == 0) & (costs == 0), costs[costs > 0].min(), costs)


def _judged(table: Table, verdicts: Sequence[Sensitivity]) -> Sensitivity:
    """All verdicts as one; nothing is sensitive without rules."""
    nothing = np.zeros(len(table))
    return combine([Sensitivity(nothing, nothing > 0, nothing, nothing, nothing), *verdicts])


def _spared(without: Sensitivity, found: Sensitivity) -> int:
    """How many cells waivers made less sensitive, or not sensitive at all."""
    judged = ("sensitive", "lower", "upper", "sliding")
    less = [np.asarray(getattr(without, name)) > np.asarray(getattr(found, name)) for name in judged]
    return int(np.any(less, axis=0).sum())


def _by_hand(cell: str, given: ByHand) -> tuple[str, str]:
    """The status and the reason for it, which may be empty."""
    pair = (given, "") if isinstance(given, str) else given
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise InputError(f"Cell {cell!r}: a status by hand is a word, or a word and a reason.", [cell])
    word, reason = pair
    if word not in WORDS:
        raise InputError(f"Cell {cell!r}: there is no status {word!r}. Choose from {some(list(WORDS), 9)}.")
    return word, reason.strip()


def _refuse_without_reason(overrides: Sequence[Override]) -> None:
    unexplained = [one.cell for one in overrides if not one.reason]
    if unexplained:
        raise InputError(
            f"Sensitive cells are set to {' or '.join(map(repr, RELEASING))} without a reason: {some(unexplained)}. Give it "
            "in the column 'reason' of the statuses file, or in Python as (status, reason); to keep them out of the "
            "release, set them to 'suppressed' or leave them to the rules.",
            unexplained,
        )


def _prior(table: Table, prior: float | None) -> tuple[FloatArray, FloatArray]:
    """What everybody is said to know: each value to within so many percent; of zeros, and without ``prior``, the sign alone."""
    # Contributions of both signs: nobody knows even the sign of a cell. Otherwise everybody does. That turnover is never
    # negative is known also where it is linked to profit, which may be.
    signed = (table.value < 0) | (table.magnitude > np.abs(table.value) * (1 + 1e-9))
    listed = "response" in table.dimensions and table.dimensions["response"].total == RESPONSES
    response = table.codes[list(table.dimensions).index("response")] if listed else np.zeros(len(table), dtype=np.int64)
    either = np.bincount(response, signed, minlength=1)[response] > 0
    lower, upper = np.where(either, -np.inf, 0.0), np.full(len(table), np.inf)
    if prior is None:
        return lower, upper
    unknown = table.magnitude == 0  # so many percent of zero would be the value itself
    if table.behind is not None and table.behind_drawn:  # not the true values: nothing is known to be near them
        unknown |= table.behind
    slack = prior / 100 * table.magnitude
    return np.where(unknown, lower, table.value - slack), np.where(unknown, upper, table.value + slack)


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
