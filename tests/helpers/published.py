"""A release with everything: levels, labels in two languages, suppressed cells, metadata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from discreet import Layout, Presentation, ReleaseMetadata, Sdmx, assess, audit, protect, publish, tabulate
from discreet.data.hierarchy import Hierarchy
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.release import Release

BRANCHES = Hierarchy.from_pairs([("I", ""), ("S", ""), ("10", "I"), ("20", "I"), ("45", "S"), ("47", "S")]).with_labels(
    {"": {"I": "Industry", "S": "Services", "10": "Food", "20": "Chemicals"}, "de": {"I": "Industrie", "10": "Nahrung"}}
)
SIZES = Hierarchy.flat(["0-9", "10+"]).with_labels({"": {"0-9": "Up to 9", "10+": "10 and more"}})
TOLD = ReleaseMetadata(
    title="Turnover of enterprises",
    subtitle="2025",
    unit="1 000 EUR",
    source="Business survey",
    notes=("Provisional figures.", "By main activity."),
    contact="info@example.org",
    subject="Business",
    updated="2026-03-31",
    names={"branch": "Branch of industry", "turnover": "Turnover"},
    agency="XX",
    dataflow="TURNOVER",
    version="1.2",
)
PRESENTED = Presentation(TOLD, ids={"size": {"10+": "10PLUS"}})


def records(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "branch": rng.choice(["10", "20", "45", "47"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "size": rng.choice(["0-9", "10+"], n, p=[0.8, 0.2]),
            "region": rng.choice(["N", "W"], n),
            "turnover": (rng.lognormal(4, 1, n) * 10).round(1),
        }
    )


def results(dimensions: int = 2, method: str = "kelly") -> tuple[Problem, Protection]:
    by = dict(list({"branch": BRANCHES, "size": SIZES, "region": None}.items())[:dimensions])
    problem = assess(tabulate(records(), by, "turnover", top=3), ["P(20)", "NK(2,90)", "FREQ(3)"])
    return problem, protect(problem, method)


def released(
    dimensions: int = 2,
    method: str = "kelly",
    layout: Layout | None = None,
    sdmx: Sdmx | None = None,
    **options: object,
) -> Release:
    problem, protection = results(dimensions, method)
    presentation = replace(PRESENTED, layout=layout or Layout(), sdmx=sdmx or Sdmx())
    return publish(problem, protection, audit(problem, protection), presentation=presentation, **options)  # type: ignore[arg-type]


def cells(release: Release) -> dict[tuple[str, ...], float]:
    """The value of each listed cell; NaN if suppressed."""
    return dict(zip(zip(*release.codes.values(), strict=True), release.value.tolist(), strict=True))
