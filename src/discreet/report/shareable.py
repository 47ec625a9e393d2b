"""The content of the shareable report: it follows from the release and the classifications.

Nothing here reads a value, level, cost or status of the problem. Three facts are left out on purpose. With a digest, a reader who
knows all values but one could find the last one by trial. The seed repeats random choices. If the pattern is known to be the
cheapest, a reader knows that every suppressed cell is needed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

import numpy as np

from discreet.attacks.public import code_indices
from discreet.data.hierarchy import Hierarchy
from discreet.io.csv import release_text
from discreet.methods import METHODS
from discreet.protection import MANUAL
from discreet.release import Release
from discreet.report import words
from discreet.report.maps import maps
from discreet.report.templates import Row
from discreet.report.view import suppressed_by_code, versions

RULE_DESCRIPTIONS = {
    "P": "the p-percent rule",
    "PQ": "the prior-posterior rule",
    "NK": "the dominance rule",
    "FREQ": "a least number of contributors",
    "WFREQ": "a least weighted number of contributors",
    "ZERO": "a rule about reported zeros",
    "REQ": "a limit for respondents who requested protection",
}


def shareable_content(
    release: Release, dimensions: Mapping[str, Hierarchy], rules: tuple[str, ...], method: str, respondents: bool
) -> Row:
    """The content of the template. Of the ``rules`` it has the kinds, without parameters."""
    codes = code_indices(dimensions, release.codes, len(release))
    suppressed, interval = release.suppressed, _intervals(release)
    adjusted = interval & ~suppressed

    def describe(i: int) -> tuple[str, str]:
        if suppressed[i]:
            return ("h i", "suppressed, interval published") if interval[i] else ("h", "suppressed")
        return ("a", "published, stands for an interval") if interval[i] else ("o", "published")

    drawn = maps(
        dimensions,
        codes,
        describe,
        suppressed,
        empty="empty, or zero" if release.complete else "no cell, or zero",
        response=release.response,
    )
    losses = [
        suppressed_by_code(name, hierarchy, codes[d], suppressed)
        for d, (name, hierarchy) in enumerate(dimensions.items())
    ]
    return {
        "response": release.response,
        "dimensions": list(dimensions),
        "tiles": _tiles(release, suppressed, interval),
        "reasons": _reasons(rules, bool(suppressed.any()), bool(adjusted.any())),
        "respondents": respondents,
        "kinds": [k for k, seen in (("h", suppressed), ("i", interval & suppressed), ("a", adjusted)) if seen.any()],
        "map": drawn,
        "losses": losses if suppressed.any() else [],
        "facts": {
            **_method(method),
            "Versions": versions(),
            "SHA-256 of the release as CSV": hashlib.sha256(release_text(release).encode("utf-8")).hexdigest(),
        },
    }


def _intervals(release: Release) -> np.ndarray:
    """Cells with a published interval."""
    if release.lower is None or release.upper is None:
        return np.zeros(len(release), dtype=bool)
    one_end = np.isnan(release.lower) != np.isnan(release.upper)
    return np.asarray(one_end | (release.lower < release.upper))


def _tiles(release: Release, suppressed: np.ndarray, interval: np.ndarray) -> list[tuple[str, str, str]]:
    """Label, figure and note of the main figures."""
    n, n_suppressed, n_adjusted = len(release), int(suppressed.sum()), int((interval & ~suppressed).sum())
    n_intervals = int((interval & suppressed).sum())
    exact = n - n_suppressed - n_adjusted
    tiles = [
        ("Cells", f"{n:,}", "listed in the release"),
        ("Published", words.percent(exact / n if n else None), f"{exact:,} with their values"),
        ("Suppressed", words.percent(n_suppressed / n if n else None), f"{n_suppressed:,} of {n:,}"),
    ]
    tiles += [("Intervals", f"{n_intervals:,}", "of the suppressed cells have an interval")] if n_intervals else []
    tiles += [("Adjusted", f"{n_adjusted:,}", "have a value that stands for an interval")] if n_adjusted else []
    return tiles


def _method(name: str) -> dict[str, str]:
    """The name and description of the method; empty for patterns that were read from a file."""
    if name == MANUAL:
        return {}
    lines = (getattr(METHODS.get(name), "__doc__", "") or "").strip().splitlines()
    return {"Method": f"{name}: {lines[0].replace('``', '')}" if lines else name}


def _reasons(rules: tuple[str, ...], suppresses: bool, adjusts: bool) -> str:
    """Why cells are not published with their values: the kinds of rules, without their parameters."""
    if not suppresses and not adjusts:
        return "Every cell is published with its value."
    names = [found[1].upper() for rule in rules if (found := re.match(r"\s*(\w+)\s*\(", rule))]
    kinds = [RULE_DESCRIPTIONS[name] for name in dict.fromkeys(names) if name in RULE_DESCRIPTIONS]
    by = f" by {words.listed(kinds)}" if kinds and len(names) == len(rules) else ""
    text = f"Some cells would disclose too much about single respondents{by or ' by the rules of the office'}."
    if suppresses:
        text += (
            " Such cells are suppressed, and further cells with them, so that none can be computed from totals. The reason for"
            " the suppression of each cell is not published, nor are the parameters of the rules."
        )
    if adjusts:
        text += (
            " Some values are replaced by others, each of which stands for an interval that contains the true value."
        )
    return text
