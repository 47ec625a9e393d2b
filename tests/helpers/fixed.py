"""Seeds and secrets for tests, which have to come out the same every time."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest


def few_and_many(few: int, many: int) -> list[Any]:
    """Seeds of random tables: a few in every run of the tests, many in `make test-slow`."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(few, many))]


def secret(number: int = 0) -> str:
    """A secret of 256 bits that is the same for the same number."""
    return sha256(f"test {number}".encode()).hexdigest()
