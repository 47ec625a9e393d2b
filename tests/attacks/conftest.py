"""Hundreds of small tables are attacked here; that audits are proven is the business of the other tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Replaces the fixture of that name."""
