"""The statements that follow from a proof, in exact arithmetic; used to write certificates and to check them."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.attackers import Attacker
from discreet.audit.explanation import explain
from discreet.inference import tolerances
from discreet.inference.exact_lp import DIRECTIONS, Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import Bound, decimal_fraction, format_number
from discreet.inference.requirements import (
    cells_to_protect,
    exact_slacks,
    other_suppressed_cells,
    published_primaries,
    required_levels,
)
from discreet.problem import Problem
from discreet.protection import Protection

CERTIFICATE_FORMAT, CERTIFICATE_VERSION = "discreet certificate", 1
BOUND_FORMAT = "discreet certificate of a bound"
CONFIDENTIALITY_NOTE = (
    "Confidential: this file contains differences from confidential values, and bounds on them. It proves to whoever may see "
    "the problem which cells are safe and which are not; it must never be published."
)
SUFFICIENT_SHARE = 1 - decimal_fraction(tolerances.LEVEL_TOLERANCE)  # share of a level that counts as reaching it
SIDE_NAMES = ("lower", "upper")  # keys of a certificate
LEVEL_NAMES = (*SIDE_NAMES, "sliding")
Json = dict[str, Any]


@dataclass(frozen=True, repr=False)
class ProvenSide:
    """The proof of how far a cell can deviate in one direction."""

    table: int | None = None  # number of the table that attains it; None if the cell is not shown to deviate
    sign: int = 1  # 1: the table, −1: its reverse
    multipliers: Mapping[int, Fraction] | None = None  # of the relations that bound it; None if no bound is claimed


@dataclass(frozen=True, repr=False)
class Proof:
    """The proof of what one attacker can infer about the audited cells."""

    tables: Sequence[ExactDeviation]
    cells: Sequence[int]
    sides: Sequence[tuple[ProvenSide, ProvenSide]]  # down and up


def statement(
    problem: Problem, protection: Protection, attackers: Sequence[Attacker], proofs: Sequence[Proof]
) -> tuple[Json, list[str]]:
    """The certificate that follows from the proofs, and their errors."""
    wrong: list[str] = []
    parts = [
        _Statement(problem, protection, attacker, proof, wrong).part()
        for attacker, proof in zip(attackers, proofs, strict=True)
    ]
    cells = [cell for part in parts for cell in part["cells"]]
    required = [set(cells_to_protect(problem, protection, attacker).tolist()) for attacker in attackers]
    without_levels = set(other_suppressed_cells(problem, protection, attackers[0]).tolist())
    sides_with_levels = [
        cell[side]
        for k, part in enumerate(parts)
        for cell in part["cells"]
        for side in SIDE_NAMES
        if k or cell["cell"] not in without_levels
    ]
    required[0] |= without_levels
    bounded = [cell[side] for cell in cells for side in SIDE_NAMES if "bound" in cell[side]]
    certificate = {
        "format": CERTIFICATE_FORMAT,
        "version": CERTIFICATE_VERSION,
        "confidential": True,
        "note": CONFIDENTIALITY_NOTE,
        "problem": problem.digest,
        "protection": protection.digest,
        "safe": all(cell["safe"] for cell in cells),
        "complete": all(numbers <= set(proof.cells) for numbers, proof in zip(required, proofs, strict=True)),
        "exact": all("bound" in side or side["reach"] == "inf" for side in sides_with_levels),
        "counts": {
            "cells": len(cells),
            "exposed": sum(not cell["safe"] for cell in cells),
            "tables": sum(len(part["tables"]) for part in parts),
            "combinations": len(bounded),
            "open": sum(side["gap"] != "0" for side in bounded),
        },
        "attackers": parts,
    }
    return {**certificate, "checksum": checksum(certificate)}, wrong


def checksum(certificate: Mapping[str, Any]) -> str:
    """The checksum of all other entries of a certificate, independent of its layout."""
    content = {key: value for key, value in certificate.items() if key != "checksum"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def violated_levels(levels: Sequence[Fraction], down: Bound, up: Bound) -> list[str]:
    """The levels that these deviations down and up do not reach."""
    named = zip(LEVEL_NAMES, (down, up, down + up), levels, strict=True)
    return [name for name, reach, level in named if reach < level * SUFFICIENT_SHARE]


class Witnesses:
    """Tables that show how far cells can deviate. Of several that show the same, the first is used."""

    def __init__(self, program: ExactProgram, tables: Sequence[ExactDeviation]) -> None:
        self.program, self.tables = program, tables
        self._tables_of: defaultdict[int, list[int]] = defaultdict(list)
        for number, table in enumerate(tables):
            for cell in table.cells:
                self._tables_of[cell].append(number)

    def first(self, cell: int, sign: int, reach: Bound) -> int | None:
        """The first table that, or whose reverse, takes a cell exactly this far up (``sign`` 1) or down (−1)."""
        both = ((n, direction) for n in self._tables_of[cell] for direction in (1, -1))
        return next((n for n, d in both if sign * self.program.reach(self.tables[n], cell, d) == reach), None)


class _Statement:
    """The part of a certificate about one attacker."""

    def __init__(
        self, problem: Problem, protection: Protection, attacker: Attacker, proof: Proof, wrong: list[str]
    ) -> None:
        self.problem, self.attacker, self.proof = problem, attacker, proof
        self.program = ExactProgram(problem.table.relations, *exact_slacks(problem, protection, attacker))
        self.witnesses = Witnesses(self.program, proof.tables)
        self.required = required_levels(problem, protection, attacker)
        self.published = published_primaries(problem, protection)
        self.wrong = wrong

    def part(self) -> Json:
        used = {side.table for sides in self.proof.sides for side in sides}
        for number, table in enumerate(self.proof.tables):
            self._check(number, table)
            if number not in used:
                self.wrong.append(f"Table {number} shows nothing.")
        return {
            "name": self.attacker.name,
            "knowledge": self.attacker.digest,
            "tables": [
                {
                    "cells": list(t.cells),
                    "moves": [format_number(Fraction(numerator, t.denominator)) for numerator in t.numerators],
                }
                for t in self.proof.tables
            ],
            "cells": [self._cell(cell, *sides) for cell, sides in zip(self.proof.cells, self.proof.sides, strict=True)],
        }

    def _check(self, number: int, table: ExactDeviation) -> None:
        """Check the relations of a table; the multiple of it that is used satisfies the bounds by definition."""
        row = self.program.violated(table)
        if row is not None:
            name = self.problem.table.relation_label(row)
            self.wrong.append(f"Table {number} is not congruent: the relation of {name!r} does not hold.")
        if len(table.cells) == 1 and (table.numerators, table.denominator) != ((1,), 1):
            self.wrong.append(f"Table {number} moves a single cell, by other than 1.")

    def _cell(self, cell: int, *sides: ProvenSide) -> Json:
        label, levels = self.problem.table.label(cell), [decimal_fraction(level) for level in self.required[:, cell]]
        entries, reach, limits = [], [], {}
        for k, side in enumerate(sides):
            of_side, attained, limit = self._side(cell, DIRECTIONS[k], side)
            entries.append(of_side)
            reach.append(attained)
            if limit is not None and not isinstance(limit.bound, float):
                limits[k] = limit
        violated = violated_levels(levels, *(limits[k].bound if k in limits else math.inf for k in range(2)))
        if self.published[cell]:
            violated.append("published")
        if not violated and violated_levels(levels, *reach):
            self.wrong.append(f"{label!r} is neither shown to be safe nor to be exposed.")
        entry = {
            "cell": cell,
            "label": label,
            "safe": not violated,
            "needs": dict(zip(LEVEL_NAMES, map(format_number, levels), strict=True)),
            **dict(zip(SIDE_NAMES, entries, strict=True)),
        }
        if violated:
            words = explain(self.problem.table, self.program, cell, levels, limits, violated)
            entry |= {"missed": violated, "words": words}
        return entry

    def _side(self, cell: int, sign: int, side: ProvenSide) -> tuple[Json, Bound, Combination | None]:
        """The entry of one direction, the deviation that the cell attains in it, and its bound."""
        reach: Bound = Fraction(0)
        entry: Json = {}
        if side.table is not None:
            reach = sign * self.program.reach(self.proof.tables[side.table], cell, side.sign)
            entry = {"table": self.witnesses.first(cell, sign, reach), "sign": side.sign}
            if reach <= 0:
                label = self.problem.table.label(cell)
                self.wrong.append(f"Table {side.table} does not show that {label!r} moves {('down', 'up')[sign > 0]}.")
        entry["reach"] = format_number(reach)
        if side.multipliers is None:
            return entry, reach, None
        limit = self.program.combine(cell, sign, side.multipliers)
        entry |= {
            "bound": format_number(limit.bound),
            "gap": format_number(limit.bound - reach),
            "relations": list(limit.multipliers),
            "multipliers": [format_number(y) for y in limit.multipliers.values()],
            "remaining": list(limit.remaining),
            "weights": [format_number(weight) for weight in limit.remaining.values()],
        }
        return entry, reach, limit
