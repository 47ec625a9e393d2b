"""The content of the shareable report: it follows from the release and the classifications.

Nothing here reads a value, level, cost or status of the problem. Three facts are left out on purpose. With a digest, a reader who
knows all values but one could find the last one by trial. The seed repeats random choices. If the pattern is known to be the
cheapest, a reader knows that every suppressed cell is needed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from discreet.attacks.public import code_indices
from discreet.data.hierarchy import Hierarchy
from discreet.io.csv import release_text
from discreet.languages import Language
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
METHOD_DESCRIPTIONS = {  # by the package of the method
    "suppress": "cell suppression",
    "intervals": "publication of intervals",
    "combined": "suppression, intervals and rounding combined",
    "perturbation": "perturbation of values",
    "rounding": "rounding",
    "counts": "rounding or perturbation of counts",
}


def shareable_content(
    release: Release, dimensions: Mapping[str, Hierarchy], rules: tuple[str, ...], method: str, respondents: bool
) -> Row:
    """The content of the template, in the language of the release. Of the ``rules`` it has the kinds, without parameters."""
    codes = code_indices(dimensions, release.codes, len(release))
    suppressed, interval = release.suppressed, _intervals(release)
    adjusted = interval & ~suppressed
    said_in, say, shown = release.language, release.language.say, release.in_words()
    trees = {
        name: _in_words(hierarchy, said_in) if name in release.default_totals else hierarchy
        for name, hierarchy in dimensions.items()
    }

    def describe(i: int) -> tuple[str, str]:
        if suppressed[i]:
            return ("h i", say("suppressed, interval published")) if interval[i] else ("h", say("suppressed"))
        return ("a", say("published, stands for an interval")) if interval[i] else ("o", say("published"))

    drawn = maps(
        trees,
        codes,
        describe,
        suppressed,
        empty=say("empty, or zero") if release.complete else say("no cell, or zero"),
        response=shown.response,
        said_in=said_in,
    )
    losses = [
        suppressed_by_code(name, tree, codes[d], suppressed, lang=release.lang)
        for d, (name, tree) in enumerate(trees.items())
    ]
    return {
        "response": shown.response,
        "dimensions": list(trees),
        "tiles": _tiles(release, suppressed, interval),
        "reasons": _reasons(rules, bool(suppressed.any()), bool(adjusted.any()), said_in),
        "legend": release.legend(),
        "respondents": respondents,
        "kinds": [k for k, seen in (("h", suppressed), ("i", interval & suppressed), ("a", adjusted)) if seen.any()],
        "map": drawn,
        "losses": losses if suppressed.any() else [],
        "program": versions().split(",")[0],
        "facts": {
            **_method(method, said_in),
            say("Versions"): versions(),
            say("SHA-256 of the release as CSV"): hashlib.sha256(release_text(release).encode("utf-8")).hexdigest(),
        },
    }


def _in_words(hierarchy: Hierarchy, said_in: Language) -> Hierarchy:
    """The hierarchy with the name of its total in a language."""
    return replace(hierarchy, codes=(said_in.say(hierarchy.total), *hierarchy.codes[1:]))


def _intervals(release: Release) -> np.ndarray:
    """Cells with a published interval."""
    if release.lower is None or release.upper is None:
        return np.zeros(len(release), dtype=bool)
    one_end = np.isnan(release.lower) != np.isnan(release.upper)
    return np.asarray(one_end | (release.lower < release.upper))


def _tiles(release: Release, suppressed: np.ndarray, interval: np.ndarray) -> list[tuple[str, str, str]]:
    """Label, figure and note of the main figures."""
    said_in, say = release.language, release.language.say

    def percent(part: int) -> str:
        return said_in.number(words.percent(part / n if n else None))

    def number(count: int) -> str:
        return said_in.number(f"{count:,}")

    n, n_suppressed, n_adjusted = len(release), int(suppressed.sum()), int((interval & ~suppressed).sum())
    n_intervals = int((interval & suppressed).sum())
    exact = n - n_suppressed - n_adjusted
    tiles = [
        (say("Cells"), number(n), say("listed in the release")),
        (say("Published"), percent(exact), say("{n} of {m}, with their values", n=exact, m=n)),
        (say("Suppressed"), percent(n_suppressed), say("{n} of {m}", n=n_suppressed, m=n)),
    ]
    if n_intervals:
        tiles.append((say("Intervals"), number(n_intervals), say("for suppressed cells")))
    if n_adjusted:
        tiles.append((say("Adjusted"), number(n_adjusted), say("values that stand for an interval")))
    return tiles


def _method(name: str, said_in: Language) -> dict[str, str]:
    """The name and kind of the method; empty for patterns that were read from a file."""
    if name == MANUAL:
        return {}
    found = METHODS.get(name)
    kind = METHOD_DESCRIPTIONS.get(found.__module__.split(".")[2]) if found else None
    return {said_in.say("Method"): f"{name}: {said_in.say(kind)}" if kind else name}


def _reasons(rules: tuple[str, ...], suppresses: bool, adjusts: bool, said_in: Language) -> str:
    """Why cells are not published with their values: the kinds of rules, without their parameters."""
    say = said_in.say
    if not suppresses and not adjusts:
        return say("Every cell is published with its value.")
    names = [found[1].upper() for rule in rules if (found := re.match(r"\s*(\w+)\s*\(", rule))]
    kinds = [say(RULE_DESCRIPTIONS[name]) for name in dict.fromkeys(names) if name in RULE_DESCRIPTIONS]
    by = words.listed(kinds, said_in=said_in) if kinds and len(names) == len(rules) else say("the rules of the office")
    texts = [say("Some cells would disclose too much about single respondents by {rules}.", rules=by)]
    if suppresses:
        texts += [
            say("Such cells are suppressed, and further cells with them, so that none can be computed from totals."),
            say("The reason for the suppression of each cell is not published, nor are the parameters of the rules."),
        ]
    if adjusts:
        texts.append(
            say(
                "Some values are replaced by others, each of which stands for an interval that contains the true value."
            )
        )
    return " ".join(texts)
