"""From microdata to a table: records in, every cell at every level of the hierarchies out.

Work on the records is written once, as Ibis expressions: DuckDB runs them unless the caller brings another backend.
Three observations keep it fast and lean:

* Who stays within one leaf cell stays whole in every total above it. For these contributors, usually most, leaf cells
  are condensed to sums, a count and the largest contributions, and only those are carried up.
* Who occurs in several leaf cells is added up anew for the cells of every level, a few levels at a time.
* Contributions are added as decimals, not as floats. The order in which a parallel engine meets the records then does
  not show in the results, and contributions that cancel or tie do so exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, get_args

import ibis
import numpy as np
import pandas as pd
from ibis import _
from scipy import sparse

from discreet.contributions import named
from discreet.errors import HierarchyError, InputError, TableError, some
from discreet.hierarchy import ABSENT, Hierarchy
from discreet.microdata import Columns, Expr, as_number, as_text, is_marked, opened, recoded
from discreet.relations import additive
from discreet.table import BETWEEN, Table, Weights

By: TypeAlias = str | Sequence[str] | Mapping[str, Hierarchy | None]

MOST_EMPTY_CELLS = 20_000_000
ROWS_AT_ONCE = (
    2_000_000  # (cell, contributor) rows to aim at when levels are added up: more is neither faster nor leaner
)
DIGITS = 38  # of the decimals that contributions are added as: the widest that all backends have


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
    extra: Sequence[str] = (),
    count_zeros: bool = True,
    unknown: str = "error",
    store_empty: bool = False,
    contributions: bool | None = None,
    recode: Mapping[str, Mapping[str, str]] | None = None,
) -> Table:
    """Add up microdata to a table with all its totals, and per cell the contributors and the largest of them.

    ``data`` is a CSV or Parquet file, a pandas or polars data frame, a pyarrow table, or an Ibis table, which is
    worked on where it is. ``by`` names the columns to classify by, each with a ``Hierarchy``, or ``None`` for a flat
    one over the codes that occur.

    Records with the same ``contributor`` are one contributor, and so are contributors with the same ``holding``;
    records with neither stand for themselves and stay nameless. Without ``response`` the table counts contributors, or
    records where there is no ``contributor`` column.

    Values and ``extra`` sums are weighted. So are the ``top`` largest contributions, net of all records in the cell, where
    ``weights`` are ``"known"``: who knows a weight divides by it. Where they are ``"secret"``, contributions are what
    respondents reported. ``request`` marks contributors who asked for protection; one marked record is enough. With
    ``count_zeros=False`` contributors whose net contribution to a cell is zero are left out of its count and its largest.

    Codes that are not in their hierarchy are an error, or with ``unknown="drop"`` their records are left out.

    With ``contributions`` the table also keeps who contributes what to its finest cells: all of it where a contributor is in
    several of them, otherwise the ``top`` largest of each cell. That is what it takes to protect every single respondent. By
    default it does so for a ``response`` whose contributors or holdings are named.

    ``recode`` says, by column, which codes of the records are replaced by which others before anything else is done.
    """
    by, extra = [by] if isinstance(by, str) else by, [extra] if isinstance(extra, str) else extra
    columns = Columns(tuple(by), response, weight, tuple(extra), contributor, holding, request)
    columns.check()
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InputError("top= is how many of the largest contributions to keep: a whole number from 1 up.")
    if unknown not in ("error", "drop"):
        raise InputError(f"unknown= is either 'error' or 'drop', not {unknown!r}.")
    if weights not in get_args(Weights):
        raise InputError(f"weights= is either 'known' or 'secret', not {weights!r}.")
    strange = [name for name in recode or {} if name not in columns.by]
    if strange:
        raise InputError(f"recode= is for the columns to classify by; {strange[0]!r} is none.", strange)
    with opened(data, columns) as given:
        source = recoded(given, recode or {})
        survey = _survey(source, columns)
        dimensions = _dimensions(by, columns, survey)
        read = int(survey.records.sum())
        survey = _known_codes(survey, dimensions, unknown)
        dropped = read - int(survey.records.sum())
        _check_numbers(survey, columns)
        climbs = [_Climb.of(name, h, survey[f"d{d}"].unique()) for d, (name, h) in enumerate(dimensions.items())]
        signed = response is not None and bool(survey["negative0"].any())
        if contributions is None:
            contributions = response is not None and (contributor is not None or holding is not None)
        plan = _Plan(columns, climbs, top, count_zeros, signed, contributions, weights, dropped)
        records = _records(source, survey, plan)
        if contributor is not None:
            records = _units(records, plan)
        found = _add_up(records, plan)
    return _table(dimensions, plan, found, store_empty)


# -- checking them ---------------------------------------------------------------------------------------------


def _survey(source: Expr, columns: Columns) -> pd.DataFrame:
    """One line per combination of codes: how many records, what is wrong with them, and how large their numbers are."""
    rows: dict[str, Expr] = {f"d{d}": as_text(source[name]) for d, name in enumerate(columns.by)}
    found: dict[str, Expr] = {"records": _.count()}
    for i, name in enumerate(columns.numbers):
        kind, x = source[name].type(), _[f"n{i}"]
        if not (kind.is_numeric() or kind.is_string() or kind.is_boolean()):
            raise InputError(f"Column {name!r} holds {kind}, not numbers. Convert it or choose another column.", [name])
        rows[f"n{i}"] = as_number(source[name])
        rows[f"given{i}"] = source[name].nullif("").notnull() if kind.is_string() else source[name].notnull()
        infinite = (x.isnan() | x.isinf()).fill_null(False)
        found[f"missing{i}"] = (~_[f"given{i}"]).sum()
        found[f"text{i}"] = (x.isnull() & _[f"given{i}"]).sum()
        found[f"infinite{i}"] = infinite.sum()
        found[f"negative{i}"] = (x < 0).sum()
        found[f"largest{i}"] = x.abs().max(where=~infinite)
    if columns.contributor is not None:
        rows["unit"] = as_text(source[columns.contributor])
        found["nameless"] = _.unit.isnull().sum()
    by = [f"d{d}" for d in range(len(columns.by))]
    survey = source.select(**rows).group_by(by).agg(**found).to_pandas()
    if not len(survey):
        raise InputError("There are no records to tabulate.")
    return survey.fillna(dict.fromkeys(found, 0)).sort_values(by, ignore_index=True)


def _dimensions(by: By, columns: Columns, survey: pd.DataFrame) -> dict[str, Hierarchy]:
    dimensions = {}
    for d, name in enumerate(columns.by):
        hierarchy = by[name] if isinstance(by, Mapping) else None
        if hierarchy is None:
            codes = sorted(survey[f"d{d}"].dropna().unique())
            if "Total" in codes:
                advice = "Leave totals out of the records; if it is none, pass Hierarchy.flat(codes, total=...)."
                raise HierarchyError(f"Column {name!r} holds the code 'Total'. {advice}", ["Total"])
            hierarchy = Hierarchy.flat(codes)
        elif not isinstance(hierarchy, Hierarchy):
            raise InputError(f"Column {name!r} needs a Hierarchy, or None for a flat one.")
        dimensions[name] = hierarchy
    return dimensions


def _known_codes(survey: pd.DataFrame, dimensions: Mapping[str, Hierarchy], unknown: str) -> pd.DataFrame:
    """The survey without records to leave out; raises for codes that have no place."""
    for d, (name, hierarchy) in enumerate(dimensions.items()):
        column = survey[f"d{d}"]
        if column.isna().any():
            n = int(survey.records[column.isna()].sum())
            raise InputError(f"{n:,} records have no code in column {name!r}. Fill it in, or leave them out.", [name])
        strange = ~column.isin(hierarchy.codes)
        if strange.any() and unknown == "error":
            codes = sorted(column[strange].unique())
            raise HierarchyError(
                f"{len(codes)} codes in column {name!r} are not in the hierarchy of {hierarchy.total!r}, e.g. "
                f"{some(codes)}. Add them to the hierarchy, or pass unknown='drop' to leave their records out.",
                codes,
            )
        group = column.isin(np.array(hierarchy.codes)[~hierarchy.is_leaf])
        if group.any():
            n, codes = int(survey.records[group].sum()), sorted(column[group].unique())
            raise HierarchyError(
                f"{n:,} records are coded in column {name!r} at groups of the hierarchy, "
                f"e.g. {some(codes)}. Code them at the finest level, or give such groups a part for them.",
                codes,
            )
        survey = survey[~strange]
    if not len(survey):
        raise InputError("There are no records to tabulate: none has codes that are in all hierarchies.")
    return survey


def _check_numbers(survey: pd.DataFrame, columns: Columns) -> None:
    def refuse(fault: str, what: str, name: str, remedy: str) -> None:
        bad = survey[survey[fault] > 0]
        if len(bad):
            cell = " × ".join(bad.iloc[0][f"d{d}"] for d in range(len(columns.by)))
            share = f"{int(bad[fault].sum()):,} of {int(survey.records.sum()):,} records"
            raise InputError(f"{share} have {what} in column {name!r}, e.g. in cell {cell!r}. {remedy}", [cell])

    for i, name in enumerate(columns.numbers):
        refuse(f"text{i}", "text instead of a number", name, "Write numbers with a decimal point and no separators.")
        refuse(f"missing{i}", "no number", name, "Fill it in, with zero if that is meant, or leave these records out.")
        refuse(f"infinite{i}", "an infinite or undefined number", name, "Correct it, or leave these records out.")
        if name == columns.weight:
            refuse(f"negative{i}", "a negative weight", name, "Weights are zero or more.")
    if columns.contributor is not None:
        refuse("nameless", "no contributor", columns.contributor, "Fill it in, or leave these records out.")


# -- what counts towards what ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Climb:
    """The ways up one hierarchy for the leaves that occur: pairs (leaf, code that it counts towards)."""

    leaves: pd.DataFrame  # the leaves as text and as number
    above: pd.DataFrame  # all pairs, each leaf with itself among them
    level: pd.Series  # of each pair: -1 if its code is a leaf

    @cached_property
    def layers(self) -> list[pd.DataFrame]:
        """The pairs with groups, split so that a leaf occurs at most once in each layer."""
        groups = self.level >= 0
        return [layer for _level, layer in self.above[groups].groupby(self.level[groups])]

    @classmethod
    def of(cls, name: str, hierarchy: Hierarchy, observed: Sequence[str]) -> _Climb:
        leaves = np.sort([hierarchy.index(code) for code in observed])
        leaf, code = hierarchy.ancestors
        seen = np.isin(leaf, leaves)
        row, code = np.searchsorted(leaves, leaf[seen]), code[seen]
        reach = sparse.csr_array((np.ones(len(row)), (row, code)), shape=(len(leaves), len(hierarchy)))
        relations, _missing = additive([hierarchy], np.arange(len(hierarchy), dtype=np.int32)[None])
        lost = np.unique((reach @ relations.T).nonzero()[0])
        if len(lost):
            codes = [hierarchy.codes[leaf] for leaf in leaves[lost]]
            raise HierarchyError(
                f"Codes in column {name!r} do not have one place in each tree of the hierarchy of {hierarchy.total!r}: "
                f"{some(codes)}. Totals would not add up; put each leaf once into each tree.",
                codes,
            )
        above = pd.DataFrame({"leaf": leaves[row], "code": code}, dtype=np.int32)
        # Codes at one depth of one tree have no leaf in common.
        tree, depth = (hierarchy.parents != ABSENT).argmax(axis=0), hierarchy.depth
        level = pd.Series(np.where(hierarchy.is_leaf, -1, tree * (depth.max() + 1) + depth)[code])
        text = pd.DataFrame({"text": [hierarchy.codes[leaf] for leaf in leaves], "leaf": leaves.astype(np.int32)})
        return cls(text, above, level)


@dataclass(frozen=True)
class _Plan:
    """What is wanted, and the names of the columns it is worked out in."""

    columns: Columns
    climbs: Sequence[_Climb]
    top: int
    count_zeros: bool
    signed: bool  # some contributions are negative
    contributions: bool  # who contributes what to leaf cells is to be kept
    weights: Weights
    dropped: int  # records left out because their codes are not in a hierarchy

    @property
    def codes(self) -> list[str]:
        return [f"c{d}" for d in range(len(self.climbs))]

    @property
    def sums(self) -> list[str]:
        """The response and the extra columns, weighted."""
        return ["v", *(f"e{i}" for i in range(len(self.columns.extra)))]


def _records(source: Expr, survey: pd.DataFrame, plan: _Plan) -> Expr:
    """What is needed of each record: codes as numbers, who it is from, and its contributions as decimals."""
    columns, records = plan.columns, int(survey.records.sum())
    sizes = {name: float(survey[f"largest{i}"].max()) for i, name in enumerate(columns.numbers)}

    def exact(name: str | None, weight: str | None) -> Expr:
        number, largest = (as_number(source[name]), sizes[name]) if name else (ibis.literal(1.0), 1.0)
        if weight:
            number, largest = number * as_number(source[weight]), largest * sizes[weight]
        # Nine decimal places, or fifteen significant digits of the largest number, as far as the sum leaves room.
        ahead = math.ceil(math.log10(largest)) if largest else 0
        room = DIGITS - 1 - max(ahead + math.ceil(math.log10(records)), 0)
        places = min(max(9, 15 - ahead), room)
        if room < 6 or ahead + places < 6:
            raise InputError(f"The numbers in column {name or weight!r} are too large or too small. Change the unit.")
        sane = ibis.ifelse(number.abs() <= largest, number, ibis.null("float64"))  # records left out may hold anything
        return sane.cast(f"decimal({DIGITS}, {places})")

    fields = {f"d{d}": as_text(source[name]) for d, name in enumerate(columns.by)}
    # What is weighted with known weights can be divided by them: the weighted contribution is then what is to be protected.
    known = columns.weight if plan.weights == "known" else None
    fields |= {"x": exact(columns.response, known), "v": exact(columns.response, columns.weight)}
    fields["w"] = exact(columns.weight, None) if columns.weight else exact(None, None)
    fields |= {f"e{i}": exact(name, columns.weight) for i, name in enumerate(columns.extra)}
    fields["asked"] = is_marked(source[columns.request]) if columns.request else ibis.literal(False)
    unit = as_text(source[columns.contributor]) if columns.contributor else ibis.null("string")
    group = as_text(source[columns.holding]) if columns.holding else ibis.null("string")
    # A holding and a contributor may go by the same id: who it is takes both, the name and whether it is a holding's.
    fields |= {"unit": unit, "name": ibis.coalesce(group, unit), "held": ibis.ifelse(group.notnull(), 1, 0)}
    encoded = source.select(**fields)
    for d, climb in enumerate(plan.climbs):
        lookup = climb.leaves.rename(columns={"text": f"d{d}", "leaf": f"c{d}"})
        encoded = encoded.join(ibis.memtable(lookup), f"d{d}").drop(f"d{d}")
    return encoded


def _units(records: Expr, plan: _Plan) -> Expr:
    """The records, contributors checked; where contributors are counted, each once in a cell."""
    columns = plan.columns
    if columns.holding is not None:
        each = records.group_by("unit").agg(a=_.name.min(), b=_.name.max(), no=_.held.min(), yes=_.held.max())
        torn = int(each.filter((_.a != _.b) | (_.no != _.yes)).count().to_pandas())
        if torn:
            raise InputError(
                f"{torn:,} contributors in column {columns.contributor!r} have different entries in column "
                f"{columns.holding!r}. A contributor belongs to one holding, or to none, in all its records."
            )
    if columns.response is not None:
        return records
    same = {name: _[name].max() for name in ("name", "held", "x", "v", "w")}
    sums = {name: _[name].sum() for name in plan.sums[1:]}
    units = records.group_by([*plan.codes, "unit"]).agg(**same, **sums, low=_.v.min(), asked=_.asked.any())
    found = units.agg(several=_.count() - _.unit.nunique(), uneven=(_.low != _.v).sum()).to_pandas()
    if found.uneven[0] > 0:
        raise InputError(
            f"{int(found.uneven[0]):,} contributors have records with different weights in one cell. "
            f"A contributor is counted once, so give it one weight in column {columns.weight!r}."
        )
    if found.several[0] > 0:
        raise InputError(
            f"Contributors in column {columns.contributor!r} occur in several cells, so their numbers do not add up to "
            "totals. To count records, and still know whose they are, pass the column as holding=, not contributor=."
        )
    return units


# -- adding up -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sums:
    """What the records add up to."""

    cells: pd.DataFrame  # of every level
    entries: pd.DataFrame  # their largest contributions
    names: pd.DataFrame  # of who made them
    leaves: pd.DataFrame  # contributions to leaf cells: all of who is in several, and the largest of the others


def _add_up(records: Expr, plan: _Plan) -> _Sums:
    wanted = [*plan.codes, "x", "w", *plan.sums, "asked"]
    found = []
    if plan.columns.contributor is None:
        with _kept(records.filter(_.name.isnull()).select(*wanted, id=ibis.literal(-1, "int64"))) as nameless:
            found.append(_condensed(nameless, plan, plan.sums))
        if plan.columns.holding is None:
            cells, entries = found[0]
            nobody = pd.DataFrame(columns=["id", "name", "held", "asked"])
            return _Sums(_carried_up(cells, plan, _added), _carried_up(entries, plan, _largest), nobody, entries)
    with _kept(_respondents(records, plan)) as respondents:
        stays = ibis.and_(*(respondents[f"low{c}"] == respondents[c] for c in plan.codes))
        found.append(_condensed(respondents.filter(stays).select(*wanted, "id"), plan, plan.sums))
        moving = respondents.filter(~stays).select("name", "held", "id")
        with _kept(_pairs(records.join(moving, ["name", "held"]), plan, ["x", *plan.sums])) as pairs:
            sums = {name: _[name].sum().cast("float64") for name in plan.sums}
            shares = pairs.group_by(plan.codes).agg(**sums, pairs=_.count()).to_pandas()
            levels = [_condensed(level, plan, []) for level in _levels(pairs, plan, int(shares.pop("pairs").sum()))]
            exact = pairs.select(*plan.codes, "id", x=_.x.cast("float64"))
            several = [exact.to_pandas()] if plan.contributions else []
        cells = _added(pd.concat([*(cells for cells, _entries in found), shares]), plan)
        entries = _largest(pd.concat([entries for _cells, entries in found]), plan)
        leaves = pd.concat([entries[[*plan.codes, "id", "x"]], *several])
        cells = _added(pd.concat([_carried_up(cells, plan, _added), *(c for c, _e in levels)]), plan)
        entries = _largest(pd.concat([_carried_up(entries, plan, _largest), *(e for _c, e in levels)]), plan)
        known = pd.concat([entries.id, leaves.id]) if plan.contributions else entries.id
        used = ibis.memtable(pd.DataFrame({"id": known.unique()}))
        names = respondents.semi_join(used, "id").select("id", "name", "held", "asked").to_pandas()
        return _Sums(cells, entries, names, leaves)


@contextmanager
def _kept(result: Expr) -> Iterator[Expr]:
    """An intermediate result, worked out once and kept on the backend while it is needed."""
    if result.get_backend().name == "pyspark":
        result.limit(0).to_pandas()  # Spark is handed the lookup tables by a query that runs, but not by cache()
    kept = result.cache()
    try:
        yield kept
    finally:
        with suppress(Exception):  # what cannot be dropped now goes with the session
            kept.release()


def _respondents(records: Expr, plan: _Plan) -> Expr:
    """One row each: all it reported, and the corners of where. Numbered in the order of their names."""
    corners = {f"low{c}": _[c].min() for c in plan.codes} | {c: _[c].max() for c in plan.codes}
    sums = {name: _[name].sum() for name in ("x", *plan.sums)}
    few = {"asked": _.asked.any(), "w": _.w.min()}
    each = records.filter(_.name.notnull()).group_by(["name", "held"]).agg(**corners, **sums, **few)
    return each.mutate(id=ibis.row_number().over(order_by=["name", "held"]))


def _pairs(rows: Expr, plan: _Plan, sums: Sequence[str]) -> Expr:
    """What each respondent contributes to each cell, net; of several weights it has the smallest, which counts for least."""
    return rows.group_by([*plan.codes, "id"]).agg(**{name: _[name].sum() for name in sums}, w=_.w.min())


def _levels(pairs: Expr, plan: _Plan, rows: int) -> Iterator[Expr]:
    """Pairs for the cells of every level, in portions."""
    sums, room = ["x", "v"] if plan.signed else ["x"], ROWS_AT_ONCE / max(rows, 1)
    portions: list[list[pd.DataFrame | None]] = []  # per dimension: the ways up, or None for the leaves as they are
    for climb in plan.climbs:
        levels = len(climb.above) / len(climb.leaves)
        at_once = max(int(room), 1)  # layers
        portions.append([climb.above] if levels <= room else [None, *_joined(climb.layers, at_once)])
        room /= min(levels, at_once)

    def climbed(pairs: Expr, d: int) -> Iterator[Expr]:
        if d == len(portions):
            yield pairs.mutate(asked=ibis.literal(False))
            return
        reused = d + 1 == len(portions) or len(portions[d + 1]) > 1
        for way in portions[d]:
            if way is None:
                yield from climbed(pairs, d + 1)
                continue
            lookup = ibis.memtable(way.rename(columns={"leaf": f"c{d}", "code": "above"}))
            risen = _pairs(pairs.join(lookup, f"c{d}").mutate(**{f"c{d}": _.above}), plan, sums)
            with _kept(risen) if reused else nullcontext(risen) as above:
                yield from climbed(above, d + 1)

    if rows:
        yield from climbed(pairs.select(*plan.codes, "id", "w", *sums), 0)


def _joined(layers: Sequence[pd.DataFrame], at_once: int) -> list[pd.DataFrame]:
    return [pd.concat(layers[i : i + at_once]) for i in range(0, len(layers), at_once)]


def _condensed(rows: Expr, plan: _Plan, sums: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Per cell, the sums and the largest contributions, from one row per cell and contributor."""
    found = {"count": _.count() if plan.count_zeros else (_.x != 0).sum()}
    counted = _.w if plan.count_zeros else ibis.ifelse(_.x != 0, _.w, ibis.literal(0).cast(rows.w.type()))
    found["weighted"] = counted.sum().cast("float64")
    found |= {name: _[name].sum().cast("float64") for name in sums}
    if plan.signed:
        found["magnitude"] = _.v.abs().sum().cast("float64")
    sized = rows.mutate(size=rows.x.cast("float64").abs())
    if not plan.count_zeros:
        sized = sized.filter(_.x != 0)
    # Ranking sorts, and sorting everything is slow. Deal contributors into as many hands as are wanted: the lowest of
    # the hands' highest is at most the last one wanted, so what lies below it need not be sorted.
    hands = sized.group_by([*plan.codes, (_.id % plan.top).name("hand")]).agg(high=_["size"].max())
    floor = hands.group_by(plan.codes).agg(floor=_.high.min(), hands=_.count())
    ahead = sized.join(floor, plan.codes).filter((_.hands < plan.top) | (_["size"] >= _.floor))
    order = [ibis.desc("size"), "id", ibis.desc("x"), ibis.desc("asked")]
    ranked = ahead.mutate(rank=ibis.row_number().over(group_by=plan.codes, order_by=order))
    largest = ranked.filter(_.rank < plan.top).select(*plan.codes, "id", "asked", x=_.x.cast("float64"))
    return rows.group_by(plan.codes).agg(**found).to_pandas(), largest.to_pandas()


def _carried_up(
    frame: pd.DataFrame, plan: _Plan, gather: Callable[[pd.DataFrame, _Plan], pd.DataFrame]
) -> pd.DataFrame:
    """From leaf cells to the cells of every level, one dimension after the other."""
    for climb, code in zip(plan.climbs, plan.codes, strict=True):
        risen = frame.merge(climb.above, left_on=code, right_on="leaf").drop(columns=[code, "leaf"])
        frame = gather(risen.rename(columns={"code": code}), plan)
    return frame


def _added(cells: pd.DataFrame, plan: _Plan) -> pd.DataFrame:
    return cells.groupby(plan.codes, as_index=False).sum()


def _largest(entries: pd.DataFrame, plan: _Plan) -> pd.DataFrame:
    """The largest entries of each cell, ranked; equal ones in the order of the names."""
    cell, x = entries.groupby(plan.codes).ngroup().to_numpy(), entries.x.to_numpy()
    order = np.lexsort((~entries.asked.to_numpy(bool), -x, entries.id.to_numpy(), -np.abs(x), cell))
    ranked = entries.iloc[order]
    rank = ranked.groupby(cell[order]).cumcount()
    return ranked.assign(rank=rank)[rank < plan.top]


def _table(dimensions: Mapping[str, Hierarchy], plan: _Plan, found: _Sums, store_empty: bool) -> Table:
    cells, entries, names = found.cells, found.entries, found.names
    codes, place = cells[plan.codes].to_numpy().T, np.arange(len(cells))
    if store_empty:
        shape = tuple(len(hierarchy) for hierarchy in dimensions.values())
        if math.prod(shape) > MOST_EMPTY_CELLS:
            raise TableError(
                f"With its empty cells the table has {math.prod(shape):,} cells, more than {MOST_EMPTY_CELLS:,}. "
                "Leave store_empty= out: cells that are not stored count as zeros."
            )
        place = np.ravel_multi_index(tuple(codes), shape)
        codes = np.indices(shape, dtype=np.int32).reshape(len(shape), -1)

    def column(name: str, kind: type = float) -> Any:
        full = np.zeros(codes.shape[1], dtype=kind)
        full[place] = cells[name]
        return full

    # A holding is called by its id, unless a contributor goes by the same one.
    both = names.name.duplicated(keep=False) & (names.held > 0)
    names = names.assign(name=names.name.where(~both, names.name + " (holding)")).sort_values("name", ignore_index=True)
    places = cells[plan.codes].assign(place=place)
    entries = entries.merge(places, on=plan.codes)
    known = names.set_index("id").assign(who=names.index.to_numpy())
    at = (entries.place.to_numpy(), entries["rank"].to_numpy())
    top, who = np.zeros((codes.shape[1], plan.top)), np.full((codes.shape[1], plan.top), -1)
    top[at] = entries.x
    who[at] = known.who.reindex(entries.id, fill_value=-1)
    requested = np.zeros(top.shape, dtype=bool)
    requested[at] = known.asked.reindex(entries.id).eq(True).to_numpy() | entries.asked.to_numpy(bool)
    contributions = None
    if plan.contributions:
        leaves = found.leaves[found.leaves.x != 0].merge(places, on=plan.codes)

        def label(cell: int) -> str:
            return BETWEEN.join(h.codes[code] for h, code in zip(dimensions.values(), codes[:, cell], strict=True))

        number = known.who.reindex(leaves.id, fill_value=-1).to_numpy(np.int64)
        contributions = named(leaves.place.to_numpy(), number, np.abs(leaves.x.to_numpy()), tuple(names.name), label)
    return Table.from_cells(
        dimensions,
        codes,
        column("v"),
        response=plan.columns.response or "count",
        count=column("count", int),
        magnitude=column("magnitude") if plan.signed else None,
        top=top,
        who=who,
        contributors=tuple(names.name),
        requested=requested if plan.columns.request else None,
        extra={name: column(f"e{i}") for i, name in enumerate(plan.columns.extra)},
        is_count=plan.columns.response is None,
        contributions=contributions,
        weighted_count=column("weighted") if plan.columns.weight else None,
        weights=plan.weights if plan.columns.weight else None,
        counts_zeros=plan.count_zeros,
        dropped=plan.dropped,
    )
