"""Fixed-width microdata with a τ-ARGUS ``.rda`` layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from discreet.errors import FormatError


@dataclass
class _Variable:
    name: str
    start: int
    width: int
    missing: tuple[str, ...]
    numeric: bool = False


def read_microdata(path: str | Path, layout: str | Path) -> pd.DataFrame:
    """Records of a fixed-width file as text and numbers, as its ``.rda`` layout says.

    Codes are stripped of blanks; numbers are read as they stand (a decimal point is written out in the file). Codes listed as
    missing are kept: whether unknown is a category of its own is for the user to say.
    """
    variables = _layout(Path(layout))
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except UnicodeDecodeError:
        text = Path(path).read_text(encoding="latin-1")
    lines = [line for line in text.splitlines() if line.strip()]
    columns = {}
    for v in variables:
        column = pd.Series([line[v.start : v.start + v.width].strip() for line in lines], dtype=str)
        if v.numeric:
            numbers = pd.to_numeric(column, errors="coerce")
            bad = numbers.isna() & ~column.isin(["", *v.missing])
            if bad.any():
                raise FormatError(
                    f"{path}, line {int(bad.argmax()) + 1}: variable {v.name!r} is not a number. Is the layout right?"
                )
            columns[v.name] = numbers
        else:
            columns[v.name] = column
    return pd.DataFrame(columns)


def _layout(path: Path) -> list[_Variable]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise FormatError(f"Layout {path} does not exist.") from None
    variables: list[_Variable] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        if words[0].startswith("<"):
            if not variables:
                raise FormatError(f"{path}, line {number}: an option before the first variable.")
            variables[-1].numeric |= words[0].upper() in ("<NUMERIC>", "<WEIGHT>")
            continue
        if len(words) < 3 or not (words[1].isdigit() and words[2].isdigit()) or int(words[1]) < 1:
            raise FormatError(f"{path}, line {number}: a variable reads 'name start width [missing codes]'.")
        variables.append(_Variable(words[0], int(words[1]) - 1, int(words[2]), tuple(words[3:])))
    if not variables:
        raise FormatError(f"{path} lists no variables.")
    return variables
