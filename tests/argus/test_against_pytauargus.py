"""Random tables with random rules: pytauargus, another program for jobs of τ-ARGUS, finds the same primaries and levels.

Rules that both have: P with one to three parameters, NK, FREQ, ZERO, MAN with a priori files, for records and holdings, and the
shadow variable. Weights, requests and missing codes are left out: pytauargus applies weights to values but not to rules, applies
rules of holdings as soon as there is one of requests, and has no MIS.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.argus.run import run_batch
from discreet.data.hierarchy import Hierarchy
from discreet.io.argus.results import read_result

pytestmark = pytest.mark.slow
engine = pytest.importorskip("pytauargus.engine", reason="pytauargus is not installed")

TABLES = 60
HIERARCHY = "A\n@A1\n@A2\nB\n@B1\n@B2\n@B3\n"
DIMENSIONS = {
    "Region": Hierarchy.from_pairs(
        [
            ("A", "Total"),
            ("B", "Total"),
            *((f"{top}{k}", top) for top, n in (("A", 2), ("B", 3)) for k in range(1, n + 1)),
        ]
    ),
    "Size": Hierarchy.flat(["1", "2", "3"]),
}
LAYOUT = """\
Region 1 2
<RECODEABLE>
<TOTCODE> "Total"
<HIERARCHICAL>
<HIERCODELIST> "region.hrc"
<HIERLEADSTRING> "@"
Size 4 1
<RECODEABLE>
<TOTCODE> "Total"
Group 6 3
<HOLDING>
X 10 8
<NUMERIC>
<DECIMALS> 3
Y 19 8
<NUMERIC>
<DECIMALS> 3
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers of the other program leave files where they run."""
    monkeypatch.chdir(tmp_path)


def write_survey(folder: Path, random: np.random.Generator) -> None:
    """Records grouped by holding, as τ-ARGUS expects them; some contribute zero."""
    lines = []
    for group in range(int(random.integers(6, 25))):
        for _ in range(int(random.integers(1, 4))):
            region = random.choice(["A1", "A2", "B1", "B2", "B3"])
            x = round(float(random.lognormal(3, 1.5)), 1) * (random.random() > 0.1)
            y = round(float(random.lognormal(2, 1)) + 0.1, 1)
            lines.append(f"{region} {random.integers(1, 4)} {group:03d} {x:8.1f} {y:8.1f}")
    (folder / "survey.asc").write_text("\n".join(lines) + "\n")
    (folder / "survey.rda").write_text(LAYOUT)
    (folder / "region.hrc").write_text(HIERARCHY)


def random_rules(random: np.random.Generator) -> str:
    """Rules in the order of the batch language; those of holdings come third and fourth, or second."""
    rules = []
    kind = random.integers(0, 5)
    p, n, k = int(random.integers(5, 40)), int(random.integers(1, 3)), int(random.integers(55, 95))
    if kind == 0:
        rules.append(f"P({p},{n})")
    elif kind == 1:
        rules.append(f"P({p},{int(random.integers(p + 1, 100))},{n})")
    elif kind == 2:
        rules.append(f"NK({n},{k})")
    elif kind == 3:
        rules += [f"P({p},{n})", "P(0,1)", f"P({p // 2 + 3},1)"]
    else:
        rules += [f"NK({n},{k})", "NK(0,0)", f"NK(1,{k})"]
    if random.random() < 0.6:
        rules.append(f"FREQ({int(random.integers(2, 5))},{int(random.integers(10, 50))})")
        if kind >= 3 and random.random() < 0.5:
            rules.append(f"FREQ({int(random.integers(2, 5))},{int(random.integers(10, 50))})")
    if random.random() < 0.4:
        rules.append(f"ZERO({int(random.integers(1, 20))})")
    rules.append(f"MAN({int(random.integers(5, 60))})")
    return "|".join(rules)


def job(folder: Path, rules: str, shadow: str, apriori: bool, name: str) -> Path:
    path = folder / f"{name}.arb"
    lines = [
        '<OPENMICRODATA> "survey.asc"',
        '<OPENMETADATA> "survey.rda"',
        f'<SPECIFYTABLE> "Region""Size"|"X"|"{shadow}"|"X"',
        f"<SAFETYRULE> {rules}",
        "<READMICRODATA>",
        *(['<APRIORI> "hand.hst",1,";",0,0'] if apriori else []),
        f'<WRITETABLE> (1,5,SO+,"{name}.tab")',
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("seed", range(TABLES))
def test_same_primaries_and_levels(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    write_survey(tmp_path, random)
    apriori = bool(random.random() < 0.4)
    if apriori:  # a cell that is never empty
        (tmp_path / "hand.hst").write_text("Total;Total;U\n")
    rules, shadow = random_rules(random), str(random.choice(["X", "X", "Y"]))
    run_batch(job(tmp_path, rules, shadow, apriori, "ours"))
    engine.run_batch(job(tmp_path, rules, shadow, apriori, "theirs"))
    ours, theirs = (
        {cell.codes: cell for cell in read_result(tmp_path / f"{name}.tab", DIMENSIONS)} for name in ("ours", "theirs")
    )
    assert ours.keys() == theirs.keys()
    for codes, mine in ours.items():
        other = theirs[codes]
        assert mine.value == pytest.approx(other.value, abs=0.0011), (rules, codes)
        assert mine.status == other.status, (rules, shadow, codes)
        if other.status.is_primary and not (shadow == "Y" and mine.value == 0):
            levels = [[float(text) for text in cell.rest[-2:]] for cell in (mine, other)]
            assert levels[0] == pytest.approx(levels[1], abs=0.0011), (rules, shadow, codes)


OUTPUTS = (
    (1, "", "cross.csv"),
    (2, "AS+", "pivot.csv"),
    (3, "SE+", "listed.txt"),
    (4, "HL+", "levels.sbs"),
    (5, "", "table.tab"),
)


@pytest.mark.parametrize("seed", range(4))
def test_files_of_either_are_read_alike(tmp_path: Path, seed: int) -> None:
    """All types of output of pytauargus show the same suppressed cells, and so do ours."""
    write_survey(tmp_path, np.random.default_rng(seed))
    path = job(tmp_path, "P(30,1)|FREQ(3,20)", "X", False, "start")
    commands = path.read_text().splitlines()[:-1]
    found = {}
    for name, run in (("ours", run_batch), ("theirs", engine.run_batch)):
        (tmp_path / name).mkdir()
        for file in ("survey.asc", "survey.rda", "region.hrc"):
            (tmp_path / name / file).write_text((tmp_path / file).read_text())
        written = [f'<WRITETABLE> (1,{kind},{options},"{file}")' for kind, options, file in OUTPUTS]
        (tmp_path / name / "job.arb").write_text("\n".join([*commands, "<SUPPRESS> OPT(1,5)", *written]) + "\n")
        run(tmp_path / name / "job.arb")
        for _, _, file in OUTPUTS:
            cells = read_result(tmp_path / name / file, DIMENSIONS)
            found[name, file] = {cell.codes for cell in cells if cell.suppressed}
            assert all(cell.value is not None or cell.suppressed or cell.status == 14 for cell in cells)
    for name in ("ours", "theirs"):
        patterns = [found[name, file] for _, _, file in OUTPUTS]
        assert all(pattern == patterns[0] for pattern in patterns), name


def test_our_intermediate_tables_are_read_by_the_other_program(tmp_path: Path) -> None:
    write_survey(tmp_path, np.random.default_rng(1))
    path = job(tmp_path, "P(30,1)|FREQ(3,20)", "X", False, "first")
    run_batch(path)
    again = tmp_path / "again.arb"
    again.write_text(
        '<OPENTABLEDATA> "first.tab"\n<OPENMETADATA> "first.rda"\n<SPECIFYTABLE> "Region""Size"|"X"|"X"|"X"\n<SAFETYRULE>\n'
        '<READTABLE> 0\n<WRITETABLE> (1,5,SO+,"again.tab")\n'
    )
    engine.run_batch(again)
    first, second = (read_result(tmp_path / name, DIMENSIONS) for name in ("first.tab", "again.tab"))
    letters = {cell.codes: cell.status.letter for cell in first}
    assert {cell.codes: cell.status.letter for cell in second} == letters
    assert "U" in letters.values()
