"""Adding up records on a database engine: Ibis expressions, run by DuckDB or by whatever backend the caller brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import ibis
import pandas as pd
from ibis import _

from discreet.data.aggregate import AggregationPlan, Condensed, Moving
from discreet.data.records import Expr

# (cell, contributor) rows to aim at when levels are added up: more is neither faster nor leaner
ROWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class EngineRecords:
    """Records as an Ibis table."""

    rows: Expr
    plan: AggregationPlan

    @classmethod
    def of(cls, fields: Expr, plan: AggregationPlan) -> EngineRecords:
        """From a table with codes as texts ``d0``, ``d1`` …; records with codes that are in no hierarchy are left out."""
        for d, ancestry in enumerate(plan.ancestries):
            lookup = ancestry.leaves.rename(columns={"text": f"d{d}", "leaf": f"c{d}"})
            fields = fields.join(ibis.memtable(lookup), f"d{d}").drop(f"d{d}")
        return cls(fields, plan)

    def torn(self) -> int:
        each = self.rows.group_by("unit").agg(a=_.name.min(), b=_.name.max(), no=_.held.min(), yes=_.held.max())
        return int(each.filter((_.a != _.b) | (_.no != _.yes)).count().to_pandas())

    def counted_once(self) -> tuple[EngineRecords, int, int]:
        same = {name: _[name].max() for name in ("name", "held", "x", "v", "w")}
        sums = {name: _[name].sum() for name in self.plan.sums[1:]}
        by = [*self.plan.codes, "unit"]
        units = self.rows.group_by(by).agg(**same, **sums, low=_.v.min(), asked=_.asked.any())
        found = units.agg(several=_.count() - _.unit.nunique(), uneven=(_.low != _.v).sum()).to_pandas()
        return EngineRecords(units, self.plan), int(found.several[0]), int(found.uneven[0])

    def nameless(self) -> Condensed:
        plan = self.plan
        wanted = [*plan.codes, "x", "w", *plan.sums, "asked"]
        with _kept(self.rows.filter(_.name.isnull()).select(*wanted, id=ibis.literal(-1, "int64"))) as rows:
            return _condensed(rows, plan, plan.sums)

    @contextmanager
    def respondents(self) -> Iterator[EngineRespondents]:
        """One row each: all it reported, and the corners of where. Numbered in the order of their names."""
        plan = self.plan
        corners = {f"low{c}": _[c].min() for c in plan.codes} | {c: _[c].max() for c in plan.codes}
        sums = {name: _[name].sum() for name in ("x", *plan.sums)}
        few = {"asked": _.asked.any(), "w": _.w.min()}
        each = self.rows.filter(_.name.notnull()).group_by(["name", "held"]).agg(**corners, **sums, **few)
        with _kept(each.mutate(id=ibis.row_number().over(order_by=["name", "held"]))) as each:
            yield EngineRespondents(self.rows, each, plan)


@dataclass(frozen=True)
class EngineRespondents:
    """Records, and one row per respondent."""

    records: Expr
    each: Expr
    plan: AggregationPlan

    @property
    def _stays(self) -> Expr:
        return ibis.and_(*(self.each[f"low{c}"] == self.each[c] for c in self.plan.codes))

    def staying(self) -> Condensed:
        plan = self.plan
        wanted = [*plan.codes, "x", "w", *plan.sums, "asked", "id"]
        return _condensed(self.each.filter(self._stays).select(*wanted), plan, plan.sums)

    def moving(self) -> Moving:
        plan = self.plan
        who = self.each.filter(~self._stays).select("name", "held", "id")
        with _kept(_pairs(self.records.join(who, ["name", "held"]), plan, ["x", *plan.sums])) as pairs:
            sums = {name: _[name].sum().cast("float64") for name in plan.sums}
            shares = pairs.group_by(plan.codes).agg(**sums, pairs=_.count()).to_pandas()
            levels = [_condensed(level, plan, []) for level in _levels(pairs, plan, int(shares.pop("pairs").sum()))]
            kept = pairs.select(*plan.codes, "id", x=_.x.cast("float64")).to_pandas() if plan.contributions else None
        return Moving(shares, levels, kept)

    def named(self, ids: pd.Series) -> pd.DataFrame:
        used = ibis.memtable(pd.DataFrame({"id": ids.unique()}))
        found: pd.DataFrame = self.each.semi_join(used, "id").select("id", "name", "held", "asked").to_pandas()
        return found


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


def _pairs(rows: Expr, plan: AggregationPlan, sums: Sequence[str]) -> Expr:
    """What each respondent contributes to each cell, net; of several weights it has the smallest, which counts for least."""
    return rows.group_by([*plan.codes, "id"]).agg(**{name: _[name].sum() for name in sums}, w=_.w.min())


def _levels(pairs: Expr, plan: AggregationPlan, rows: int) -> Iterator[Expr]:
    """Pairs for the cells of every level, in portions."""
    slack = ROWS_AT_ONCE / max(rows, 1)
    portions: list[list[pd.DataFrame | None]] = []  # per dimension: the ways up, or None for the leaves as they are
    for ancestry in plan.ancestries:
        levels = len(ancestry.above) / len(ancestry.leaves)
        at_once = max(int(slack), 1)  # layers
        portions.append([ancestry.above] if levels <= slack else [None, *_joined(ancestry.layers, at_once)])
        slack /= min(levels, at_once)

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
            risen = _pairs(pairs.join(lookup, f"c{d}").mutate(**{f"c{d}": _.above}), plan, plan.net)
            with _kept(risen) if reused else nullcontext(risen) as above:
                yield from climbed(above, d + 1)

    if rows:
        yield from climbed(pairs.select(*plan.codes, "id", "w", *plan.net), 0)


def _joined(layers: Sequence[pd.DataFrame], at_once: int) -> list[pd.DataFrame]:
    return [pd.concat(layers[i : i + at_once]) for i in range(0, len(layers), at_once)]


def _condensed(rows: Expr, plan: AggregationPlan, sums: Sequence[str]) -> Condensed:
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
    return Condensed(rows.group_by(plan.codes).agg(**found).to_pandas(), largest.to_pandas())
