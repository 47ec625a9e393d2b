"""Tables that a job reads as tables: with totals, statuses and what else their file has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from discreet.argus.classification import Classification, classification
from discreet.argus.commands import ReadTable
from discreet.argus.data_file import DataFile
from discreet.argus.request import FIXED_COSTS, ArgusRequest
from discreet.argus.views import Given, Views
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import FormatError, InputError, TableError, plural, some
from discreet.io.argus.metadata import Role, Variable
from discreet.io.argus.records import read_records
from discreet.io.argus.statuses import ArgusStatus


@dataclass(frozen=True)
class Tabular(DataFile):
    """A table in a file."""

    def views(self, request: ArgusRequest, how: ReadTable) -> Views:
        """The table of a request, and that by which its rules judge."""
        if request.applies_to_holdings():
            raise InputError("a table in a file has no holdings: leave out the rules of holdings.")
        if request.calls("REQ"):
            raise InputError(
                "a table in a file does not say who requested protection: "
                "leave out REQ, and give such cells the status U."
            )
        if request.weighted:
            raise InputError("a table in a file has no weights: leave out WGT.")
        known = len(self.metadata.with_role("largest"))
        if request.needs_largest > known:
            raise InputError(
                f"the rules P and NK need the {request.needs_largest} largest contributions to each cell: as many variables with "
                f"<MAXSCORE>. {self.metadata.path.name} has {known or 'none'}."
            )
        frame = read_records(self.file, self.metadata, point=True)
        spec = request.specify
        spanning = [self.spanning(name) for name in spec.by]
        value = self._frequency(spec.by) if spec.counts else self.number(spec.response)
        roles = self._roles(value, spec.shadow, spec.cost)
        listed = [self._classified(variable, frame) for variable in spanning]
        columns = self._columns(frame, value, roles)
        codes = np.array(
            [[one.hierarchy.index(code) for code in frame[one.variable.name]] for one in listed], dtype=np.int64
        )
        self._refuse_twice(codes, frame.index.tolist(), listed)
        if how.compute_totals:
            codes, columns = self._with_totals(codes, columns, [one.hierarchy for one in listed], how)
        kept = ~((columns.value == 0) & ((columns["count"] == 0) | (columns.status == ArgusStatus.EMPTY)))
        codes, columns = codes[:, kept.to_numpy()], columns[kept].reset_index(drop=True)
        order = np.lexsort(codes[::-1])
        return self._views(request, how, listed, codes[:, order], columns.iloc[order], value, roles)

    # -- variables -------------------------------------------------------------------------------------------------

    def _frequency(self, by: Sequence[str]) -> Variable:
        found = self.metadata.with_role("frequency")
        if not found:
            raise InputError(f"<FREQ> needs a variable with <FREQUENCY>, and {self.metadata.path.name} has none.")
        return found[0]

    def _roles(self, value: Variable, shadow: str, cost: str) -> dict[str, Variable]:
        """The variables that are used, by what for."""
        found: dict[str, Variable] = {}
        roles: tuple[Role, ...] = ("frequency", "status", "lower", "upper")
        for role in roles:
            for one in self.metadata.with_role(role)[:1]:
                found[role] = one
        if shadow and shadow.upper() != value.name.upper():
            found["shadow"] = self.number(shadow)
        if cost not in FIXED_COSTS and cost.upper() != value.name.upper():
            found["cost"] = self.number(cost)
        return found

    def _classified(self, variable: Variable, frame: pd.DataFrame) -> Classification:
        column = frame[variable.name]
        frame[variable.name] = column.where(column != "", variable.total)
        return classification(variable, frame[variable.name].unique().tolist(), self.paths, self.metadata.path)

    def _columns(self, frame: pd.DataFrame, value: Variable, roles: dict[str, Variable]) -> pd.DataFrame:
        """The numbers and the status of each line."""
        columns = pd.DataFrame({"value": self._complete(frame, value)}, index=frame.index)
        columns["shadow"] = self._complete(frame, roles["shadow"]) if "shadow" in roles else columns.value
        columns["cost"] = self._complete(frame, roles["cost"]) if "cost" in roles else columns.value
        columns["count"] = self._complete(frame, roles["frequency"]) if "frequency" in roles else np.nan
        if "frequency" in roles and (columns["count"] != columns["count"].round()).any():
            raise FormatError(
                f"{self.file}: variable {roles['frequency'].name!r} counts contributors: it has integers only."
            )
        for side in ("lower", "upper"):
            columns[side] = frame[roles[side].name] if side in roles else np.nan
        for k, one in enumerate(self.metadata.with_role("largest")):
            columns[f"top{k}"] = frame[one.name].fillna(0.0)
            if k and (more := columns[f"top{k}"].abs() > columns[f"top{k - 1}"].abs()).any():
                raise FormatError(
                    f"{self.file}, line {frame.index[more.argmax()]}: variable {one.name!r} is larger than the one before it: "
                    "variables with <MAXSCORE> are the largest contributions, the largest first."
                )
        columns["status"] = self._statuses(frame, roles["status"]) if "status" in roles else int(ArgusStatus.SAFE)
        return columns

    def _complete(self, frame: pd.DataFrame, variable: Variable) -> pd.Series:
        column = frame[variable.name]
        if column.isna().any():
            line = frame.index[column.isna().argmax()]
            raise FormatError(f"{self.file}, line {line}: variable {variable.name!r} has no number.")
        return column

    def _statuses(self, frame: pd.DataFrame, variable: Variable) -> pd.Series:
        known = {
            self.metadata.safe.upper(): ArgusStatus.SAFE,
            self.metadata.unsafe.upper(): ArgusStatus.UNSAFE_MANUAL,
            self.metadata.protect.upper(): ArgusStatus.PROTECTED,
        }
        known = {"M": ArgusStatus.SECONDARY_MANUAL, "E": ArgusStatus.EMPTY, "": ArgusStatus.SAFE, **known}
        found = frame[variable.name].str.strip().str.upper()
        unknown = ~found.isin(list(known))
        if unknown.any():
            text = frame[variable.name][unknown].iloc[0]
            raise FormatError(
                f"{self.file}, line {frame.index[unknown.argmax()]}: there is no status {text!r}. Statuses are "
                f"{some([one for one in known if one], 9)}.",
                [text],
            )
        return found.map({letter: int(status) for letter, status in known.items()}).astype(int)

    def _refuse_twice(self, codes: np.ndarray, lines: list[int], listed: Sequence[Classification]) -> None:
        place: dict[tuple[int, ...], int] = {}
        for code, line in zip(map(tuple, codes.T.tolist()), lines, strict=True):
            if code in place:
                label = " × ".join(one.hierarchy.codes[c] for one, c in zip(listed, code, strict=True))
                raise FormatError(
                    f"{self.file}, line {line}: cell {label!r} occurs a second time, first in line {place[code]}.",
                    [label],
                )
            place[code] = line

    # -- totals --------------------------------------------------------------------------------------------------

    def _with_totals(
        self, codes: np.ndarray, columns: pd.DataFrame, hierarchies: Sequence[Hierarchy], how: ReadTable
    ) -> tuple[np.ndarray, pd.DataFrame]:
        """All cells with totals computed from the finest cells; totals in the file are replaced."""
        tops = [name for name in columns if name.startswith("top")]
        finest = np.all([h.is_leaf[row] for h, row in zip(hierarchies, codes, strict=True)], axis=0)
        if not finest.any():
            raise TableError(
                f"{self.file} has no cells at the finest level, from which totals could be computed. Add them, or take the "
                "totals as they are: <READTABLE> 0."
            )
        cells = columns[finest].assign(**{f"d{d}": row[finest] for d, row in enumerate(codes)}).reset_index(drop=True)
        names = [f"d{d}" for d in range(len(hierarchies))]
        for name, hierarchy in zip(names, hierarchies, strict=True):
            leaf, above = hierarchy.ancestors
            cells = cells.merge(pd.DataFrame({name: leaf, "above": above}), on=name).drop(columns=name)
            cells = cells.rename(columns={"above": name})
        grouped = cells.groupby(names, as_index=False)
        sums = grouped[["value", "shadow", "cost"]].sum()
        sums["count"] = grouped["count"].sum(min_count=1)["count"]
        for k, name in enumerate(tops):
            stacked = cells.melt(names, tops, value_name="x").sort_values("x", ascending=False, kind="stable")
            ranked = stacked.assign(rank=stacked.groupby(names).cumcount())
            sums = sums.merge(ranked[ranked["rank"] == k][[*names, "x"]].rename(columns={"x": name}), on=names)
        given = columns.assign(**{f"d{d}": row for d, row in enumerate(codes)})
        both = sums.merge(given, on=names, how="left", suffixes=("", " given"))
        self._refuse_totals_of_nothing(given, sums, names, hierarchies)
        stated = both["value given"].notna() & ~np.isclose(both["value given"], both.value, rtol=1e-9, atol=1e-9)
        if stated.any():
            self.paths.say(f"{plural(int(stated.sum()), 'total')} in {self.file.name} replaced by the sum of the parts")
        is_finest = np.all([h.is_leaf[both[name]] for h, name in zip(hierarchies, names, strict=True)], axis=0)
        keeps = is_finest | how.keep_statuses
        both["status"] = np.where(
            keeps & both.status.notna(), both.status.fillna(int(ArgusStatus.SAFE)), int(ArgusStatus.SAFE)
        )
        for side in ("lower", "upper"):
            both[side] = both[side].where(keeps)
        return both[names].to_numpy().T, both[["value", "shadow", "cost", "count", "lower", "upper", *tops, "status"]]

    def _refuse_totals_of_nothing(
        self, given: pd.DataFrame, sums: pd.DataFrame, names: Sequence[str], hierarchies: Sequence[Hierarchy]
    ) -> None:
        """Raise if a cell of the file has a value, and none of the finest cells below it is in the file."""
        known = pd.MultiIndex.from_frame(sums[[*names]])
        lost = ~pd.MultiIndex.from_frame(given[[*names]]).isin(known) & (given.value != 0).to_numpy()
        if lost.any():
            first = given[lost].iloc[0]
            label = " × ".join(h.codes[int(first[name])] for h, name in zip(hierarchies, names, strict=True))
            raise TableError(
                f"{self.file}, line {given.index[lost.argmax()]}: cell {label!r} has a value, and no cell at the finest level "
                "below it is in the file, so that totals cannot be computed.",
                [label],
            )

    # -- the table -------------------------------------------------------------------------------------------------

    def _views(
        self,
        request: ArgusRequest,
        how: ReadTable,
        listed: Sequence[Classification],
        codes: np.ndarray,
        columns: pd.DataFrame,
        value: Variable,
        roles: dict[str, Variable],
    ) -> Views:
        dimensions = {one.variable.name: one.hierarchy for one in listed}
        counts = request.specify.counts
        count = None if columns["count"].isna().any() else columns["count"].to_numpy().astype(np.int64)
        count = columns.value.to_numpy().astype(np.int64) if counts else count
        table = Table.from_cells(
            dimensions,
            codes,
            columns.value.to_numpy(float),
            response="count" if counts else value.name,
            count=count,
            is_count=counts,
        )
        table = self._checked(table, how)
        tops = [name for name in columns if name.startswith("top")]
        top = np.abs(columns[tops].to_numpy(float)) if tops else None
        judged = roles["shadow"].name if "shadow" in roles else table.response
        records = table.with_columns(
            value=columns.shadow.to_numpy(float),
            magnitude=np.abs(columns.shadow.to_numpy(float)),
            response=judged,
            top=top,
        )
        given = None
        if "status" in roles:
            levels = (columns[side].to_numpy(float) for side in ("lower", "upper"))
            given = Given(columns.status.to_numpy(np.int64), *levels)
        cost = columns.cost.to_numpy(float) if request.specify.cost not in FIXED_COSTS else None
        decimals = 0 if counts else value.decimals
        return Views(table, decimals, records, given=given, cost=cost)

    def _checked(self, table: Table, how: ReadTable) -> Table:
        """The table if it is additive; otherwise, if that is allowed, with the differences that its totals have."""
        if not how.allow_non_additive:
            try:
                return table.check_additive()
            except TableError as error:
                raise TableError(
                    f"{self.file}: {error} <READTABLE> 1 computes totals, and <READTABLE> 2 takes them as they are.",
                    error.offenders,
                ) from None
        gap = table.relations @ table.value
        off = int((np.abs(gap) > 1e-9 * (abs(table.relations) @ np.abs(table.value))).sum())
        if off:
            self.paths.say(
                f"{plural(off, 'total')} in {self.file.name} differ from the sums of their parts; readers are taken to know "
                "by how much"
            )
        return table.with_columns(rhs=gap) if off else table
