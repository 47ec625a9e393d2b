"""SDMX-CSV 2.0: one row per cell with its flags."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from discreet.io.sdmx.observations import dataflow, observations
from discreet.presentation import ReleaseMetadata
from discreet.release import Release


def write_release(release: Release, path: str | Path) -> None:
    """The public edition: all suppressed cells have the same flag."""
    write_observations(observations(release), release.presentation.metadata, path)


def write_observations(frame: pd.DataFrame, about: ReleaseMetadata, path: str | Path) -> None:
    """Observations below a header that names the dataflow; the action is information."""
    frame = frame.copy()
    for place, (name, entry) in enumerate(
        (("STRUCTURE", "dataflow"), ("STRUCTURE_ID", dataflow(about)), ("ACTION", "I"))
    ):
        frame.insert(place, name, entry)
    Path(path).write_text(frame.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
