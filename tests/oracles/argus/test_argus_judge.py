"""Random jobs of τ-ARGUS, judged from the files they write; and the judge finds what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.oracles.argus.files import is_confidential, shown
from tests.oracles.argus.folders import drawn
from tests.oracles.argus.judge import judged
from tests.oracles.black_box import run_argus

QUICK, ALL = 2, 150
SUPPRESSED = 4  # a seed whose first table is published with suppressed cells, in its first file


@pytest.mark.parametrize(
    "seed", [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, ALL))]
)
def test_random_jobs_expose_nothing(tmp_path: Path, seed: int) -> None:
    folder = drawn(tmp_path, seed)
    outcome = run_argus(tmp_path / "job.arb")
    assert not outcome.crash
    assert outcome.code in (0, 1)
    if outcome.is_error:  # a table that cannot be protected
        assert not any((tmp_path / file).exists() for one in folder.specs for _, _, file, _ in one.writes)
    else:
        assert judged(folder, outcome) == []


def test_the_judge_sees_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    """A number in place of a symbol, a number that is not true, an empty cell that is none, and a file that is not to be read."""
    folder = drawn(tmp_path, SUPPRESSED)
    outcome = run_argus(tmp_path / "job.arb")
    assert judged(folder, outcome) == []
    spec = folder.specs[0]
    file = next(file for kind, options, file, _ in spec.writes if not is_confidential(kind, options))
    path = tmp_path / file
    text = path.read_text(encoding="utf-8")
    found = shown(spec.writes[0][0], spec.writes[0][1], text, spec, folder.records)[0]
    number = next(one for one in found.values() if one not in "x-" and text.count(f",{one}") == 1)
    assert "x" in found.values()
    for old, new, says in (
        (",x", ",1.0", "is published"),
        (f",{number}", f",{float(number) + 1:.{spec.decimals}f}", ", not "),
        (f",{number}", ",-", "has records"),
    ):
        path.write_text(text.replace(old, new), encoding="utf-8")
        assert any(says in fault for fault in judged(folder, outcome)), (old, new)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    assert any("others may read it" in fault for fault in judged(folder, outcome))
