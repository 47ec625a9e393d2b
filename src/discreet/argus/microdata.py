"""Tables from the records of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from discreet.argus.classification import Classification, classification
from discreet.argus.data_file import DataFile
from discreet.argus.request import ArgusRequest
from discreet.argus.views import Views, with_unit_weights
from discreet.data.hierarchy import Hierarchy
from discreet.data.spelling import Spelling
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import FormatError, plural
from discreet.io.argus.records import read_records

KEY_DIGITS = 8  # of the two parts in which record keys are added up: sums of either are exact in double precision
# Names of further columns have a double quote, which names of variables in metadata cannot have.
RECORD, KEY_HIGH, KEY_LOW = '"record', '"key high', '"key low'


@dataclass(frozen=True)
class RecordFile(DataFile):
    """A file of records; ``used`` are the variables to read."""

    used: frozenset[str]
    needed: frozenset[str]  # of these, those that every record must have

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The records. Confidential."""
        frame = read_records(self.file, self.metadata, point=True, only=self.used)
        self._refuse_gaps(frame)
        frame = frame.reset_index(drop=True)
        key = self.metadata.single("record_key")
        if key is not None and not frame[key.name].isna().any():
            _split_keys(frame, frame[key.name].to_numpy(float), key.decimals)
        return frame

    def forget(self) -> None:
        """Free the memory of the records: they are read again where they are needed."""
        self.__dict__.pop("frame", None)

    def _refuse_gaps(self, frame: pd.DataFrame) -> None:
        """Raise at the first record without a code or a number that its tables need."""
        for name in frame:
            variable = self.variable(str(name))
            if variable.name not in self.needed:
                continue
            gaps = frame[name].isna() if variable.numeric and not variable.categorical else frame[name] == ""
            if gaps.any():
                what = "number" if variable.numeric and not variable.categorical else "code"
                raise FormatError(
                    f"{self.file}, line {frame.index[gaps.argmax()]}: variable {variable.name!r} has no {what}"
                    f"{', or one that is listed as missing' if what == 'number' else ''} "
                    f"({plural(int(gaps.sum()), 'record')} in all). Correct or delete them."
                )


@dataclass(frozen=True)
class Microdata:
    """The records of a job; ``classifications`` are those of their spanning variables, which recodes change."""

    records: RecordFile
    classifications: Mapping[str, Classification]

    @classmethod
    def of(cls, data: DataFile, requests: Sequence[ArgusRequest]) -> Microdata:
        """The records with the variables that the tables need."""
        roles = {
            one.name for one in data.metadata.variables if one.weight or one.holding or one.request or one.record_key
        }
        names = [name for request in requests for name in request.specify.by]
        spanning = {data.spanning(name).name: data.spanning(name) for name in names}
        numbers = [
            name
            for request in requests
            for name in (
                *([] if request.specify.counts else [request.specify.response]),
                request.specify.shadow,
                request.cost_variable,
            )
            if name
        ]
        used = roles | set(spanning) | {data.number(name).name for name in numbers}
        records = RecordFile(data.file, data.metadata, data.paths, frozenset(used), frozenset(used - roles))
        listed = {
            name: classification(one, records.frame[name].unique().tolist(), data.paths, data.metadata.path)
            for name, one in spanning.items()
        }
        return cls(records, listed)

    def views(self, request: ArgusRequest) -> Views:
        """The table of a request, and those that its rules look at."""
        spec, depth = request.specify, request.depth
        weight = self.records.single("weight", "WGT(1) needs a variable with <WEIGHT>") if request.weighted else None
        holding = (
            self.records.single("holding", "a rule of holdings needs a variable with <HOLDING>")
            if request.applies_to_holdings()
            else None
        )
        response = None if spec.counts else self.records.number(spec.response).name
        judged = None if spec.counts else self.records.number(request.judged).name
        extra = [self.records.number(request.cost_variable).name] if request.cost_variable else []
        extra = [name for name in extra if name != response]
        key = self.records.metadata.single("record_key")
        has_keys = key is not None and not request.weighted and KEY_HIGH in self.records.frame
        keys = [KEY_HIGH, KEY_LOW] if has_keys else []
        whose = request.protects if request.contributions and response is not None else "none"
        by_holding = holding is not None and whose == "holdings"
        common: dict[str, Any] = {"weight": weight, "top": depth}
        named = self.records.frame.assign(**{RECORD: [f"record {i + 1}" for i in range(len(self.records.frame))]})
        table = self.tabulated(
            spec.by,
            response,
            **common,
            frame=named,
            extra=[*extra, *keys],
            contributions=whose in ("records", "holdings"),
            contributor=RECORD if whose == "records" else None,
            holding=holding if by_holding else None,
        )
        records = table
        if judged != response or weight is not None or by_holding:
            by_record = weight is not None and judged is not None
            unit = RECORD if by_record else None
            records = self.tabulated(spec.by, judged, **common, frame=named, contributor=unit, contributions=False)
            if by_record:
                records = with_unit_weights(records, self.records.frame[weight].to_numpy(float), depth)
        # The count of the table is that of records, also where respondents are holdings.
        table = table.with_columns(count=records.count)
        holdings = (
            None if holding is None else self.tabulated(spec.by, judged, **common, holding=holding, contributions=False)
        )
        cost = None if not request.cost_variable else table.extra[extra[0]] if extra else table.value
        return Views(
            table,
            0 if response is None else self.records.number(response).decimals,
            records,
            holdings,
            self._requests(request, judged, common, holding),
            request.weighted,
            cost=cost,
            keys=None if not keys or key is None else _keys_of(table, key.decimals),
        )

    def _requests(
        self, request: ArgusRequest, judged: str | None, common: Mapping[str, Any], holding: str | None
    ) -> dict[bool, Table]:
        """The tables in which those who requested protection are marked, by each code of request."""
        if not request.calls("REQ"):
            return {}
        variable = self.records.variable(self.records.single("request", "REQ needs a variable with <REQUEST>"))
        marked = {"request": variable.name, "requests": variable.request, "contributions": False}
        found = {False: self.tabulated(request.specify.by, judged, **common, **marked)}
        if holding is not None:
            found[True] = self.tabulated(request.specify.by, judged, **common, **marked, holding=holding)
        return found

    def tabulated(
        self,
        by: tuple[str, ...] | Mapping[str, Hierarchy],
        response: str | None,
        frame: pd.DataFrame | None = None,
        **options: Any,
    ) -> Table:
        """A table of the records by these variables."""
        if isinstance(by, tuple):
            names = [self.records.spanning(name).name for name in by]
            by = {name: self.classifications[name].hierarchy for name in names}
        frame = self.records.frame if frame is None else frame
        return tabulated_as_written(frame, by, response, {name: self.classifications[name] for name in by}, **options)


def tabulated_as_written(
    frame: pd.DataFrame,
    by: Mapping[str, Hierarchy],
    response: str | None,
    listed: Mapping[str, Classification],
    **options: Any,
) -> Table:
    """A table of records after the recodes of these classifications. Codes are what they are: 1 and 01 are two codes."""
    return tabulate(
        frame,
        by,
        response,
        recode={name: one.recode for name, one in listed.items() if one.recode and name in by},
        spelling={name: Spelling(False, {code: code for code in frame[name].unique()}) for name in by},
        names="exact",
        weights="secret",
        **options,
    )


def _split_keys(frame: pd.DataFrame, key: np.ndarray, decimals: int) -> None:
    """Add record keys as integers in two parts, so that sums are exact."""
    digits = max(decimals, 1)
    whole = np.round((key % 1.0) * 10.0 ** min(digits, 15)).astype(np.int64)
    low = 10 ** max(min(digits, 15) - KEY_DIGITS, 0)
    frame[KEY_HIGH], frame[KEY_LOW] = whole // low, whole % low


def _keys_of(table: Table, decimals: int) -> tuple[np.ndarray, int]:
    """The key of each cell: the sum of record keys without its integer part, as an integer with this number of digits."""
    digits = min(max(decimals, 1), 15)
    low = 10 ** max(digits - KEY_DIGITS, 0)
    high_sum, low_sum = (table.extra[name].astype(np.int64) for name in (KEY_HIGH, KEY_LOW))
    return (high_sum * low + low_sum) % 10**digits, digits
