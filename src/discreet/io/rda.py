"""Microdata with a τ-ARGUS ``.rda`` layout: fixed-width, or with separators and without names in line 1."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from discreet.data.reading import DEFAULT_READING, Reading
from discreet.io.argus.metadata import read_metadata
from discreet.io.argus.records import read_records


def read_microdata(path: str | Path, layout: str | Path, reading: Reading = DEFAULT_READING) -> pd.DataFrame:
    """The records of a file, as text and numbers according to its ``.rda`` layout.

    Codes are stripped of blanks; numbers have their decimal separator in the file. Codes that the layout lists as missing are
    kept, as they may be a category of their own; numbers that it lists as missing are missing.
    """
    return read_records(path, read_metadata(layout, "records"), reading).reset_index(drop=True)
