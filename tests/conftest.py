"""Audits made anywhere in these tests are proven: certificates are made and checked in exact arithmetic.

Of one pattern or protection in four, whichever test it is in, so that the tests end in time.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Generator
from dataclasses import replace
from hashlib import sha512
from itertools import count
from typing import Any

import numpy as np
import pytest

from discreet.audit import Audit, certificate, verify

MOST_CELLS, MOST_TARGETS = 300, 40  # larger ones would take too long to prove each time
ONE_IN = 4
module: Any = sys.modules["discreet.audit.audit"]


def pytest_configure() -> None:
    """Ctrl-C is heard, also where the tests were started in the background: shells have it ignored there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and thousands of tests stay to the end: nobody need look again and again whether they are garbage, nor then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def levels_alone(monkeypatch):
    """Only protection levels say what is safe; that no suppressed cell is computable is tested in tests/safety."""

    def nothing(table):
        return np.zeros(len(table))

    monkeypatch.setattr("discreet.problem.smallest_width", nothing)
    monkeypatch.setattr("discreet.io.jj.smallest_width", nothing)


@pytest.fixture(autouse=True)
def the_same_secrets_every_time(monkeypatch, request):
    """New secrets are drawn one after the other, but the same ones in every run: a test that fails fails again."""
    numbers = count()

    def drawn(size: int) -> str:
        return sha512(f"{request.node.nodeid} {next(numbers)}".encode()).hexdigest()[: 2 * size]

    monkeypatch.setattr("discreet.secret.secrets.token_hex", drawn)


@pytest.fixture(autouse=True)
def attacks_are_short(monkeypatch):
    """Every job tries attacks; here for a moment only, unless a test says otherwise."""
    monkeypatch.setattr("discreet.jobs.attacks.MIN_ATTACK_SECONDS", 0.2)


@pytest.fixture(autouse=True)
def every_audit_is_proven(monkeypatch):
    auditors = []

    class ProvenAuditor(module._Auditor):
        """Keeps the evidence of small audits, required or not."""

        def __init__(self, *fields: Any) -> None:
            super().__init__(*fields)
            self.required = self.certify
            targets = max(len(task.targets) for task in self.tasks)
            drawn = int(self.protection.digest[:8], 16) % ONE_IN == 0
            self.certify |= drawn and len(self.problem) <= MOST_CELLS and targets <= MOST_TARGETS
            auditors.append(self)

    def prove(**fields: Any) -> Audit:
        auditor = auditors[-1]
        attackers = [task.attacker for task in auditor.tasks[:-1]]
        checked = Audit(**fields)
        if auditor.certify:
            proof = certificate(checked, auditor.protection, attackers)
            verification = verify(proof, auditor.problem, auditor.protection, attackers)
            assert verification.passed, verification.problems
            assert verification.safe == checked.passed
        return checked if auditor.required else replace(checked, evidence=None)

    monkeypatch.setattr(module, "_Auditor", ProvenAuditor)
    monkeypatch.setattr(module, "Audit", prove)
