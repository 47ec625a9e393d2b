"""The tables of an output, tabulated and protected by one pattern."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from discreet.analysis.columns import Key, unused
from discreet.analysis.linking import pattern_beside, places, published
from discreet.analysis.measures import Measure, ProtectionOptions, RespondentColumns
from discreet.assess import assess
from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import DiscreetError, InputError, NotSafeError, some
from discreet.methods import protect
from discreet.problem import Problem
from discreet.protection import Protection, suppress
from discreet.release import publish
from discreet.rules import parse_rules

RECORDS = "records"  # the response of a table that counts records
ROUNDS = 20  # of making the patterns of several measures equal: each round suppresses more cells, and two are usual


def protected_measures(
    keys: Sequence[Key],
    counted: bool,
    values: Mapping[str, pd.Series],
    respondents: RespondentColumns,
    options: ProtectionOptions,
    earlier: Collection[Measure] = (),
) -> tuple[Measure, ...]:
    """The tables of an output, protected by one pattern: a cell is suppressed in all of them or in none.

    If a cell were suppressed in one of them only, readers could infer its count from its sum, for instance if values have known
    bounds. ``earlier`` holds tables of the same records that readers will have, too: this output is protected so that it is safe
    beside them, if that is possible.
    """
    options.check_method(counts_only=not values)
    tables = _tables(keys, counted, values, respondents, options)
    try:
        return _equally_protected(tables, options, earlier)
    except DiscreetError:
        if not earlier:
            raise
        return _equally_protected(tables, options, ())  # the verdict on the session says what they reveal together


def _equally_protected(
    tables: Sequence[Table], options: ProtectionOptions, earlier: Collection[Measure]
) -> tuple[Measure, ...]:
    """The tables with the same cells suppressed; those that an earlier table suppresses are among them."""
    closed = {place for measure in earlier for place, is_shown in published(measure).items() if not is_shown}
    named = zip(places(tables[0]), tables[0].labels(), strict=True)
    suppressed = {label: "suppressed" for place, label in named if place in closed}
    for _ in range(ROUNDS):
        problems = [assess(table, options.rules, statuses=suppressed) for table in tables]
        protections = [_protected(problem, options, earlier) for problem in problems]
        found = {
            label: "suppressed"
            for one in protections
            for label in one.problem.table.labels(np.flatnonzero(one.suppressed))
        }
        if len(tables) == 1 or found == suppressed:
            return tuple(_measure(one, options) for one in protections)
        suppressed = found
    raise NotSafeError("Not published: no pattern was found that protects counts and sums alike. Publish one of them.")


def _tables(
    keys: Sequence[Key],
    counted: bool,
    values: Mapping[str, pd.Series],
    respondents: RespondentColumns,
    options: ProtectionOptions,
) -> list[Table]:
    """The table of counts, if wanted, and one of sums for each column of values; each with all its totals."""
    respondents.check()
    by = {key.dimension: key.hierarchy() for key in keys}
    columns = {key.dimension: key.coded() for key in keys}
    if not len(next(iter(columns.values()))):
        raise InputError("There are no records: all have missing entries in the columns that are used.")
    for name, codes in ((key.dimension, key.codes.values()) for key in keys):
        unclear = [code for code in codes if LABEL_SEPARATOR in code or not code]
        if unclear:
            raise InputError(
                f"Codes of {name!r} are empty or contain {LABEL_SEPARATOR!r}: {some(unclear)}. Rename them."
            )

    def made(response: str | None, entries: pd.Series | None, **roles: pd.Series | None) -> Table:
        given: dict[str, pd.Series] = dict(columns)
        places: dict[str, str] = {}
        for role, column in {"response": entries, "weight": respondents.weight, **roles}.items():
            if column is not None:
                name = unused(response if role == "response" and response else f"({role})", _lower(given))
                places[role], given[name] = name, column
        frame = pd.DataFrame({name: column.array for name, column in given.items()})
        return tabulate(frame, by, **places, weights=options.weights, top=options.depth)  # type: ignore[arg-type]

    tables = [made(None, None, holding=respondents.counted)] if counted else []
    tables = [table.with_columns(response=unused(RECORDS, set(by))) for table in tables]
    for name, entries in values.items():
        tables.append(made(name, entries, contributor=respondents.contributor, holding=respondents.holding))
    return tables


def _lower(names: Iterable[str]) -> set[str]:
    return {name for name in names} | {name.lower() for name in names}


def _protected(problem: Problem, options: ProtectionOptions, earlier: Collection[Measure]) -> Protection:
    """The protection of a table, beside earlier ones of its response if there are any."""
    beside = [measure for measure in earlier if measure.table.response == problem.table.response]
    if beside:
        return suppress(problem, pattern_beside(problem, beside, options))
    return protect(problem, options.method, level=options.level, time_limit=options.time_limit, secret=options.secret)


def _measure(protection: Protection, options: ProtectionOptions) -> Measure:
    from discreet.jobs.job import audited  # not needed before: it imports reports and attacks

    problem = protection.problem
    checked, level, respondents = audited(problem, protection, options.level)
    release = publish(problem, protection, checked, respondents, symbol=options.symbol, level=options.level)
    return Measure(parse_rules(options.rules), problem, protection, checked, level, respondents, release)
