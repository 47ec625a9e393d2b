"""Code lists of τ-ARGUS (``.cdl``): one line ``code,label`` per code."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import FormatError
from discreet.io.argus.text import numbered_lines


def read_codelist(path: str | Path) -> dict[str, str]:
    """The label of each code, without blanks around either; a label may hold commas."""
    labels: dict[str, str] = {}
    for number, line in numbered_lines(path):
        code, _, label = line.partition(",")
        code = code.strip().strip('"').strip()
        if code in labels:
            raise FormatError(f"{path}, line {number}: code {code!r} occurs a second time.", [code])
        labels[code] = label.strip().strip('"')
    return labels
