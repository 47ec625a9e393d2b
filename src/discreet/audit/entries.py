"""Entries of certificates, read with a check of their types."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.inference.exact_numbers import parse_number


class Malformed(ValueError):
    """An entry is missing or of the wrong type."""


def take(part: Any, key: str, kind: type) -> Any:
    if not isinstance(part, dict) or key not in part:
        raise Malformed(f"{key!r} is missing")
    if type(part[key]) is not kind:  # not isinstance, because True is an int
        raise Malformed(f"{key!r} is of the wrong type")
    return part[key]


def numbers(part: Any, key: str) -> list[Fraction]:
    try:
        return [parse_number(written) for written in take(part, key, list)]
    except (ValueError, TypeError):
        raise Malformed(f"{key!r} has entries that are not numbers") from None


def indices(part: Any, key: str, below: int) -> list[int]:
    found = take(part, key, list)
    if not all(type(i) is int and 0 <= i < below for i in found) or len(set(found)) < len(found):
        raise Malformed(f"{key!r} has entries that do not exist, or occur twice")
    return list(found)


def pairs(part: Any, keys: str, values: str, below: int) -> dict[int, Fraction]:
    found, weights = indices(part, keys, below), numbers(part, values)
    if len(found) != len(weights):
        raise Malformed(f"{keys!r} and {values!r} are not of the same length")
    if found != sorted(found) or not all(weights):
        raise Malformed(f"{keys!r} are not in order, or {values!r} are zero")
    return dict(zip(found, weights, strict=True))
