"""Verification of a certificate from the problem and the protection, in exact arithmetic and without a solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from discreet.attackers import Attacker
from discreet.audit.entries import Malformed, indices, pairs, take
from discreet.audit.proof import (
    CERTIFICATE_FORMAT,
    CERTIFICATE_VERSION,
    SIDE_NAMES,
    Proof,
    ProvenSide,
    checksum,
    statement,
)
from discreet.inference.exact_lp import ExactDeviation
from discreet.inference.requirements import chosen_attackers
from discreet.problem import Problem
from discreet.protection import Protection

MAX_LISTED_FAULTS = 20  # a wrong certificate may have millions of faults


@dataclass(frozen=True)
class Verification:
    """Whether a certificate is correct, and what it then proves."""

    passed: bool  # it is correct, also if it proves that cells are exposed
    safe: bool  # it proves that all its cells are safe
    complete: bool  # it contains all cells that must be protected
    problems: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def verify(
    certificate: Mapping[str, Any],
    problem: Problem,
    protection: Protection,
    attackers: Sequence[Attacker] | None = None,
) -> Verification:
    """Check every table, bound, claim and word of a certificate.

    Only the proofs are read from it: tables, and multipliers of relations. Everything else is computed again from these, and
    must be the same to the letter.
    """
    expected_attackers = chosen_attackers(problem, attackers)
    try:
        wrong = list(_mismatches(certificate, problem, protection, expected_attackers))
    except RecursionError:
        wrong = ["The certificate is damaged: its entries are nested deeper than in any certificate."]
    if not wrong:
        try:
            proofs = [_proof(part, problem) for part in take(certificate, "attackers", list)]
            expected, wrong = statement(problem, protection, expected_attackers, proofs)
        except Malformed as error:
            wrong = [f"The certificate is damaged: {error}."]
        except OverflowError:
            wrong = ["The certificate is damaged: it has numbers that no audit would write."]
        else:
            without_checksum = {**certificate, "checksum": expected["checksum"]}  # the checksum was checked above
            wrong += islice(_differences(expected, without_checksum, "the certificate"), MAX_LISTED_FAULTS)
    if wrong:
        return Verification(False, False, False, wrong[:MAX_LISTED_FAULTS])
    return Verification(True, certificate["safe"], certificate["complete"], [], dict(certificate["counts"]))


def _mismatches(
    certificate: Mapping[str, Any], problem: Problem, protection: Protection, attackers: Sequence[Attacker]
) -> Iterator[str]:
    """Faults that make a check of the proofs pointless."""
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
        yield "The certificate was changed: its checksum is wrong."


def _proof(part: Any, problem: Problem) -> Proof:
    n, m = len(problem), problem.table.relations.shape[0]
    tables = [ExactDeviation.of(pairs(table, "cells", "moves", n)) for table in take(part, "tables", list)]
    entries = take(part, "cells", list)
    cells = indices({"cells": [take(entry, "cell", int) for entry in entries]}, "cells", n)
    sides = [tuple(_side(take(entry, name, dict), len(tables), m) for name in SIDE_NAMES) for entry in entries]
    return Proof(tables, cells, [(down, up) for down, up in sides])


def _side(part: Any, tables: int, relations: int) -> ProvenSide:
    table, sign = None, 1
    if "table" in part:
        (table,) = indices({"table": [take(part, "table", int)]}, "table", tables)
        sign = take(part, "sign", int)
        if sign not in (1, -1):
            raise Malformed("'sign' is neither 1 nor -1")
    multipliers = pairs(part, "relations", "multipliers", relations) if "relations" in part else None
    return ProvenSide(table, sign, multipliers)


def _differences(expected: Any, written: Any, where: str) -> Iterator[str]:
    """The entries of a certificate that differ from what follows from the proofs."""
    if type(expected) is not type(written):
        yield f"Not what the proofs show: {where}."
    elif isinstance(expected, dict):
        where = repr(expected["label"]) if "label" in expected else where
        for key in {**expected, **written}:
            if key not in expected or key not in written:
                yield f"{'Missing' if key in expected else 'Not expected'}: {where}, {key!r}."
            else:
                yield from _differences(expected[key], written[key], f"{where}, {key!r}")
    elif isinstance(expected, list) and len(expected) == len(written):
        for one, other in zip(expected, written, strict=True):
            yield from _differences(one, other, where)
    elif expected != written:
        yield f"Not what the proofs show: {where}."
