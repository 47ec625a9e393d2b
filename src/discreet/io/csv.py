"""Comma-separated values."""

from __future__ import annotations

from pathlib import Path

from discreet.release import Release


def write_release(release: Release, path: str | Path) -> None:
    """One row a cell; hidden values are written as the suppression symbol."""
    release.frame(symbols=True).to_csv(path, index=False, encoding="utf-8")
