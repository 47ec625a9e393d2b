"""Assess a table: which cells are sensitive, their protection levels, and the cost of suppressing each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, FloatArray
from discreet.costs import cost_of
from discreet.data.link import RESPONSES
from discreet.data.spelling import name_key
from discreet.data.table import Table, digits_of
from discreet.errors import InputError, RuleError, placing, plural, some
from discreet.problem import Override, Problem, Status
from discreet.rules import Boundary, Rule, Sensitivity, combine, parse_rules

Label = str | Sequence[str]
Zeros = Literal["published", "suppressible"]
MissingCodes = Literal["judged", "safe"]
ManualStatus = str | tuple[str, str]  # a status, or a status and the reason for it

STATUS_OF_WORD = {
    "primary": Status.PRIMARY,
    "free": Status.FREE,
    "published": Status.PUBLISHED,
    "suppressed": Status.SUPPRESSED,
    "hidden": Status.SUPPRESSED,  # the former name, accepted in old files
}
MISSING_REASON = "a dimension has a code that means missing"
RELEASING_STATUSES = ("free", "published")  # they allow publication of a sensitive cell, so a reason is required


def assess(
    table: Table,
    rules: str | Rule | Iterable[str | Rule],
    *,
    cost: str | FloatArray = "value",
    boundary: Boundary = "strict",
    statuses: Mapping[str, ManualStatus] | Mapping[tuple[str, ...], ManualStatus] | None = None,
    margin: float = 20.0,
    waivers: Iterable[str | tuple[str, Label]] = (),
    prior: float | None = None,
    zeros: Zeros | None = None,
    missing_codes: MissingCodes = "judged",
    least_level: float = 0.0,
) -> Problem:
    """Apply rules to every cell. A cell is sensitive if any rule says so; its levels are the largest of all rules.

    ``statuses`` sets single cells by hand: ``primary``, ``free``, ``published`` or ``suppressed``. A cell that is ``primary`` by
    hand alone has levels of ``margin`` percent of its magnitude. A sensitive cell that is to be ``suppressed`` stays sensitive.
    To make it ``free`` or ``published`` requires a reason, as ``("published", "reason")``, and is recorded in
    ``Problem.overrides``; if it is free and a method suppresses it, the levels of the rules apply.

    ``waivers`` names respondents who consent to publication, everywhere or, as ``(respondent, cell)``, in one cell. With
    ``prior`` all readers know each value to within that percentage before publication. Without it, and always for cells that are
    zero, they know only that values are not negative; if the response has negative contributions, not even that.

    ``zeros`` applies to cells that are zero and not sensitive. ``"published"``: they stay published, so readers of a
    table of counts know that a suppressed cell is at least 1, and levels reach no lower. ``"suppressible"``: they may be
    suppressed to protect others, at the cost of the cheapest other cell; give cells that are zero by definition the status
    ``published``. By default zeros are published in tables of counts; in other tables if they have no contributors, or if the
    numbers of contributors are not known.

    With ``missing_codes="safe"`` sensitive cells with a code that means missing (:meth:`Hierarchy.with_missing`) are ``free``
    by decision, unless ``statuses`` says otherwise. No lower or upper level of a cell that needs protection is below
    ``least_level``, unless all its contributions are zero or prior bounds exclude it.
    """
    if not 0 <= least_level < np.inf:
        raise RuleError("least_level is a number in units of the response, 0 or more.")
    if missing_codes not in get_args(MissingCodes):
        raise InputError(f"missing_codes is {' or '.join(map(repr, get_args(MissingCodes)))}, not {missing_codes!r}.")
    if zeros not in (None, *get_args(Zeros)):
        raise InputError(f"zeros is {' or '.join(map(repr, get_args(Zeros)))}, not {zeros!r}.")
    if prior is not None and not 0 < prior <= 100:
        # The value is not repeated: it is the confidential q of the pq rule.
        raise RuleError("prior is a percentage above 0 and up to 100.")
    if not 0 <= margin < np.inf:
        raise RuleError(f"margin is a percentage of the magnitude, 0 or more, not {margin:g}.")
    if zeros == "suppressible" and table.n_empty:
        raise InputError(
            f"zeros='suppressible' needs all cells, but {table.n_empty:,} empty cells are not stored, and readers would know "
            "that those are zero. Tabulate with store_empty=True."
        )
    chosen = parse_rules(rules, boundary=boundary)
    waived = _waived(table, waivers)
    by_rule = [rule(table, waived) for rule in chosen]
    found = _combined(table, by_rule)
    fixed = _published_zeros(table, zeros)
    status = np.where(fixed, Status.PUBLISHED, Status.FREE).astype(np.int8)
    status[found.sensitive] = Status.PRIMARY
    lower, upper, sliding = found.lower.copy(), found.upper.copy(), found.sliding.copy()
    overrides: list[Override] = []
    must_suppress: list[str] = []
    by_hand: Counter[str] = Counter()
    decided: set[int] = set()

    def violated(i: int) -> tuple[str, ...]:
        return tuple(str(rule) for rule, seen in zip(chosen, by_rule, strict=True) if seen.sensitive[i])

    for label, given in (statuses or {}).items():
        with placing("statuses by hand"):
            i = table.index(label)
        if i in decided:
            raise InputError(f"Cell {table.label(i)!r} has two statuses by hand. Give one.", [table.label(i)])
        decided.add(i)
        word, reason = _manual_status(table.label(i), given)
        if found.sensitive[i] and word in RELEASING_STATUSES:
            status[i] = STATUS_OF_WORD[word]
            overrides.append(Override(table.label(i), violated(i), word, reason))
            continue
        by_hand[STATUS_OF_WORD[word].name.lower()] += 1
        if not found.sensitive[i]:
            status[i] = STATUS_OF_WORD[word]
            if status[i] == Status.PRIMARY:
                lower[i] = upper[i] = margin / 100 * table.magnitude[i]
        elif STATUS_OF_WORD[word] == Status.SUPPRESSED:
            must_suppress.append(table.label(i))
    _refuse_without_reason(overrides)
    if missing_codes == "safe":
        for i in np.flatnonzero(found.sensitive & table.has_missing_code).tolist():
            if i not in decided:
                status[i] = Status.FREE
                overrides.append(Override(table.label(i), violated(i), "free", MISSING_REASON))
    if table.behind is not None:
        status[table.behind] = Status.SUPPRESSED  # never published, without protection requirements
    needs = (status == Status.PRIMARY) | (found.sensitive & (status == Status.FREE))
    least = np.where(needs & (table.magnitude > 0) & ~_only_sliding(found), least_level, 0.0)
    lower, upper = np.maximum(lower, least), np.maximum(upper, least)
    prior_lower, prior_upper = _prior(table, prior)
    # Values beyond the prior bounds are known to be impossible, so no level reaches beyond them.
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
        smallest_value=np.where(prior_lower >= 0, _smallest(table, zeros, status), 0.0),
        overrides=tuple(overrides),
        must_suppress=tuple(must_suppress),
        by_hand=by_hand,
        waived=0 if waived is None else _spared(_combined(table, [rule(table, None) for rule in chosen]), found),
    )


def _smallest(table: Table, zeros: Zeros | None, status: NDArray[np.int8]) -> float:
    """The smallest value a suppressed cell can have if zeros are always published; 0 if it may be zero.

    It is 1 for a count, the smallest mean weight of a cell for a weighted count with known weights, and one unit of the last
    digit for other values.
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
    """Cells that are zero and are published unless they are sensitive."""
    zero = table.magnitude == 0
    if zeros == "suppressible":
        return np.zeros(len(table), dtype=bool)
    if zeros == "published" or table.is_count or table.count is None:
        return np.asarray(zero)
    return np.asarray(zero & (table.count == 0))


def _cost(table: Table, cost: str | FloatArray, suppressible: BoolArray) -> FloatArray:
    """The cost of each cell; a zero that may be suppressed costs as much as the cheapest other cell."""
    costs = cost_of(table, cost)
    if not isinstance(cost, str) or not np.any(costs > 0):
        return costs
    return np.where(suppressible & (table.magnitude == 0) & (costs == 0), costs[costs > 0].min(), costs)


def _combined(table: Table, by_rule: Sequence[Sensitivity]) -> Sensitivity:
    """The sensitivity by all rules together; without rules no cell is sensitive."""
    nothing = np.zeros(len(table))
    return combine([Sensitivity(nothing, nothing > 0, nothing, nothing, nothing), *by_rule])


def _spared(without_waivers: Sensitivity, found: Sensitivity) -> int:
    """The number of cells that need less protection, or none, because of waivers."""
    columns = ("sensitive", "lower", "upper", "sliding")
    less = [np.asarray(getattr(without_waivers, name)) > np.asarray(getattr(found, name)) for name in columns]
    return int(np.any(less, axis=0).sum())


def _only_sliding(found: Sensitivity) -> BoolArray:
    """Cells of which rules require the width of the audit interval only."""
    return np.asarray((found.sliding > 0) & (found.lower == 0) & (found.upper == 0))


def _manual_status(cell: str, given: ManualStatus) -> tuple[str, str]:
    """The status and its reason, which may be empty."""
    pair = (given, "") if isinstance(given, str) else given
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(entry, str) for entry in pair):
        raise InputError(f"Cell {cell!r}: a status by hand is a word, or a word and a reason.", [cell])
    word, reason = pair
    if word not in STATUS_OF_WORD:
        raise InputError(f"Cell {cell!r}: there is no status {word!r}. Choose from {some(list(STATUS_OF_WORD), 9)}.")
    return word, reason.strip()


def _refuse_without_reason(overrides: Sequence[Override]) -> None:
    unexplained = [one.cell for one in overrides if not one.reason]
    if unexplained:
        raise InputError(
            f"Sensitive cells are set to {' or '.join(map(repr, RELEASING_STATUSES))} without a reason: {some(unexplained)}. "
            "Give it in the column 'reason' of the statuses file, or in Python as (status, reason); to keep them out of the "
            "release, set them to 'suppressed' or leave them to the rules.",
            unexplained,
        )


def has_negative_contributions(table: Table) -> BoolArray:
    """Cells with a negative contribution, as far as their values and magnitudes show it."""
    return np.asarray((table.value < 0) | (table.magnitude > np.abs(table.value) * (1 + 1e-9)))


def _prior(table: Table, prior: float | None) -> tuple[FloatArray, FloatArray]:
    """Prior bounds of all readers: each value to within ``prior`` percent; without ``prior``, and for zeros, at least 0."""
    # If a response has negative contributions, readers know no lower bound of it. This is decided for each response of linked
    # tables: if profit is negative, turnover is still known to be at least 0.
    signed = has_negative_contributions(table)
    listed = "response" in table.dimensions and table.dimensions["response"].total == RESPONSES
    response = table.codes[list(table.dimensions).index("response")] if listed else np.zeros(len(table), dtype=np.int64)
    may_be_negative = np.bincount(response, signed, minlength=1)[response] > 0
    lower, upper = np.where(may_be_negative, -np.inf, 0.0), np.full(len(table), np.inf)
    if prior is None:
        return lower, upper
    unknown = table.magnitude == 0  # a percentage of zero would reveal the value
    if table.behind is not None and table.behind_drawn:  # their true values may be far from the drawn ones
        unknown |= table.behind
    error = prior / 100 * table.magnitude
    return np.where(unknown, lower, table.value - error), np.where(unknown, upper, table.value + error)


def _waived(table: Table, waivers: Iterable[str | tuple[str, Label]]) -> BoolArray | None:
    """Which of the largest contributions belong to respondents who consent to publication there."""
    listed = list(waivers)
    if not listed:
        return None
    if table.top_contributor is None or table.top is None:
        raise InputError(
            "Waivers need the names of contributors: tabulate with contributor=, or read a finished table with names."
        )
    index = {name: i for i, name in enumerate(table.contributors)}
    waived: BoolArray = np.zeros(table.top_contributor.shape, dtype=bool)
    pairs = [(waiver, None) if isinstance(waiver, str) else waiver for waiver in listed]
    _refuse_other_spellings([name for name, _ in pairs], index)
    for name, cell in pairs:
        with placing("waivers"):
            at = slice(None) if cell is None else table.index(cell)
        # -2 matches no contributor: respondents that are not among the largest are not targets.
        waived[at] |= table.top_contributor[at] == index.get(name, -2)
    return waived


def _refuse_other_spellings(waiving: Sequence[str], known: Mapping[str, int]) -> None:
    """Raise if a waiver names a respondent in another spelling than the records, as it would have no effect."""
    absent = [(number, name) for number, name in enumerate(waiving, start=1) if name not in known]
    keys = {name_key(name) for name in known} if absent else set()
    numbers = [number for number, name in absent if name_key(name) in keys]
    if numbers:
        raise InputError(
            f"{plural(len(numbers), 'waiver names', 'waivers name')} a respondent in another spelling than the records: blanks, "
            f"capitals or leading zeros differ. The first is waiver number {numbers[0]:,}. Write names as in the records; if "
            "several names were merged, write the first of them in the alphabet."
        )
