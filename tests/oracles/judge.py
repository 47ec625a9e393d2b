"""The judge: reads a job, its records and what was written, and says how the release breaks its promise, if it does."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from tests.oracles.attackers import Attacker, shared
from tests.oracles.insiders import exposed
from tests.oracles.reader import Reading, read
from tests.oracles.records import Codes, Survey, read_survey
from tests.oracles.release import Release, differs_from_workbook, read_release, surplus_digits
from tests.oracles.rules import Need, needs, parse, unit


@dataclass(frozen=True)
class Violation:
    """One broken promise: its kind, the cell or respondent, and what was found."""

    kind: str
    what: str
    found: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}: {self.found}"


@dataclass(frozen=True)
class Guess:
    """A cell of which readers know an interval: what the midpoint attacker is measured by."""

    value: float
    lower: float
    upper: float
    published: tuple[float, float] | None  # the interval or the value that the release shows
    level: float
    step: float  # whole numbers: 1
    known_before: bool = False  # to within so many percent of the value, which is in the middle of that
    sensitive: bool = True  # otherwise it protects others


@dataclass
class Verdict:
    violations: list[Violation] = field(default_factory=list)
    sensitive: int = 0
    suppressed: int = 0
    guesses: list[Guess] = field(default_factory=list)

    def add(self, kind: str, what: Codes | str, found: str) -> None:
        self.violations.append(Violation(kind, what if isinstance(what, str) else " × ".join(what), found))


def judge(job: Path, *, guesses: bool = True) -> Verdict:
    """The verdict on the release that a job wrote into its output folder."""
    survey = read_survey(job)
    release = read_release(survey, survey.out / "release.csv")
    verdict = Verdict()
    book = survey.out / "release.xlsx"
    if book.exists() and "xlsx" in survey.output.get("formats", ["csv", "xlsx"]):
        wrong = differs_from_workbook(release, survey, book)
        if wrong:
            verdict.add("workbook", book.name, wrong)
    if "decimals" in survey.output:
        for place in surplus_digits(release, survey.output["decimals"]):
            verdict.add("digits", place, "has more decimals than the job asks for")
    required = needs(survey)
    verdict.sensitive = len(required)
    reading = read(survey, release)
    for place, what in reading.false:
        verdict.add("false", place, what)
    if not reading.false:
        _attack(survey, release, reading, required, verdict, guesses)
    if not verdict.violations and insiders_count(survey, release):
        for one in exposed(survey, release):
            group = " and ".join(one.insiders) or "everybody"
            cells = ", ".join(" × ".join(cell) for cell in one.cells)
            verdict.add(
                "insider", one.target, f"{group} learns too much through {cells} ({one.share:.3g} of what is required)"
            )
    return verdict


def insiders_count(survey: Survey, release: Release) -> bool:
    """Whether every respondent is to be safe: asked for, or by default where contributors are named and a rule is about them."""
    if release.with_intervals or not any(rule.about_contributions for rule in parse(survey.rules["sensitive"])):
        return False
    level = survey.protect.get("level")
    if level is not None:
        return level == "contributions"
    return "contributor" in survey.settings["data"] and len(survey.tables) == 1


def _attack(
    survey: Survey, release: Release, reading: Reading, required: dict[Codes, Need], verdict: Verdict, guesses: bool
) -> None:
    system = reading.system(survey)
    hidden = [place for place, line in release.lines.items() if line.suppressed]
    verdict.suppressed = len(hidden)
    last = float(unit(survey))
    largest = max((float(max(n.lower, n.upper, n.width)) for n in required.values()), default=0.0)
    quick, exact = shared(system, last, largest)
    whole = Attacker(system, last, integer=True) if system.whole else None
    for place in dict.fromkeys([*required, *hidden]):
        columns, need = system.of(survey, place), required.get(place, Need())
        narrow = _narrow(columns, need, quick, exact)
        if not quick.moves(columns) and not exact.moves(columns):
            verdict.add("exact", place, "a reader can compute it" + (" (sensitive)" if place in required else ""))
        elif narrow:
            verdict.add("interval", place, narrow)
        elif whole is not None:
            narrow = _narrow(columns, need, whole, whole)
            if not whole.moves(columns):
                verdict.add(
                    "exact", place, "only one whole number is left" + (" (sensitive)" if place in required else "")
                )
            elif narrow:
                verdict.add("whole", place, narrow)
    if survey.method == "adjust":
        _check_moved(survey, release, required, verdict)
    if guesses and release.with_intervals and not verdict.violations:
        verdict.guesses += _guesses(survey, release, required, exact)


def _narrow(columns: np.ndarray, need: Need, quick: Attacker, exact: Attacker) -> str | None:
    """Why the interval that can be inferred is not wide enough; None if it is."""
    for sign, level, side in ((-1, need.lower, "below"), (1, need.upper, "above")):
        asked = float(level)
        if not quick.reaches(columns, sign, asked) and not exact.reaches(columns, sign, asked):
            reached = exact.furthest(columns, sign)
            return f"required {asked:g} {side} the value, inferred {reached:g}"
    if need.width:
        width = exact.furthest(columns, 1) + exact.furthest(columns, -1)
        if width < float(need.width) * (1 - 1e-6):
            return f"required an interval of width {float(need.width):g}, inferred {width:g}"
    return None


def _check_moved(survey: Survey, release: Release, required: dict[Codes, Need], verdict: Verdict) -> None:
    """Adjusted values of sensitive cells are at least as far from the true ones as the levels say."""
    rounding = Fraction(10) ** -survey.output["decimals"] if "decimals" in survey.output else Fraction(0)
    for place, need in required.items():
        line = release.lines.get(place)
        if line is None or line.value is None:
            continue
        move = line.value - survey.cells[place].value
        if -need.lower * Fraction(999, 1000) + rounding < move < need.upper * Fraction(999, 1000) - rounding:
            verdict.add("near", place, f"is published within {float(abs(move)):g} of its value")


def _guesses(survey: Survey, release: Release, required: dict[Codes, Need], exact: Attacker) -> list[Guess]:
    found = []
    for place, need in required.items():
        line = release.lines.get(place)
        if line is None or line.lower is None or line.upper is None:
            continue
        columns = exact.system.of(survey, place)
        value = float(survey.cells[place].value)
        lower, upper = value - exact.furthest(columns, -1), value + exact.furthest(columns, 1)
        shown = (float(line.lower), float(line.upper)) if line.value is None else (float(line.value),) * 2
        step = 1.0 if survey.whole else 0.0
        found.append(Guess(value, lower, upper, shown, float(need.upper), step, "prior" in survey.rules))
    for place, line in release.lines.items():
        if place not in required and line.value is None and line.lower is not None and line.upper is not None:
            ends = float(line.lower), float(line.upper)
            value = float(survey.cells[place].value) if place in survey.cells else 0.0
            found.append(Guess(value, *ends, ends, 0.0, 1.0 if survey.whole else 0.0, sensitive=False))
    return list(dict.fromkeys(found))  # a total of one cell is published like it: they are guessed together
