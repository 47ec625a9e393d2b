"""Aggregation of records by a database engine: Ibis expressions, run by DuckDB or the backend of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import ibis
import pandas as pd
from ibis import _

from discreet.data.aggregate import AggregationPlan, CellSummary, MultiCellSummary
from discreet.data.numerals import Expr

# Rows of (cell, respondent) to aggregate in one query. Larger batches take more memory and are not faster.
ROWS_PER_BATCH = 2_000_000


@dataclass(frozen=True)
class EngineRecords:
    """Records as an Ibis table."""

    rows: Expr
    plan: AggregationPlan

    @classmethod
    def of(cls, fields: Expr, plan: AggregationPlan) -> EngineRecords:
        """From a table with codes as texts ``d0``, ``d1`` …; records with codes that are not in the hierarchy are left out."""
        for d, ancestry in enumerate(plan.ancestries):
            lookup = ancestry.leaves.rename(columns={"text": f"d{d}", "leaf": f"c{d}"})
            fields = fields.join(ibis.memtable(lookup), f"d{d}").drop(f"d{d}")
        return cls(fields, plan)

    def n_with_several_holdings(self) -> int:
        each = self.rows.group_by("unit").agg(a=_.name.min(), b=_.name.max(), no=_.held.min(), yes=_.held.max())
        return int(each.filter((_.a != _.b) | (_.no != _.yes)).count().to_pandas())

    def counted_once(self) -> tuple[EngineRecords, int, int]:
        constant = {name: _[name].max() for name in ("name", "held", "x", "v", "w")}
        sums = {name: _[name].sum() for name in self.plan.sums[1:]}
        by = [*self.plan.codes, "unit"]
        units = self.rows.group_by(by).agg(**constant, **sums, low=_.v.min(), **_any(self.plan.requests))
        found = units.agg(several=_.count() - _.unit.nunique(), uneven=(_.low != _.v).sum()).to_pandas()
        return EngineRecords(units, self.plan), int(found.several[0]), int(found.uneven[0])

    def nameless(self) -> CellSummary:
        plan = self.plan
        columns = [*plan.codes, "x", "w", *plan.sums, *plan.requests]
        with _cached(self.rows.filter(_.name.isnull()).select(*columns, id=ibis.literal(-1, "int64"))) as rows:
            return _summary(rows, plan, plan.sums)

    @contextmanager
    def respondents(self) -> Iterator[EngineRespondents]:
        """One row per respondent with its sums and its lowest and highest codes, numbered in the order of names."""
        plan = self.plan
        extremes = {f"low{c}": _[c].min() for c in plan.codes} | {c: _[c].max() for c in plan.codes}
        sums = {name: _[name].sum() for name in ("x", *plan.sums)}
        others = {**_any(plan.requests), "w": _.w.min()}
        each = self.rows.filter(_.name.notnull()).group_by(["name", "held"]).agg(**extremes, **sums, **others)
        with _cached(each.mutate(id=ibis.row_number().over(order_by=["name", "held"]))) as each:
            yield EngineRespondents(self.rows, each, plan)


@dataclass(frozen=True)
class EngineRespondents:
    """Records, and one row per respondent."""

    records: Expr
    each: Expr
    plan: AggregationPlan

    @property
    def _in_single_cell(self) -> Expr:
        return ibis.and_(*(self.each[f"low{c}"] == self.each[c] for c in self.plan.codes))

    def single_cell(self) -> CellSummary:
        plan = self.plan
        columns = [*plan.codes, "x", "w", *plan.sums, *plan.requests, "id"]
        return _summary(self.each.filter(self._in_single_cell).select(*columns), plan, plan.sums)

    def multi_cell(self) -> MultiCellSummary:
        plan = self.plan
        respondents = self.each.filter(~self._in_single_cell).select("name", "held", "id")
        with _cached(_pairs(self.records.join(respondents, ["name", "held"]), plan, ["x", *plan.sums])) as pairs:
            columns = {name: _[name].sum().cast("float64") for name in plan.sums}
            sums = pairs.group_by(plan.codes).agg(**columns, pairs=_.count()).to_pandas()
            levels = [_summary(level, plan, []) for level in _levels(pairs, plan, int(sums.pop("pairs").sum()))]
            kept = pairs.select(*plan.codes, "id", x=_.x.cast("float64")).to_pandas() if plan.contributions else None
        return MultiCellSummary(sums, levels, kept)

    def names(self, ids: pd.Series) -> pd.DataFrame:
        used = ibis.memtable(pd.DataFrame({"id": ids.unique()}))
        columns = ["id", "name", "held", *self.plan.requests]
        found: pd.DataFrame = self.each.semi_join(used, "id").select(*columns).to_pandas()
        return found


def _any(names: Sequence[str]) -> dict[str, Expr]:
    return {name: _[name].any() for name in names}


@contextmanager
def _cached(result: Expr) -> Iterator[Expr]:
    """An intermediate result, computed once and cached on the backend while it is needed."""
    if result.get_backend().name == "pyspark":
        result.limit(0).to_pandas()  # Spark receives lookup tables with a query, but not with cache()
    cached = result.cache()
    try:
        yield cached
    finally:
        with suppress(Exception):  # the backend drops it at the end of the session
            cached.release()


def _pairs(rows: Expr, plan: AggregationPlan, sums: Sequence[str]) -> Expr:
    """The net contribution of each respondent to each cell; of several weights the smallest."""
    return rows.group_by([*plan.codes, "id"]).agg(**{name: _[name].sum() for name in sums}, w=_.w.min())


def _levels(pairs: Expr, plan: AggregationPlan, rows: int) -> Iterator[Expr]:
    """The net contributions to the cells of all levels, in batches."""
    factor = ROWS_PER_BATCH / max(rows, 1)  # by which the number of rows may grow
    batches: list[list[pd.DataFrame | None]] = []  # per dimension: lookup tables of ancestors; None: leaves unchanged
    for ancestry in plan.ancestries:
        levels = len(ancestry.above) / len(ancestry.leaves)
        n_layers = max(int(factor), 1)  # per batch
        layers = ancestry.layers
        joined = (pd.concat(layers[i : i + n_layers]) for i in range(0, len(layers), n_layers))
        batches.append([ancestry.above] if levels <= factor else [None, *joined])
        factor /= min(levels, n_layers)

    def with_ancestors(pairs: Expr, d: int) -> Iterator[Expr]:
        if d == len(batches):
            yield pairs.mutate(**dict.fromkeys(plan.requests, ibis.literal(False)))
            return
        reused = d + 1 == len(batches) or len(batches[d + 1]) > 1
        for ancestors in batches[d]:
            if ancestors is None:
                yield from with_ancestors(pairs, d + 1)
                continue
            lookup = ibis.memtable(ancestors.rename(columns={"leaf": f"c{d}", "code": "above"}))
            joined = _pairs(pairs.join(lookup, f"c{d}").mutate(**{f"c{d}": _.above}), plan, plan.respondent_sums)
            with _cached(joined) if reused else nullcontext(joined) as above:
                yield from with_ancestors(above, d + 1)

    if rows:
        yield from with_ancestors(pairs.select(*plan.codes, "id", "w", *plan.respondent_sums), 0)


def _summary(rows: Expr, plan: AggregationPlan, sums: Sequence[str]) -> CellSummary:
    """The sums and the largest contributions of each cell, from one row per cell and respondent."""
    found = {"count": _.count() if plan.count_zeros else (_.x != 0).sum()}
    counted = _.w if plan.count_zeros else ibis.ifelse(_.x != 0, _.w, ibis.literal(0).cast(rows.w.type()))
    found["weighted"] = counted.sum().cast("float64")
    found |= {name: _[name].sum().cast("float64") for name in sums}
    if plan.signed:
        found["magnitude"] = _.v.abs().sum().cast("float64")
    sized = rows.mutate(size=rows.x.cast("float64").abs())
    if not plan.count_zeros:
        sized = sized.filter(_.x != 0)
    # Sorting all rows is slow. The respondents of a cell are divided into k = plan.top classes by id: the smallest of the k
    # class maxima is a lower bound of the k-th largest contribution, so that rows below it need not be sorted.
    classes = sized.group_by([*plan.codes, (_.id % plan.top).name("class_")]).agg(high=_["size"].max())
    bound = classes.group_by(plan.codes).agg(bound=_.high.min(), classes=_.count())
    candidates = sized.join(bound, plan.codes).filter((_.classes < plan.top) | (_["size"] >= _.bound))
    order = [ibis.desc("size"), "id", ibis.desc("x"), *(ibis.desc(name) for name in plan.requests)]
    ranked = candidates.mutate(rank=ibis.row_number().over(group_by=plan.codes, order_by=order))
    largest = ranked.filter(_.rank < plan.top).select(*plan.codes, "id", *plan.requests, x=_.x.cast("float64"))
    return CellSummary(rows.group_by(plan.codes).agg(**found).to_pandas(), largest.to_pandas())
