"""Checking a certificate with nothing but the problem, the protection and exact arithmetic: no solver is involved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any

from discreet.attackers import Attacker
from discreet.audit.proof import CERTIFICATE_FORMAT, CERTIFICATE_VERSION, SIDES, Proof, ProvenSide, checksum, statement
from discreet.inference.exact_lp import ExactDeviation
from discreet.inference.exact_numbers import parse_number
from discreet.inference.requirements import chosen_attackers
from discreet.problem import Problem
from discreet.protection import Protection

MAX_LISTED_FAULTS = 20  # problems that are still listed one by one


@dataclass(frozen=True)
class Verification:
    """Whether a certificate is right (``passed``), and what it then proves.

    A certificate of exposure that is right has passed, but is not ``safe``. Where it is not ``complete``, it says nothing
    about some of the sensitive cells.
    """

    passed: bool
    safe: bool
    complete: bool
    problems: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def verify(
    certificate: Mapping[str, Any],
    problem: Problem,
    protection: Protection,
    attackers: Sequence[Attacker] | None = None,
) -> Verification:
    """Check every table, bound, claim and word of a certificate.

    Only the proofs are taken from it: tables, and multipliers of relations. All else is worked out again from those, and
    must come out the same to the letter.
    """
    whom = chosen_attackers(problem, attackers)
    try:
        wrong = list(_another(certificate, problem, protection, whom))
    except RecursionError:
        wrong = ["The certificate is damaged: its entries are nested deeper than in any certificate."]
    if not wrong:
        try:
            proofs = [_proof(part, problem) for part in _take(certificate, "attackers", list)]
            expected, wrong = statement(problem, protection, whom, proofs)
        except _Malformed as error:
            wrong = [f"The certificate is damaged: {error}."]
        except OverflowError:
            wrong = ["The certificate is damaged: it has numbers that no audit would write."]
        else:
            given = {**certificate, "checksum": expected["checksum"]}  # which was looked at above
            wrong += islice(_unlike(expected, given, "the certificate"), MAX_LISTED_FAULTS)
    if wrong:
        return Verification(False, False, False, wrong[:MAX_LISTED_FAULTS])
    return Verification(True, certificate["safe"], certificate["complete"], [], dict(certificate["counts"]))


def _another(
    certificate: Mapping[str, Any], problem: Problem, protection: Protection, attackers: Sequence[Attacker]
) -> Iterator[str]:
    """Reasons not to look any further."""
    if certificate.get("format") != CERTIFICATE_FORMAT or certificate.get("version") != CERTIFICATE_VERSION:
        yield f"It is not a {CERTIFICATE_FORMAT} of version {CERTIFICATE_VERSION}."
        return
    if certificate.get("problem") != problem.digest:
        yield "The certificate is about another problem."
    elif certificate.get("protection") != protection.digest:
        yield "The certificate is about another pattern or protection of this problem."
    parts = certificate.get("attackers")
    parts = parts if isinstance(parts, list) else []
    knowledge = [part.get("knowledge") if isinstance(part, dict) else None for part in parts]
    if knowledge != [attacker.digest for attacker in attackers]:
        yield "The certificate is about other attackers."
    if certificate.get("checksum") != checksum(certificate):
        yield "The certificate was changed: its checksum does not fit."


class _Malformed(ValueError):
    """Something is missing or of the wrong kind."""


def _take(part: Any, key: str, kind: type) -> Any:
    if not isinstance(part, dict) or key not in part:
        raise _Malformed(f"{key!r} is missing")
    if type(part[key]) is not kind:  # not isinstance: true is no number
        raise _Malformed(f"{key!r} is not what it should be")
    return part[key]


def _numbers(part: Any, key: str) -> list[Fraction]:
    try:
        return [parse_number(written) for written in _take(part, key, list)]
    except (ValueError, TypeError):
        raise _Malformed(f"{key!r} has entries that are no numbers") from None


def _indices(part: Any, key: str, below: int) -> list[int]:
    indices = _take(part, key, list)
    if not all(type(i) is int and 0 <= i < below for i in indices) or len(set(indices)) < len(indices):
        raise _Malformed(f"{key!r} has entries that do not exist, or occur twice")
    return list(indices)


def _pairs(part: Any, keys: str, values: str, below: int) -> dict[int, Fraction]:
    found, numbers = _indices(part, keys, below), _numbers(part, values)
    if len(found) != len(numbers):
        raise _Malformed(f"{keys!r} and {values!r} are not of the same length")
    if found != sorted(found) or not all(numbers):
        raise _Malformed(f"{keys!r} are not in order, or {values!r} are zero")
    return dict(zip(found, numbers, strict=True))


def _proof(part: Any, problem: Problem) -> Proof:
    n, m = len(problem), problem.table.relations.shape[0]
    tables = [ExactDeviation.of(_pairs(table, "cells", "moves", n)) for table in _take(part, "tables", list)]
    entries = _take(part, "cells", list)
    cells = _indices({"cells": [_take(entry, "cell", int) for entry in entries]}, "cells", n)
    sides = [tuple(_side(_take(entry, name, dict), len(tables), m) for name in SIDES) for entry in entries]
    return Proof(tables, cells, [(down, up) for down, up in sides])


def _side(part: Any, tables: int, relations: int) -> ProvenSide:
    table, way = None, 1
    if "table" in part:
        (table,) = _indices({"table": [_take(part, "table", int)]}, "table", tables)
        way = _take(part, "sign", int)
        if way not in (1, -1):
            raise _Malformed("'sign' is neither 1 nor -1")
    multipliers = _pairs(part, "relations", "multipliers", relations) if "relations" in part else None
    return ProvenSide(table, way, multipliers)


def _unlike(expected: Any, given: Any, where: str) -> Iterator[str]:
    """Where what is written differs from what follows from the proofs."""
    if type(expected) is not type(given):
        yield f"Not what the proofs show: {where}."
    elif isinstance(expected, dict):
        where = repr(expected["label"]) if "label" in expected else where
        for key in {**expected, **given}:
            if key not in expected or key not in given:
                yield f"{'Missing' if key in expected else 'Too much'}: {where}, {key!r}."
            else:
                yield from _unlike(expected[key], given[key], f"{where}, {key!r}")
    elif isinstance(expected, list) and len(expected) == len(given):
        for one, other in zip(expected, given, strict=True):
            yield from _unlike(one, other, where)
    elif expected != given:
        yield f"Not what the proofs show: {where}."
