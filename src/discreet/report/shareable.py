"""What the shareable edition shows: what follows from the release, the classifications, and words that fit any table.

Nothing here reads a value, a level, a cost or a status of the problem. Digests are missing on purpose: whoever has all but one
value could try out which one gives the digest. So are the seed, which repeats random choices, and whether the pattern is the
cheapest, which tells that no cell was suppressed in vain.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.data.hierarchy import Hierarchy
from discreet.io.csv import release_text
from discreet.methods import METHODS
from discreet.protection import MANUAL
from discreet.release import Release
from discreet.report import words
from discreet.report.maps import maps
from discreet.report.view import suppressed_by_code, versions

Row = dict[str, Any]

RULE_DESCRIPTIONS = {
    "P": "the p-percent rule",
    "PQ": "the prior-posterior rule",
    "NK": "the dominance rule",
    "FREQ": "a least number of contributors",
    "WFREQ": "a least weighted number of contributors",
    "ZERO": "a rule about zeros that were reported",
    "REQ": "a limit for those who asked for protection",
}


def shareable_content(
    release: Release, dimensions: Mapping[str, Hierarchy], rules: tuple[str, ...], method: str, respondents: bool
) -> Row:
    """Everything the template gets. ``rules`` lose their numbers here."""
    codes = np.array(
        [[hierarchy.index(code) for code in release.codes[name]] for name, hierarchy in dimensions.items()], dtype=int
    ).reshape(len(dimensions), len(release))
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
        "why": _why(rules, bool(suppressed.any()), bool(adjusted.any())),
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
    """Cells of which readers are told an interval."""
    if release.lower is None or release.upper is None:
        return np.zeros(len(release), dtype=bool)
    one_end = np.isnan(release.lower) != np.isnan(release.upper)
    return np.asarray(one_end | (release.lower < release.upper))


def _tiles(release: Release, suppressed: np.ndarray, interval: np.ndarray) -> list[tuple[str, str, str]]:
    n, gone, told = len(release), int(suppressed.sum()), int((interval & ~suppressed).sum())
    ends = int((interval & suppressed).sum())
    exact = n - gone - told
    found = [
        ("Cells", f"{n:,}", "listed in the release"),
        ("Published", words.percent(exact / n if n else None), f"{exact:,} with their values"),
        ("Hidden", words.percent(gone / n if n else None), f"{gone:,} of {n:,}"),
    ]
    found += [("Intervals", f"{ends:,}", "of the suppressed cells have an interval")] if ends else []
    found += [("Adjusted", f"{told:,}", "have a value that stands for an interval")] if told else []
    return found


def _method(name: str) -> dict[str, str]:
    """What the method does; nothing of a pattern that was read from a file, which does not say how it was found."""
    if name == MANUAL:
        return {}
    told = (getattr(METHODS.get(name), "__doc__", "") or "").strip().splitlines()
    return {"Method": f"{name}: {told[0].replace('``', '')}" if told else name}


def _why(rules: tuple[str, ...], suppresses: bool, adjusts: bool) -> str:
    """Which kinds of rules there are, never their numbers."""
    if not suppresses and not adjusts:
        return "Every cell is published with its value."
    names = [found[1].upper() for rule in rules if (found := re.match(r"\s*(\w+)\s*\(", rule))]
    kinds = [RULE_DESCRIPTIONS[name] for name in dict.fromkeys(names) if name in RULE_DESCRIPTIONS]
    by = f" by {words.listed(kinds)}" if kinds and len(names) == len(rules) else ""
    text = f"Some cells would say too much about single respondents, judged{by or ' by rules of the office'}."
    if suppresses:
        text += (
            " Such cells are suppressed, and others with them, so that none can be computed from totals. Which cells"
            " are suppressed for which reason is not told, nor are the numbers of the rules."
        )
    if adjusts:
        text += " Values of some cells are replaced by others, which stand for an interval that holds the true one."
    return text
