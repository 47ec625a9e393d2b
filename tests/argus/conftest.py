"""Jobs on the survey of these tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.argus_survey import survey

from discreet.argus.run import ArgusResult, run_batch


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., ArgusResult]:
    """Runs a job beside the survey."""
    survey(tmp_path)

    def run(text: str, **options: object) -> ArgusResult:
        (tmp_path / "job.arb").write_text(text, encoding="utf-8")
        return run_batch(tmp_path / "job.arb", **options)  # type: ignore[arg-type]

    return run
