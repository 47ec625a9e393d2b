"""Certificates of lower bounds on the cost of safe patterns: inequalities that add up to the bound, each with its proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.arrays import DOWN, UP
from discreet.audit.entries import Malformed, indices, numbers, take
from discreet.audit.proof import BOUND_FORMAT, CERTIFICATE_VERSION, Json, checksum
from discreet.inference.cut_proofs import (
    BridgelessProof,
    CapacityProof,
    CutProof,
    ExactCuts,
    ProofError,
    exact_multipliers,
    posed_for_suppression,
)
from discreet.inference.exact_numbers import format_number, parse_number
from discreet.problem import Problem

NOTE = (
    "Confidential: this file contains a bound on the cost of suppressed cells, which may be their values. It proves to whoever "
    "may see the problem that no safe pattern costs less; it must never be published."
)
SIGNIFICANT_DIGITS = 12  # of the factors of inequalities: more would make the file long, and raise no bound
SIDES = {"lower": (DOWN,), "upper": (UP,), "sliding": (DOWN, UP)}


@dataclass(frozen=True)
class BoundVerification:
    """Whether a certificate of a bound is correct, and the bound that it then proves."""

    passed: bool
    bound: Fraction = Fraction(0)
    inequalities: int = 0
    problems: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"BoundVerification({'holds' if self.passed else 'does not hold'}, {self.inequalities:,} inequalities)"


def bound_certificate(problem: Problem, proofs: Iterable[tuple[CutProof, Fraction]]) -> Json:
    """The certificate of the bound that inequalities prove, each multiplied by its factor. Confidential.

    Inequalities that exact arithmetic does not confirm are left out.
    """
    exact, kept = ExactCuts(posed_for_suppression(problem)), list[tuple[CutProof, Fraction]]()
    for proof, factor in proofs:
        try:
            rational = exact_multipliers(proof)
            exact.cut(rational)
        except ProofError:
            continue
        rounded = Fraction(f"{float(factor):.{SIGNIFICANT_DIGITS}g}")
        if rounded > 0:
            kept.append((rational, rounded))
    content = {
        "format": BOUND_FORMAT,
        "version": CERTIFICATE_VERSION,
        "confidential": True,
        "note": NOTE,
        "problem": problem.digest,
        "bound": format_number(_rounded_down(exact.bound(kept))),
        "inequalities": [_entry(proof, factor) for proof, factor in kept],
    }
    return {**content, "checksum": checksum(content)}


def verify_bound(certificate: Mapping[str, Any], problem: Problem) -> BoundVerification:
    """Check the proof of every inequality, and that all of them together prove the bound, in exact arithmetic."""
    wrong = []
    if certificate.get("format") != BOUND_FORMAT or certificate.get("version") != CERTIFICATE_VERSION:
        wrong.append(f"It is not a {BOUND_FORMAT} of version {CERTIFICATE_VERSION}.")
    elif certificate.get("problem") != problem.digest:
        wrong.append("The certificate is about another problem.")
    elif certificate.get("checksum") != checksum(certificate):
        wrong.append("The certificate was changed: its checksum is wrong.")
    if wrong:
        return BoundVerification(False, problems=wrong)
    exact = ExactCuts(posed_for_suppression(problem))
    try:
        entries = take(certificate, "inequalities", list)
        proven = exact.bound([_read(entry, problem) for entry in entries])
        claimed = parse_number(take(certificate, "bound", str))
    except (Malformed, ProofError, ValueError) as error:
        return BoundVerification(False, problems=[f"The certificate is damaged: {error}."])
    if claimed > proven:
        return BoundVerification(
            False, problems=["Its inequalities prove a lower bound only, not the one that it states."]
        )
    return BoundVerification(True, claimed, len(entries))


def _rounded_down(number: Fraction) -> Fraction:
    """With three decimals: no office states costs more exactly."""
    return Fraction(number * 1000 // 1, 1000)


def _entry(proof: CutProof, factor: Fraction) -> Json:
    if isinstance(proof, BridgelessProof):
        return {"factor": format_number(factor), "cell": proof.cell, "relation": proof.relation}
    found: Json = {"factor": format_number(factor), "attacker": proof.attacker, "cell": proof.cell}
    found["level"] = next(name for name, sides in SIDES.items() if sides == proof.sides)
    found["limits"] = [
        {"relations": [int(row) for row in rows], "multipliers": [format_number(Fraction(one)) for one in weights]}
        for rows, weights in proof.multipliers
    ]
    return found if proof.cover is None else {**found, "cover": [int(cell) for cell in proof.cover]}


def _read(entry: Any, problem: Problem) -> tuple[CutProof, Fraction]:
    n, m = len(problem), problem.table.relations.shape[0]
    (factor,) = numbers({"factor": [take(entry, "factor", str)]}, "factor")
    (cell,) = indices({"cell": [take(entry, "cell", int)]}, "cell", n)
    if "relation" in entry:
        (relation,) = indices({"relation": [take(entry, "relation", int)]}, "relation", m)
        return BridgelessProof(cell, relation), factor
    level = take(entry, "level", str)
    if level not in SIDES:
        raise Malformed(f"'level' is none of {', '.join(SIDES)}")
    limits = [(indices(limit, "relations", m), numbers(limit, "multipliers")) for limit in take(entry, "limits", list)]
    if any(len(rows) != len(weights) for rows, weights in limits):
        raise Malformed("'relations' and 'multipliers' are not of the same length")
    cover: Sequence[int] | None = indices(entry, "cover", n) if "cover" in entry else None
    return CapacityProof(take(entry, "attacker", str), cell, SIDES[level], tuple(limits), cover), factor
