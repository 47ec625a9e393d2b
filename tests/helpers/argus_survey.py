"""A survey in the files of τ-ARGUS, and what the rules of its manual say about it, worked out from the records.

Nothing here uses the package: cells are lists of records, and each rule is a formula of section 4.4.4 of the manual.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

OPEN = '<OPENMICRODATA> "survey.asc"\n<OPENMETADATA> "survey.rda"\n'
TABLE = '<SPECIFYTABLE> "Size""Region"|"Turnover"\n<SAFETYRULE> P(20)\n'
JOB = f"{OPEN}{TABLE}<READMICRODATA>\n"  # five lines
REGIONS = {"N": ["N1", "N2"], "S": ["S1", "S2", "S3"], "W": ["W1"]}  # W has a single region: a trivial level
INDUSTRIES = ["101", "102", "110", "201", "202"]  # read by their digits: 1, then 1, then 1
LAYOUT = """\
Year 1 2 99
  <RECODEABLE>
  <DISTANCE> 1 2 3
Industry 4 3
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 1 1 1
Size 8 1
  <RECODEABLE>
  <DISTANCE> 1 5 9
Region 10 2
  <RECODEABLE>
  <TOTCODE> "All"
  <CODELIST> "region.cdl"
  <HIERARCHICAL>
  <HIERCODELIST> "REGION.HRC"
  <HIERLEADSTRING> "--"
Weight 13 3
  <WEIGHT>
  <DECIMALS> 1
Group 17 3
  <HOLDING>
Asked 21 1
  <REQUEST> "1" "2"
Turnover 23 8
  <NUMERIC>
  <DECIMALS> 1
Staff 32 4
  <NUMERIC>
Key 37 10
  <RECORDKEY>
  <DECIMALS> 8
  <PFILE> "ptable.txt"
"""


def said(result: Any, *words: str) -> bool:
    """Whether a line of the log has all these words."""
    return any(all(word in line for word in words) for line in result.log)


@dataclass(frozen=True)
class Record:
    """A line of the survey."""

    year: str
    industry: str
    size: str
    region: str
    weight: float
    group: str
    asked: str
    turnover: float
    staff: int
    key: float

    @property
    def line(self) -> str:
        numbers = f"{self.weight:3.1f} {self.group} {self.asked} {self.turnover:8.1f} {self.staff:4d} {self.key:10.8f}"
        return f"{self.year} {self.industry} {self.size} {self.region} {numbers}"


def survey(folder: Path, n: int = 60, seed: int = 7) -> list[Record]:
    """Write survey.asc, survey.rda and the files that it names; returns the records, grouped by holding."""
    draw = random.Random(seed)
    regions = [leaf for leaves in REGIONS.values() for leaf in leaves]
    records = []
    for group in range(n // 2):
        for _ in range(draw.choice([1, 2, 3])):
            records.append(
                Record(
                    draw.choice(["21", "22", "99"]),
                    draw.choice(INDUSTRIES),
                    draw.choice("1234"),
                    draw.choice(regions),
                    draw.choice([1.0, 1.0, 2.0, 2.5]),
                    f"{group:03d}",
                    draw.choice("00012"),
                    round(draw.lognormvariate(4, 1.2), 1) if draw.random() > 0.08 else 0.0,
                    draw.randrange(1, 200),
                    round(draw.random(), 8),
                )
            )
    (folder / "survey.asc").write_text("\r\n".join(record.line for record in records) + "\r\n")
    (folder / "survey.rda").write_text(LAYOUT)
    lines = [text for top, leaves in REGIONS.items() for text in (top, *(f"--{leaf}" for leaf in leaves))]
    (folder / "region.hrc").write_text("\n".join(lines) + "\n")
    (folder / "region.cdl").write_text("N,Nörd\nS,South, with a comma\n", encoding="latin-1")
    return records


# -- cells -----------------------------------------------------------------------------------------------------------

ABOVE: dict[str, Callable[[Record], list[str]]] = {
    "Year": lambda r: ["Total", r.year],
    "Size": lambda r: ["Total", r.size],
    "Industry": lambda r: ["Total", r.industry[:1], r.industry[:2], r.industry],
    "Region": lambda r: ["All", next(top for top, leaves in REGIONS.items() if r.region in leaves), r.region],
}

Cells = dict[tuple[str, ...], list[Record]]


def cells(records: Iterable[Record], *by: str) -> Cells:
    """The records of each cell that has any, totals included."""
    found: Cells = {}
    for record in records:
        for codes in product(*(ABOVE[name](record) for name in by)):
            found.setdefault(codes, []).append(record)
    return found


def by_holding(records: list[Record], amount: Callable[[Record], float]) -> list[float]:
    """What the holdings contribute to a cell, largest first."""
    sums: dict[str, float] = {}
    for record in records:
        sums[record.group] = sums.get(record.group, 0.0) + amount(record)
    return sorted(sums.values(), reverse=True)


# -- rules: by how much a cell must be uncertain, or None if the rule does not call it unsafe ----


def percent_rule(x: list[float], total: float, p: float, n: int = 1, q: float = 100.0) -> float | None:
    """The coalition of the next n knows others to within q %; they must not estimate the largest to within p %."""
    rest = total - sum(x[: n + 1])
    need = p / q * x[0] - rest if x else 0.0
    return need if need > 1e-9 else None


def dominance(x: list[float], total: float, n: int, k: float) -> float | None:
    """The n largest make more than k %."""
    need = 100 / k * sum(x[:n]) - total
    return need if total > 0 and need > 1e-9 else None


def as_often_as_weights(records: list[Record], units: int) -> list[float]:
    """The first units of a cell in which every contribution occurs as often as its weight says."""
    found: list[float] = []
    room = 1.0
    current = 0.0
    for record in sorted(records, key=lambda r: -r.turnover):
        left = record.weight
        while left > 1e-12 and len(found) < units:
            part = min(left, room)
            current, left, room = current + part * record.turnover, left - part, room - part
            if room < 1e-12:
                found.append(current)
                current, room = 0.0, 1.0
    return [*found, current] if len(found) < units else found
