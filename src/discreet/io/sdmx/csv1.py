"""SDMX-CSV 1.0: one row per cell with its flags, for systems that do not read 2.0."""

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
    """Observations below a header whose first column is the dataflow."""
    frame = frame.copy()
    frame.insert(0, "DATAFLOW", dataflow(about))
    Path(path).write_text(frame.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
