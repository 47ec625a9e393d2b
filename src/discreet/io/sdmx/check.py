"""Check of written SDMX files: one observation per cell, with its value and the flags of the public edition."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from discreet.io.refusal import refuse
from discreet.io.sdmx.code_lists import parsed_xml
from discreet.io.sdmx.observations import (
    CONF_STATUS,
    OBS_LOWER,
    OBS_STATUS,
    OBS_UPPER,
    OBS_VALUE,
    dataflow,
    identifiers,
)
from discreet.release import Release


def check_csv(release: Release, path: Path) -> None:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    names = [name for name in ("DATAFLOW", "STRUCTURE_ID") if name in frame]
    flow = dataflow(release.presentation.metadata)
    if len(names) != 1 or not (frame[names[0]] == flow).all():
        refuse("dataflows", [flow])
    _check(
        release,
        frame.drop(columns=[name for name in ("DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "ACTION") if name in frame]),
    )


def check_ml(release: Release, path: Path) -> None:
    rows = [dict(element.attrib) for element in parsed_xml(path).iter() if element.tag.rpartition("}")[2] == "Obs"]
    ids = identifiers(release)
    names = [*ids.columns.values(), OBS_VALUE, OBS_STATUS, CONF_STATUS, *(OBS_LOWER, OBS_UPPER)[: len(release.ends)]]
    others = {name for row in rows for name in row} - set(names)
    if others:
        refuse("columns", sorted(others))
    _check(release, pd.DataFrame(rows, columns=names).fillna(""))


def check_structure(release: Release, path: Path) -> None:
    """Raise unless the code lists have the codes of the release."""
    ids = identifiers(release)
    expected = {
        f"CL_{ids.columns[name]}": {ids.codes[name][code] for code in codes} for name, codes in release.codes.items()
    }
    found = {
        element.get("id"): {code.get("id") for code in element if code.tag.endswith("}Code")}
        for element in parsed_xml(path).iter()
        if element.tag.endswith("}Codelist")
    }
    wrong = [name for name, codes in expected.items() if found.get(name) != codes]
    if wrong:
        refuse("code lists", wrong)


def _check(release: Release, frame: pd.DataFrame) -> None:
    ids, flags = identifiers(release), release.presentation.sdmx
    ends = dict(zip((OBS_LOWER, OBS_UPPER), release.ends.values(), strict=False))
    expected = [*ids.columns.values(), OBS_VALUE, OBS_STATUS, CONF_STATUS, *ends]
    if list(frame.columns) != expected:
        refuse("columns", list(frame.columns))
    codes = [[ids.codes[name][code] for code in listed] for name, listed in release.codes.items()]
    if [frame[name].tolist() for name in ids.columns.values()] != codes:
        refuse("cells", frame.iloc[:, 0].tolist()[:3])
    cells = list(zip(*release.codes.values(), strict=True))
    for name, column in {OBS_VALUE: release.value, **ends}.items():
        for cell, text, value in zip(cells, frame[name].tolist(), column.tolist(), strict=True):
            if (text == "") != (value != value) or (text and float(text) != value):
                refuse("cells", [cell])
    for cell, suppressed, status, flag in zip(
        cells, release.suppressed.tolist(), frame[OBS_STATUS].tolist(), frame[CONF_STATUS].tolist(), strict=True
    ):
        if (status, flag) != ((flags.status, flags.flag) if suppressed else (flags.published, flags.free)):
            refuse("flags", [cell])
