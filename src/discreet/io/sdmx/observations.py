"""The observations of a data message: identifiers of columns and codes, values and flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from discreet.data.side_files import read_side_file
from discreet.errors import FormatError, some
from discreet.io.cube import number_text
from discreet.presentation import IDENTIFIER, ReleaseMetadata
from discreet.release import TOTAL, Release

OBS_VALUE, OBS_STATUS, CONF_STATUS = "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"
OBS_LOWER, OBS_UPPER = "OBS_LOWER", "OBS_UPPER"  # attributes with the ends of intervals
ALL_TOTAL = "_T"  # the code for totals in the code lists of SDMX
COLUMN_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
RESERVED = frozenset(
    [
        "STRUCTURE",
        "STRUCTURE_ID",
        "STRUCTURE_NAME",
        "ACTION",
        "DATAFLOW",
        OBS_VALUE,
        OBS_STATUS,
        CONF_STATUS,
        OBS_LOWER,
        OBS_UPPER,
    ]
)


@dataclass(frozen=True)
class Identifiers:
    """The identifiers of columns and of their codes."""

    columns: Mapping[str, str]
    codes: Mapping[str, Mapping[str, str]]


def read_ids(path: object) -> dict[str, dict[str, str]]:
    """Identifiers by column and code, from a file with the columns ``column``, ``code`` and ``id``; no code: of the column."""
    ids: dict[str, dict[str, str]] = {}
    for number, row in read_side_file(str(path), ["column", "code", "id"]):
        column, code, given = (row[name].strip() for name in ("column", "code", "id"))
        if code in ids.setdefault(column, {}):
            what = f"code {code!r} of column {column!r}" if code else f"column {column!r}"
            raise FormatError(f"{path}, line {number}: {what} occurs a second time. Leave one line.", [code or column])
        ids[column][code] = given
    return ids


def identifiers(release: Release) -> Identifiers:
    """The identifiers of a release: those given, ``_T`` for totals with the default name, otherwise names and codes."""
    given, columns, codes = release.presentation.ids, {}, {}
    unknown = [name for name in given if name not in release.codes]
    if unknown:
        raise FormatError(
            f"ids: there is no column {some(unknown)}; the release has {some(list(release.codes), 9)}.", unknown
        )
    for column, listed in release.codes.items():
        mine, distinct = given.get(column, {}), dict.fromkeys(listed)
        default = {TOTAL: ALL_TOTAL} if column in release.default_totals and ALL_TOTAL not in distinct else {}
        columns[column] = mine.get("", column)
        codes[column] = {code: mine.get(code, default.get(code, code)) for code in distinct}
    _check_columns(columns)
    for column, of in codes.items():
        _check_codes(column, of)
    return Identifiers(columns, codes)


IDS_ADVICE = (
    "Give them identifiers in a file with the columns column, code and id ([sdmx] ids, in Python Presentation(ids=…))."
)


def _check_columns(columns: Mapping[str, str]) -> None:
    wrong = [name for name, given in columns.items() if not COLUMN_ID.fullmatch(given) or given.upper() in RESERVED]
    if wrong:
        raise FormatError(f"Columns cannot be identifiers in SDMX: {some(wrong)}. {IDS_ADVICE}", wrong)
    _check_distinct("Columns", columns)


def _check_codes(column: str, codes: Mapping[str, str]) -> None:
    wrong = [code for code, given in codes.items() if not IDENTIFIER.fullmatch(given)]
    if wrong:
        raise FormatError(
            f"Codes of column {column!r} cannot be identifiers in SDMX, which have letters, digits, _, @, $ and -: "
            f"{some(wrong)}. {IDS_ADVICE}",
            wrong,
        )
    _check_distinct(f"Codes of column {column!r}", codes)


def _check_distinct(what: str, ids: Mapping[str, str]) -> None:
    listed = list(ids.values())
    twice = [name for name, given in ids.items() if listed.count(given) > 1] if len(set(listed)) < len(listed) else []
    if twice:
        raise FormatError(f"{what} have the same identifier in SDMX: {some(twice)}. {IDS_ADVICE}", twice)


def dataflow(about: ReleaseMetadata) -> str:
    """The dataflow as ``AGENCY:ID(1.0)``."""
    missing = [name for name in ("agency", "dataflow") if not getattr(about, name)]
    if missing:
        raise FormatError(
            f"SDMX needs the {' and the '.join(missing)}: state {' and '.join(missing)} in [metadata], in Python in "
            "ReleaseMetadata(agency=…, dataflow=…).",
            missing,
        )
    return f"{about.agency}:{about.dataflow}({about.version})"


def observations(release: Release) -> pd.DataFrame:
    """The observations of the public edition as text. All suppressed cells have the same flags, and no value."""
    flags = release.presentation.sdmx
    suppressed = release.suppressed
    return frame_of(
        release,
        [number_text(value) if value == value else "" for value in release.value.tolist()],
        np.where(suppressed, flags.status, flags.published).tolist(),
        np.where(suppressed, flags.flag, flags.free).tolist(),
    )


def frame_of(release: Release, values: list[str], status: list[str], confidentiality: list[str]) -> pd.DataFrame:
    """Observations with these values and flags, one row per cell of the release."""
    ids = identifiers(release)
    columns: dict[str, list[str]] = {
        ids.columns[column]: [ids.codes[column][code] for code in codes] for column, codes in release.codes.items()
    }
    columns |= {OBS_VALUE: values, OBS_STATUS: status, CONF_STATUS: confidentiality}
    for name, end in zip((OBS_LOWER, OBS_UPPER), release.ends.values(), strict=False):
        columns[name] = [number_text(value) if value == value else "" for value in end.tolist()]
    return pd.DataFrame(columns)
