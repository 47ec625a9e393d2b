"""Apache Parquet."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import FormatError
from discreet.release import Release


def write_release(release: Release, path: str | Path) -> None:
    """Write one row per cell. Suppressed values are null and marked in the column ``suppressed``."""
    frame = release.frame()
    if "suppressed" in frame:
        raise FormatError("A column is called 'suppressed', as is the one that marks suppressed cells: rename it.")
    frame.assign(suppressed=release.suppressed).to_parquet(path, index=False)
