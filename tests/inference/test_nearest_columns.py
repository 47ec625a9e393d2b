"""Large components are looked at in parts first: the same verdicts, and all of them proven."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.methods.test_bottom_up import TABLES, draw

from discreet.audit import audit
from discreet.inference import component_search
from discreet.inference import neighbourhoods as parts
from discreet.problem import Status
from discreet.protection import suppress

audits: Any = sys.modules["discreet.audit.audit"]


@pytest.mark.parametrize("kind", TABLES)
def test_verdicts_from_parts_are_those_from_the_whole(kind, monkeypatch):
    """Patterns suppress more or less, so that some cells are exposed and others are not."""
    verdicts = []
    for seed in range(8):
        problem = draw(kind, seed)
        rng = np.random.default_rng(seed)
        suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        suppressed |= (problem.status == Status.FREE) & (rng.random(len(problem)) < rng.choice([0.2, 0.4, 0.7]))
        pattern = suppress(problem, suppressed)
        whole = audit(problem, pattern, intervals=False)
        with monkeypatch.context() as patched:
            patched.setattr(audits, "needs_neighbourhoods", lambda *_: True)
            patched.setattr(component_search, "MIN_NETWORK_WORK", 10**9)
            patched.setattr(parts, "NEIGHBOURHOOD_SIZES", (4, 10))
            patched.setattr(parts, "TRIAL_TARGETS", 2)
            # Too large for one program, or not.
            patched.setattr(parts, "LARGE_COMPONENT_COLUMNS", 0 if seed % 2 else 20_000)
            cut = audit(problem, pattern, intervals=False)
        assert np.array_equal(whole.safe, cut.safe)
        verdicts += cut.safe.tolist()
    assert 0.05 < np.mean(verdicts) < 0.95
