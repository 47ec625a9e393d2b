"""The transmission edition: flags with the reason why each cell is suppressed, for another statistical office. Confidential."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from discreet.drafts import create_private
from discreet.errors import FormatError, InputError, RuleError, some
from discreet.io.cube import number_text
from discreet.io.sdmx import csv1, csv2, ml
from discreet.io.sdmx.observations import frame_of
from discreet.presentation import ReleaseMetadata, Sdmx
from discreet.problem import Problem
from discreet.protection import Decision, Protection
from discreet.release import Release
from discreet.rules import RULES, Dominance, Rule, parse_rules

TRANSMISSION_WRITERS: Mapping[str, Callable[[pd.DataFrame, ReleaseMetadata, str | Path], None]] = {
    ".sdmx.csv": csv2.write_observations,
    ".sdmx1.csv": csv1.write_observations,
    ".sdmx.xml": ml.write_observations,
}
CONFIDENTIAL, PROTECTING = "C", "D"  # sensitive for other reasons; suppressed to protect others
ONE_OR_TWO = "G"  # dominance by one, and by two
REASON_OF_RULE = {"FREQ": "A", "WFREQ": "A", "P": "M", "PQ": "M", "NK": "M", "ZERO": CONFIDENTIAL, "REQ": CONFIDENTIAL}
DOMINANCE = {1: "O", 2: "T"}  # of a dominance rule, by the number of contributors


def write_transmission(
    problem: Problem, protection: Protection, release: Release, path: str | Path, suffix: str = ""
) -> None:
    """The observations of a release with reason codes. Confidential: it tells sensitive cells from others.

    It has the values of suppressed cells only if ``Sdmx.values`` is set. ``suffix`` is that of the file if ``path`` is a draft.
    """
    name = suffix or Path(path).name.lower()
    write = next((write for end, write in TRANSMISSION_WRITERS.items() if name.endswith(end)), None)
    if write is None:
        raise FormatError(
            f"{path}: the name of a transmission edition ends in one of {some(list(TRANSMISSION_WRITERS))}."
        )
    create_private(path)
    write(transmission(problem, protection, release), release.presentation.metadata, path)


def transmission(problem: Problem, protection: Protection, release: Release) -> pd.DataFrame:
    """The observations with reason codes, in the order of the release."""
    flags = release.presentation.sdmx
    problem, protection = problem.listed, protection.listed
    cells = _cells(problem, release)
    suppressed = protection.suppressed[cells]
    if not np.array_equal(suppressed, release.suppressed):
        raise InputError("The release is of another protection: publish this one.")
    reasons = reason_codes(problem, protection, flags)[cells]
    values = np.where(suppressed & flags.values, problem.table.value[cells], release.value)
    has_value = ~np.isnan(values)
    return frame_of(
        release,
        [number_text(value) if given else "" for value, given in zip(values.tolist(), has_value.tolist(), strict=True)],
        np.where(has_value, flags.published, flags.status).tolist(),
        reasons.tolist(),
    )


def _cells(problem: Problem, release: Release) -> np.ndarray:
    """The cells of the problem that the release lists."""
    table = problem.table
    if table.names is not None:
        place = {name: i for i, name in enumerate(table.names)}
        return np.array([place[name] for name in release.codes["cell"]], dtype=np.int64)
    place_of = {tuple(column): i for i, column in enumerate(table.codes.T.tolist())}
    hierarchies = table.dimensions
    columns = [[hierarchies[name].index(code) for code in release.codes[name]] for name in hierarchies]
    return np.array([place_of[where] for where in zip(*columns, strict=True)], dtype=np.int64)


def reason_codes(problem: Problem, protection: Protection, flags: Sdmx) -> np.ndarray:
    """CONF_STATUS of every cell."""
    unknown = [name for name in flags.reasons if name not in (*RULES, "primary", "secondary")]
    if unknown:
        raise InputError(
            f"reasons: there is no rule {some(unknown)}. Choose from {some([*RULES, 'primary', 'secondary'], 12)}."
        )
    given = {"primary": CONFIDENTIAL, "secondary": PROTECTING, **flags.reasons}
    codes = np.full(len(problem), flags.free, dtype=object)
    codes[protection.decision == Decision.SECONDARY] = given["secondary"]
    primary = protection.decision == Decision.PRIMARY
    codes[primary] = given["primary"]
    if flags.conf_list == "full":
        open_ = primary.copy()  # the first rule decides by which a cell is sensitive
        both = primary.copy()
        for number in DOMINANCE:
            both &= _sensitive(problem, [rule for rule in _rules(problem) if _dominance(rule) == number])
        for rule in _rules(problem):
            found = open_ & _sensitive(problem, [rule])
            codes[found] = _code(rule, flags)
            open_ &= ~found
        if "NK" not in flags.reasons:
            dominated = np.isin(codes.astype(str), list(DOMINANCE.values()))
            codes[both & dominated] = ONE_OR_TWO
    return codes


def _rules(problem: Problem) -> Sequence[Rule]:
    """The rules of the problem; none if it does not record them in words that can be read."""
    try:
        return parse_rules(problem.rules, boundary=problem.boundary)  # type: ignore[arg-type]  # a problem has a valid one
    except RuleError:
        return ()


def _sensitive(problem: Problem, rules: Sequence[Rule]) -> np.ndarray:
    found = [rule(problem.table, None).sensitive for rule in rules]
    return np.any(found, axis=0) if found else np.zeros(len(problem), dtype=bool)


def _dominance(rule: Rule) -> int:
    """The number of contributors of a dominance rule; 0 for other rules."""
    return rule.n if isinstance(rule, Dominance) else 0


def _code(rule: Rule, flags: Sdmx) -> str:
    name = str(rule).partition("(")[0]
    if name in flags.reasons:
        return flags.reasons[name]
    return DOMINANCE.get(_dominance(rule), REASON_OF_RULE.get(name, CONFIDENTIAL))
