"""Tabulation of microdata: all cells at all levels of the hierarchies.

Ibis expressions read and check the records, in DuckDB or in the backend of the caller; the module ``aggregate`` adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from typing import Any, TypeAlias, get_args

import ibis
import numpy as np
import pandas as pd

from discreet.data.aggregate import AggregationPlan, Ancestry, CellSums, Records, add_up, checked_units
from discreet.data.aggregate_engine import EngineRecords
from discreet.data.aggregate_memory import MAX_RECORDS_IN_MEMORY, Digits, MemoryRecords
from discreet.data.cell_names import MAX_SIMILAR_SOUGHT
from discreet.data.code_order import by_category, category_order
from discreet.data.columns import Columns
from discreet.data.contributions import named
from discreet.data.hierarchy import LABEL_SEPARATOR, Hierarchy, cell_label
from discreet.data.numerals import Expr
from discreet.data.opened_records import Fault, Kind, OpenedRecords, missing_code_advice
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.data.record_fields import EngineFields, Fields, MemoryFields
from discreet.data.records import as_text, open_records, recoded
from discreet.data.spelling import AS_WRITTEN, Names, Spelling, check_codes
from discreet.data.table import Table, Weights
from discreet.errors import HierarchyError, InputError, TableError, some

By: TypeAlias = str | Sequence[str] | Mapping[str, Hierarchy | None]

MAX_STORED_CELLS = 20_000_000  # with store_empty=: a table of more cells takes several gigabytes of memory
MAX_REQUEST_KINDS = 7  # bits of a small integer
DECIMAL_DIGITS = 38  # precision of the decimals in which contributions are added: the widest that all backends have


def tabulate(
    data: Any,
    by: By,
    response: str | None = None,
    *,
    contributor: str | None = None,
    holding: str | None = None,
    weight: str | None = None,
    weights: Weights = "known",
    top: int = 2,
    request: str | None = None,
    requests: Sequence[str] = (),
    extra: Sequence[str] = (),
    count_zeros: bool = True,
    unknown: str = "error",
    store_empty: bool = False,
    contributions: bool | None = None,
    recode: Mapping[str, Mapping[str, str]] | None = None,
    spelling: Mapping[str, Spelling] | None = None,
    names: Names | None = None,
    reading: Reading = DEFAULT_READING,
) -> Table:
    """The table of records: for each cell, totals included, the sum, the number of contributors and the largest contributions.

    ``data`` is a CSV, Excel or Parquet file, a pandas or polars data frame, a pyarrow table, or an Ibis table, which is processed
    by its own backend. ``by`` names the columns to classify by, each with a ``Hierarchy``, or ``None`` for a flat one over the
    codes that occur.

    Records with the same ``contributor`` are one contributor, and contributors with the same ``holding`` are one respondent. A
    record with neither is a contributor without a name. Without ``response`` the table counts contributors, or records if
    there is no ``contributor`` column.

    Values and ``extra`` sums are weighted. The contribution of a contributor to a cell is the sum of its records there. The
    ``top`` largest contributions to each cell are stored: weighted if ``weights`` are ``"known"``, because a reader can divide
    by a known weight, and as reported if they are ``"secret"``. A contributor has requested protection if the column ``request``
    marks one of its records, by any entry except 0 and false. If there are several kinds of requests, ``requests`` lists the
    entries that mark them: that of the first kind, that of the second kind … With ``count_zeros=False`` contributions of zero
    are neither counted nor stored.

    Codes that are not in their hierarchy raise an error; with ``unknown="drop"`` their records are left out.

    With ``contributions`` the table stores the contributions to base cells, which are needed to protect every single
    respondent: all of them for contributors in several base cells, and the ``top`` largest of each cell for others. The default
    is to store them if there is a ``response`` and contributors or holdings are named.

    ``recode`` gives for each column the codes to replace, and their replacements: the first step after ``spelling``.

    Codes of a column that differ only in blanks, capitals, leading zeros or characters that look alike are an error, unless its
    ``spelling`` says whether they are the same. ``names`` says so for contributors and holdings: ``"merged"`` (the same) or
    ``"exact"`` (different).

    ``reading`` states how a file is to be read where that does not follow from the file.
    """
    by, extra = [by] if isinstance(by, str) else by, [extra] if isinstance(extra, str) else extra
    requests = [requests] if isinstance(requests, str) else list(requests)
    _check_requests(request, requests)
    columns = Columns(tuple(by), response, weight, tuple(extra), contributor, holding, request)
    columns.check()
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InputError("top= is how many of the largest contributions to store: an integer of at least 1.")
    if unknown not in ("error", "drop"):
        raise InputError(f"unknown= is either 'error' or 'drop', not {unknown!r}.")
    if weights not in get_args(Weights):
        raise InputError(f"weights= is either 'known' or 'secret', not {weights!r}.")
    for option, given in (("recode", recode), ("spelling", spelling)):
        unused = [name for name in given or {} if name not in columns.by]
        if unused:
            raise InputError(f"{option}= is for the columns to classify by; {unused[0]!r} is not one of them.", unused)
    if names not in (None, *get_args(Names)):
        raise InputError(f"names= is either 'exact' or 'merged', not {names!r}.")
    local, spelling, recode = not isinstance(data, ibis.Table), spelling or {}, recode or {}
    with open_records(data, columns, reading) as opened:
        rows = _with_codes(opened.rows, columns, spelling)
        respelled = _respelled(rows, spelling)
        source = recoded(recoded(rows, respelled), recode)
        fields: Fields = EngineFields.of(source, columns, opened, requests, local=local)
        if local and opened.records <= MAX_RECORDS_IN_MEMORY:
            fields = MemoryFields(fields.rows.to_pyarrow(), opened.engine)
        survey = fields.survey(columns)
        if not len(survey):
            raise InputError("There are no records to tabulate.")
        orders = {name: category_order(data, name) for name in columns.by}
        dimensions = _dimensions(by, columns, survey, orders)
        for d, (name, hierarchy) in enumerate(dimensions.items()):
            # The most frequent spelling is proposed for the others.
            observed = survey.groupby(f"d{d}").records.sum().sort_values(ascending=False, kind="stable").index.tolist()
            is_listed = isinstance(by, Mapping) and by[name] is not None
            listed = hierarchy if is_listed else Hierarchy.flat([], hierarchy.total)
            check_codes(name, observed, listed, spelling.get(name, AS_WRITTEN), recode.get(name, {}), listed.total)
        read = int(survey.records.sum())
        survey = _known_codes(survey, dimensions, unknown, opened)
        provenance = {
            "records_left_out": read - int(survey.records.sum()),
            "codes_replaced": sum(map(len, (*respelled.values(), *recode.values()))),
            "no_value_left_out": opened.left_out,
            "no_value_zero": opened.zeros,
        }
        _check_numbers(survey, columns, opened)
        if names != "exact":
            named = {"unit": contributor, "holding": holding}
            fields = fields.with_one_spelling(
                {field: name for field, name in named.items() if name and source[name].type().is_string()}, names
            )
        ancestries = [Ancestry.of(name, h, survey[f"d{d}"].unique()) for d, (name, h) in enumerate(dimensions.items())]
        signed = response is not None and bool(survey["negative0"].any())
        if contributions is None:
            contributions = response is not None and (contributor is not None or holding is not None)
        plan = AggregationPlan(
            columns, ancestries, top, count_zeros, signed, contributions, weights, provenance, max(len(requests), 1)
        )
        records = _records(fields.rows, survey, plan, local=local)
        if contributor is not None:
            records = checked_units(records, plan)
        found = add_up(records, plan)
    return _table(dimensions, plan, found, store_empty)


def _check_requests(request: str | None, requests: Sequence[str]) -> None:
    if requests and request is None:
        raise InputError("requests= lists entries of the column request=: give both.")
    wrong = [entry for entry in requests if not isinstance(entry, str) or not entry.strip()]
    if wrong or len(set(requests)) < len(requests) or len(requests) > MAX_REQUEST_KINDS:
        raise InputError(f"requests= lists different entries, as texts: {MAX_REQUEST_KINDS} at most.", wrong)


# -- checks ---------------------------------------------------------------------------------------------------


def _with_codes(rows: Expr, columns: Columns, spelling: Mapping[str, Spelling]) -> Expr:
    """The records with the codes that settings give to those that have none.

    A record without a code in any of several dimensions gets none: it is likely to be one of totals.
    """
    given = {name: code for name in columns.by if (code := spelling.get(name, AS_WRITTEN).no_code) is not None}
    if not given:
        return rows
    texts = {name: as_text(rows[name]) for name in columns.by}
    has_code = reduce(lambda one, other: one | other, (text.notnull() for text in texts.values()))
    alone = ibis.literal(len(texts) == 1)
    return rows.mutate(
        **{
            name: ibis.ifelse(has_code | alone, ibis.coalesce(texts[name], ibis.literal(code)), texts[name])
            for name, code in given.items()
        }
    )


def _respelled(source: Expr, spelling: Mapping[str, Spelling]) -> dict[str, dict[str, str]]:
    """By column the codes of the records that its settings replace."""
    respelled = {}
    for name, given in spelling.items():
        if given != AS_WRITTEN:
            respelled[name] = given.recode(
                source.select(code=as_text(source[name])).distinct().to_pandas().code.dropna()
            )
    return respelled


def _dimensions(
    by: By, columns: Columns, survey: pd.DataFrame, orders: Mapping[str, Sequence[str] | None]
) -> dict[str, Hierarchy]:
    dimensions = {}
    for d, name in enumerate(columns.by):
        hierarchy = by[name] if isinstance(by, Mapping) else None
        if hierarchy is None:
            codes = by_category(sorted(survey[f"d{d}"].dropna().unique()), orders[name])
            if "Total" in codes:
                advice = "Leave totals out of the records; if it is not a total, pass Hierarchy.flat(codes, total=...)."
                raise HierarchyError(f"Column {name!r} holds the code 'Total'. {advice}", ["Total"])
            hierarchy = Hierarchy.flat(codes)
        elif not isinstance(hierarchy, Hierarchy):
            raise InputError(f"Column {name!r} needs a Hierarchy, or None for a flat one.")
        dimensions[name] = hierarchy
    return dimensions


def _known_codes(
    survey: pd.DataFrame, dimensions: Mapping[str, Hierarchy], unknown: str, opened: OpenedRecords
) -> pd.DataFrame:
    """The survey without the records to drop; raises for codes that are missing, unknown or not at the finest level."""
    nowhere = survey[[f"d{d}" for d in range(len(dimensions))]].isna().all(axis=1)
    for d, (name, hierarchy) in enumerate(dimensions.items()):
        column = survey[f"d{d}"]
        if column.isna().any():
            n, records = int(survey.records[column.isna()].sum()), int(survey.records.sum())
            if len(dimensions) > 1 and (column.isna() == nowhere).all():
                advice = ", as these seem to be, or fill in their codes."
                raise opened.without_entry(list(dimensions), n, records, "code", advice)
            raise opened.without_entry([name], n, records, "code", missing_code_advice(name))
        outside = ~column.isin(hierarchy.codes)
        if outside.any() and unknown == "error":
            codes = sorted(column[outside].unique())
            similar = get_close_matches(codes[0], hierarchy.codes[:MAX_SIMILAR_SOUGHT], n=1)
            hint = f" Did you mean {similar[0]!r} for {codes[0]!r}?" if similar else ""
            raise HierarchyError(
                f"{len(codes)} codes in column {name!r} are not in the hierarchy of {hierarchy.total!r}, e.g. "
                f"{some(codes)}.{hint} Add them to the hierarchy, or state with merge which codes they are.",
                codes,
            )
        group = column.isin(np.array(hierarchy.codes)[~hierarchy.is_leaf])
        if group.any():
            n, codes = int(survey.records[group].sum()), sorted(column[group].unique())
            raise HierarchyError(
                f"{n:,} records are coded in column {name!r} at groups of the hierarchy, "
                f"e.g. {some(codes)}. Code them at the finest level, or add a code for them below such groups.",
                codes,
            )
        survey = survey[~outside]
    if not len(survey):
        raise InputError("There are no records to tabulate: none has codes that are in all hierarchies.")
    return survey


def _check_numbers(survey: pd.DataFrame, columns: Columns, opened: OpenedRecords) -> None:
    """Raise one error for all faults of all columns of numbers."""

    def n_and_cell(fault: str) -> tuple[int, str]:
        bad = survey[survey[fault] > 0]
        cell = LABEL_SEPARATOR.join(bad.iloc[0][f"d{d}"] for d in range(len(columns.by))) if len(bad) else ""
        return int(bad[fault].sum()), cell

    kinds: tuple[Kind, ...] = ("text", "missing", "infinite", "negative")
    faults = [
        Fault(kind, name, n, cell)
        for i, name in enumerate(columns.numbers)
        for kind in kinds
        for n, cell in [n_and_cell(f"{kind}{i}")]
        if n and (kind != "negative" or name == columns.weight)
    ]
    opened.refuse(faults, int(survey.records.sum()))
    if columns.contributor is not None and survey.nameless.any():
        n, cell = n_and_cell("nameless")
        advice = f". Fill in the contributors of others, such as one in cell {cell!r}, or leave these records out."
        raise opened.without_entry([columns.contributor], n, int(survey.records.sum()), "contributor", advice)


# -- aggregation ----------------------------------------------------------------------------------------------


def _records(fields: Expr, survey: pd.DataFrame, plan: AggregationPlan, local: bool) -> Records:
    """The codes of each record, its respondent, and its numbers as decimals; see :class:`AggregationPlan`.

    ``local`` is true for records in a file or in memory, and false for those in a database of the caller.
    """
    columns, records = plan.columns, int(survey.records.sum())
    numbers = {name: fields[f"n{i}"] for i, name in enumerate(columns.numbers)}
    sizes = {name: float(survey[f"largest{i}"].max()) for i, name in enumerate(columns.numbers)}
    digits: dict[str, Digits] = {}

    def as_decimal(field: str, name: str | None, weight: str | None) -> Expr:
        """A column, multiplied by the weight, as decimals; without a column 1 for each record."""
        number, largest = (numbers[name], sizes[name]) if name else (ibis.literal(1.0), 1.0)
        if weight:
            number, largest = number * numbers[weight], largest * sizes[weight]
        # At least nine decimal places, and fifteen digits of the largest number; fewer if sums need many digits.
        integer_digits = math.ceil(math.log10(largest)) if largest else 0
        sum_digits = max(integer_digits + math.ceil(math.log10(records)), 0)
        available = DECIMAL_DIGITS - 1 - sum_digits
        places = min(max(9, 15 - integer_digits), available)
        digits[field] = Digits(sum_digits, places)
        if available < 6 or integer_digits + places < 6:
            raise InputError(f"The numbers in column {name or weight!r} are too large or too small. Change the unit.")
        valid = ibis.ifelse(number.abs() <= largest, number, ibis.null("float64"))  # dropped records may be larger
        return valid.cast(f"decimal({DECIMAL_DIGITS}, {places})")

    # Readers can divide by known weights, so that the weighted contribution is the value to protect.
    contribution_weight = columns.weight if plan.weights == "known" else None
    # The contribution, the value and the weight of each record.
    decimals = {
        "x": as_decimal("x", columns.response, contribution_weight),
        "v": as_decimal("v", columns.response, columns.weight),
        "w": as_decimal("w", columns.weight, None),
    }
    decimals |= {f"e{i}": as_decimal(f"e{i}", name, columns.weight) for i, name in enumerate(columns.extra)}
    encoded = fields.select(
        *(f"d{d}" for d in range(len(columns.by))),
        *plan.requests,
        **decimals,
        unit=fields.unit,
        # A holding and a contributor may have the same id: a respondent is identified by the id and whether it is a holding.
        name=ibis.coalesce(fields.holding, fields.unit),
        held=ibis.ifelse(fields.holding.notnull(), 1, 0),
    )
    in_memory = MemoryRecords.of(encoded, digits, plan) if local and records <= MAX_RECORDS_IN_MEMORY else None
    return EngineRecords.of(encoded, plan) if in_memory is None else in_memory


def _table(dimensions: Mapping[str, Hierarchy], plan: AggregationPlan, found: CellSums, store_empty: bool) -> Table:
    cells, entries, names = found.cells, found.entries, found.names
    codes, place = cells[plan.codes].to_numpy().T, np.arange(len(cells))
    if store_empty:
        shape = tuple(len(hierarchy) for hierarchy in dimensions.values())
        if math.prod(shape) > MAX_STORED_CELLS:
            raise TableError(
                f"With its empty cells the table has {math.prod(shape):,} cells, more than {MAX_STORED_CELLS:,}. "
                "Leave store_empty= out: cells that are not stored count as zeros."
            )
        place = np.ravel_multi_index(tuple(codes), shape)
        codes = np.indices(shape, dtype=np.int32).reshape(len(shape), -1)

    def column(name: str, kind: type = float) -> Any:
        full = np.zeros(codes.shape[1], dtype=kind)
        full[place] = cells[name]
        return full

    # A holding is named by its id; if a contributor has the same id, with the word holding after it.
    both = names.name.duplicated(keep=False) & (names.held > 0)
    names = names.assign(name=names.name.where(~both, names.name + " (holding)")).sort_values("name", ignore_index=True)
    places = cells[plan.codes].assign(place=place)
    entries = entries.merge(places, on=plan.codes)
    respondents = names.set_index("id").assign(index=names.index.to_numpy())
    at = (entries.place.to_numpy(), entries["rank"].to_numpy())
    top, top_contributor = np.zeros((codes.shape[1], plan.top)), np.full((codes.shape[1], plan.top), -1)
    top[at] = entries.x
    top_contributor[at] = respondents["index"].reindex(entries.id, fill_value=-1)
    requested = np.zeros(top.shape, dtype=np.int8)
    for kind, name in enumerate(plan.requests):
        asked = respondents[name].reindex(entries.id).eq(True).to_numpy() | entries[name].to_numpy(bool)
        requested[at] |= np.where(asked, 1 << kind, 0).astype(np.int8)
    contributions = None
    if plan.contributions:
        leaves = found.leaves[found.leaves.x != 0].merge(places, on=plan.codes)

        def label(cell: int) -> str:
            return cell_label(dimensions.values(), codes[:, cell])

        contributor = respondents["index"].reindex(leaves.id, fill_value=-1).to_numpy(np.int64)
        amount = np.abs(leaves.x.to_numpy())
        contributions = named(leaves.place.to_numpy(), contributor, amount, tuple(names.name), label)
    return Table.from_cells(
        dimensions,
        codes,
        column("v"),
        response=plan.columns.response or "count",
        count=column("count", int),
        magnitude=column("magnitude") if plan.signed else None,
        top=top,
        top_contributor=top_contributor,
        contributors=tuple(names.name),
        requested=requested if plan.columns.request else None,
        extra={name: column(f"e{i}") for i, name in enumerate(plan.columns.extra)},
        is_count=plan.columns.response is None,
        contributions=contributions,
        weighted_count=column("weighted") if plan.columns.weight else None,
        weights=plan.weights if plan.columns.weight else None,
        counts_zeros=plan.count_zeros,
        provenance=plan.provenance,
    )
