"""Secrets for tests, which have to come out the same every time."""

from __future__ import annotations

from hashlib import sha256


def secret(number: int = 0) -> str:
    """A secret of 256 bits that is the same for the same number."""
    return sha256(f"test {number}".encode()).hexdigest()
