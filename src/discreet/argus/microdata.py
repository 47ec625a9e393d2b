"""Tables from the records of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet.argus.classification import Classification, classification
from discreet.argus.commands import COST_BY_FREQUENCY, COST_DISTANCE, COST_UNITY, SafetyRule, SpecifyTable
from discreet.argus.paths import Paths
from discreet.argus.views import Views, has_missing_code, with_unit_weights
from discreet.data.hierarchy import Hierarchy
from discreet.data.spelling import Spelling
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import FormatError, InputError, plural
from discreet.io.argus.metadata import Metadata, Variable
from discreet.io.argus.records import read_records
from discreet.io.argus.text import nearest

KEY_DIGITS = 8  # of the two parts in which record keys are added up: sums of either are exact in double precision
# Names of further columns have a double quote, which names of variables in metadata cannot have.
RECORD, REQUESTS_IT, NUMBER_OF_REQUESTS, KEY_HIGH, KEY_LOW = (
    '"record',
    '"requests',
    '"requests counted',
    '"key high',
    '"key low',
)
FIXED_COSTS = ("", COST_BY_FREQUENCY, COST_UNITY, COST_DISTANCE)


@dataclass(frozen=True)
class ArgusRequest:
    """A table to make: what ``<SPECIFYTABLE>`` and ``<SAFETYRULE>`` say about it."""

    specify: SpecifyTable
    rules: SafetyRule
    contributions: bool = False  # store all contributions, so that every respondent can be protected

    def calls(self, name: str) -> list[tuple[float, ...]]:
        return [call.numbers for call in self.rules.rules if call.name == name]

    @property
    def judged(self) -> str:
        """The variable by which rules judge."""
        return self.specify.shadow or self.specify.response

    @property
    def weighted(self) -> bool:
        return self.calls("WGT") == [(1.0,)]

    def applies_to_holdings(self) -> bool:
        """Whether a rule of holdings is given: the third and fourth P and NK, the second FREQ and REQ."""
        later = {"P": 2, "NK": 2, "FREQ": 1, "REQ": 1}
        return any(any(any(numbers) for numbers in self.calls(name)[n:]) for name, n in later.items())

    @property
    def needs_largest(self) -> int:
        """The number of largest contributions that P and NK need."""
        coalitions = [int(n[2] if len(n) > 2 else n[1] if len(n) > 1 else 1) for n in self.calls("P") if n[0]]
        return max([0, *(1 + n for n in coalitions), *(int(n) for n, k in self.calls("NK") if k)])

    @property
    def depth(self) -> int:
        """The number of largest contributions that rules and SBS files need."""
        shares = [share for numbers in self.calls("REQ") for share in numbers[:2] if share]
        return max([2, self.needs_largest, *(max(1, ceil(100 / share) - 1) for share in shares)])


@dataclass(frozen=True)
class Microdata:
    """The records of a job and their metadata; ``classifications`` are those that recodes have changed."""

    file: Path
    metadata: Metadata
    paths: Paths
    used: frozenset[str]
    needed: frozenset[str]  # of these, those that every record must have
    classifications: Mapping[str, Classification]

    @classmethod
    def of(cls, file: Path, metadata: Metadata, paths: Paths, requests: list[ArgusRequest]) -> Microdata:
        """The records with the variables that the tables need."""
        names: set[str] = {
            one.name for one in metadata.variables if one.weight or one.holding or one.request or one.record_key
        }
        found, roles = cls(file, metadata, paths, frozenset(names), frozenset(), {}), frozenset(names)
        for request in requests:
            spec = request.specify
            names |= {found.spanning(name).name for name in spec.by}
            numbers = [
                *([] if spec.counts else [spec.response]),
                spec.shadow,
                *([] if spec.cost in FIXED_COSTS else [spec.cost]),
            ]
            names |= {found.number(name).name for name in numbers if name}
        found = replace(found, used=frozenset(names), needed=frozenset(names) - roles)
        spanning = {
            found.spanning(name).name: found.spanning(name) for request in requests for name in request.specify.by
        }
        listed = {
            name: classification(one, found.frame[name].unique().tolist(), paths, metadata.path)
            for name, one in spanning.items()
        }
        return replace(found, classifications=listed)

    def _variable(self, name: str) -> Variable:
        found = self.metadata.find(name)
        if found is None:
            known = [one.name for one in self.metadata.variables]
            raise InputError(f"{self.metadata.path.name} has no variable {name!r}.{nearest(name, known)}", [name])
        return found

    def spanning(self, name: str) -> Variable:
        found = self._variable(name)
        if not found.categorical:
            raise InputError(f"variable {name!r} cannot span a table: it is not <RECODEABLE>.", [name])
        return found

    def number(self, name: str) -> Variable:
        found = self._variable(name)
        if not found.numeric:
            raise InputError(f"variable {name!r} is not <NUMERIC>.", [name])
        return found

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

    def _refuse_gaps(self, frame: pd.DataFrame) -> None:
        """Raise at the first record without a code or a number that its tables need."""
        for name in frame:
            variable = self._variable(str(name))
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

    def views(self, request: ArgusRequest) -> Views:
        """The table of a request, and those that its rules look at."""
        spec, depth = request.specify, request.depth
        weight = self._single("weight", "WGT(1) needs a variable with <WEIGHT>") if request.weighted else None
        holding = (
            self._single("holding", "a rule of holdings needs a variable with <HOLDING>")
            if request.applies_to_holdings()
            else None
        )
        response = None if spec.counts else self.number(spec.response).name
        judged = None if spec.counts else self.number(request.judged).name
        extra = [] if spec.cost in FIXED_COSTS else [self.number(spec.cost).name]
        extra = [name for name in extra if name != response]
        key = self.metadata.single("record_key")
        has_keys = key is not None and not request.weighted and KEY_HIGH in self.frame
        keys = [KEY_HIGH, KEY_LOW] if has_keys else []
        whose = holds_contributions_of(request) if request.contributions and response is not None else "none"
        by_holding = holding is not None and whose == "holdings"
        common: dict[str, Any] = {"weight": weight, "top": depth}
        named = self.frame.assign(**{RECORD: [f"record {i + 1}" for i in range(len(self.frame))]})
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
                records = with_unit_weights(records, self.frame[weight].to_numpy(float), depth)
        # The count of the table is that of records, also where respondents are holdings.
        table = table.with_columns(count=records.count)
        holdings = (
            None if holding is None else self.tabulated(spec.by, judged, **common, holding=holding, contributions=False)
        )
        cost = None if spec.cost in FIXED_COSTS else table.value if not extra else table.extra[extra[0]]
        return Views(
            table,
            0 if response is None else self.number(response).decimals,
            records,
            holdings,
            self._requests(request, judged, common, holding),
            request.weighted,
            has_missing_code(table, {name: one.missing for name, one in self.classifications.items()}),
            cost=cost,
            keys=None if not keys or key is None else _keys_of(table, key.decimals),
        )

    def _single(self, attribute: str, fault: str) -> str:
        found = self.metadata.single(attribute)
        if found is None:
            raise InputError(f"{fault}, and {self.metadata.path.name} has none.")
        return found.name

    def _requests(
        self, request: ArgusRequest, judged: str | None, common: Mapping[str, Any], holding: str | None
    ) -> dict[tuple[bool, int], Table]:
        """The tables in which those with each code of request are marked."""
        if not request.calls("REQ"):
            return {}
        variable = self.metadata.find(self._single("request", "REQ needs a variable with <REQUEST>"))
        assert variable is not None
        found = {}
        for number, code in enumerate(variable.request):
            frame = self.frame.assign(**{REQUESTS_IT: (self.frame[variable.name] == code).astype(int)})
            for held in (False, True) if holding is not None else (False,):
                found[held, number] = self.tabulated(
                    request.specify.by,
                    judged,
                    **common,
                    frame=frame,
                    request=REQUESTS_IT,
                    extra=[NUMBER_OF_REQUESTS],
                    holding=holding if held else None,
                    contributions=False,
                )
        return found

    def behind(self, request: ArgusRequest, by: Mapping[str, Hierarchy]) -> Table:
        """The table of a request by other hierarchies, without contributions."""
        weight = self._single("weight", "WGT(1) needs a variable with <WEIGHT>") if request.weighted else None
        response = None if request.specify.counts else self.number(request.specify.response).name
        return self.tabulated(by, response, weight=weight, contributions=False)

    def tabulated(
        self,
        by: tuple[str, ...] | Mapping[str, Hierarchy],
        response: str | None,
        frame: pd.DataFrame | None = None,
        **options: Any,
    ) -> Table:
        """A table of the records by these variables."""
        if isinstance(by, tuple):
            names = [self.spanning(name).name for name in by]
            by = {name: self.classifications[name].hierarchy for name in names}
        frame = self.frame if frame is None else frame
        if options.get("request"):
            frame = frame.assign(**{NUMBER_OF_REQUESTS: frame[options["request"]]})
        listed = {name: self.classifications[name] for name in by}
        return tabulate(
            frame,
            by,
            response,
            recode={name: one.recode for name, one in listed.items() if one.recode},
            # Codes are what they are, as in τ-ARGUS: 1 and 01 are two codes.
            spelling={name: Spelling(False, {code: code for code in frame[name].unique()}) for name in listed},
            names="exact",
            weights="secret",
            **options,
        )


def holds_contributions_of(request: ArgusRequest) -> str:
    """Whose contributions rules protect: records, holdings, both, or of none, if no P or NK applies."""
    levels = []
    for level, part in (("records", slice(0, 2)), ("holdings", slice(2, 4))):
        if any(any(numbers) for name in ("P", "NK") for numbers in request.calls(name)[part]):
            levels.append(level)
    return "both" if len(levels) == 2 else levels[0] if levels else "none"


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
