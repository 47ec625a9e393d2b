"""What follows from a proof. Makers and checkers of certificates both work it out here, in exact arithmetic."""

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
from discreet.inference.exact_lp import Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import Bound, decimal_fraction, format_number
from discreet.inference.requirements import cells_to_protect, exact_slacks, other_suppressed_cells, required_levels
from discreet.problem import Problem, Status
from discreet.protection import Protection

CERTIFICATE_FORMAT, CERTIFICATE_VERSION = "discreet certificate", 1
CONFIDENTIALITY_NOTE = (
    "Confidential: this file contains differences from confidential values, and bounds on them. It proves to whoever may see "
    "the problem which cells are safe and which are not; it must never be published."
)
SUFFICIENT_SHARE = 1 - decimal_fraction(tolerances.LEVEL_TOLERANCE)  # the share of a level that counts as all of it
SIDES = ("lower", "upper")
Json = dict[str, Any]


@dataclass(frozen=True, repr=False)
class ProvenSide:
    """Why a cell goes so far in one direction, and why no farther."""

    table: int | None = None  # number of the table that shows how far it goes; None: not at all
    way: int = 1  # that table, or (−1) its reverse
    multipliers: Mapping[int, Fraction] | None = None  # of the relations that bound it; None: nothing is said


@dataclass(frozen=True, repr=False)
class Proof:
    """What one attacker can infer about the audited cells."""

    tables: Sequence[ExactDeviation]
    cells: Sequence[int]
    sides: Sequence[tuple[ProvenSide, ProvenSide]]  # down and up


def statement(
    problem: Problem, protection: Protection, attackers: Sequence[Attacker], proofs: Sequence[Proof]
) -> tuple[Json, list[str]]:
    """All that the proofs show, as a certificate; and what is wrong with them."""
    wrong: list[str] = []
    parts = [
        _Statement(problem, protection, attacker, proof, wrong).state()
        for attacker, proof in zip(attackers, proofs, strict=True)
    ]
    cells = [cell for part in parts for cell in part["cells"]]
    sides = [cell[side] for cell in cells for side in SIDES]
    every = [set(cells_to_protect(problem, protection, attacker).tolist()) for attacker in attackers]
    unlevelled = set(other_suppressed_cells(problem, protection, attackers[0]).tolist())
    levelled = [
        cell[side]
        for k, part in enumerate(parts)
        for cell in part["cells"]
        for side in SIDES
        if k or cell["cell"] not in unlevelled
    ]
    every[0] |= unlevelled
    bounded = [side for side in sides if "bound" in side]
    certificate = {
        "format": CERTIFICATE_FORMAT,
        "version": CERTIFICATE_VERSION,
        "confidential": True,
        "note": CONFIDENTIALITY_NOTE,
        "problem": problem.digest,
        "protection": protection.digest,
        "safe": all(cell["safe"] for cell in cells),
        "complete": all(cells <= set(proof.cells) for cells, proof in zip(every, proofs, strict=True)),
        "exact": all("bound" in side or side["reach"] == "inf" for side in levelled),
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
    """Over everything else in a certificate, however it is laid out."""
    content = {key: value for key, value in certificate.items() if key != "checksum"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def is_published_primary(problem: Problem, protection: Protection, cell: int) -> bool:
    """A primary whose value is simply told is exposed, however little protection it asked for."""
    return bool(problem.status[cell] == Status.PRIMARY and protection.lower[cell] == protection.upper[cell])


def missed_levels(levels: Sequence[Fraction], down: Bound, up: Bound) -> list[str]:
    """The levels that are not reached by moves so far down and up."""
    ways = zip((*SIDES, "sliding"), (down, up, down + up), levels, strict=True)
    return [name for name, reach, level in ways if reach < level * SUFFICIENT_SHARE]


class Witnesses:
    """Which of several tables show how far a cell moves. Of those that show the same, the first is named."""

    def __init__(self, program: ExactProgram, tables: Sequence[ExactDeviation]) -> None:
        self.program, self.tables = program, tables
        self._moving: defaultdict[int, list[int]] = defaultdict(list)
        for number, table in enumerate(tables):
            for cell in table.cells:
                self._moving[cell].append(number)

    def first(self, cell: int, sign: int, reach: Bound) -> int | None:
        """The first table that, forwards or reversed, moves a cell so far up (``sign`` 1) or down (−1)."""
        moves = ((n, way) for n in self._moving[cell] for way in (1, -1))
        return next((n for n, way in moves if sign * self.program.reach(self.tables[n], cell, way) == reach), None)


class _Statement:
    """What is proven against one attacker."""

    def __init__(
        self, problem: Problem, protection: Protection, attacker: Attacker, proof: Proof, wrong: list[str]
    ) -> None:
        self.problem, self.protection, self.attacker, self.proof = problem, protection, attacker, proof
        self.program = ExactProgram(problem.table.relations, *exact_slacks(problem, protection, attacker))
        self.shown = Witnesses(self.program, proof.tables)
        self.required = required_levels(problem, protection, attacker)
        self.wrong = wrong

    def state(self) -> Json:
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
                    "moves": [format_number(Fraction(move, t.denominator)) for move in t.numerators],
                }
                for t in self.proof.tables
            ],
            "cells": [self._cell(cell, *sides) for cell, sides in zip(self.proof.cells, self.proof.sides, strict=True)],
        }

    def _check(self, number: int, table: ExactDeviation) -> None:
        """The multiple used of a table keeps all bounds by definition; what is left to check are its relations."""
        row = self.program.violated(table)
        if row is not None:
            name = self.problem.table.relation_label(row)
            self.wrong.append(f"Table {number} is not congruent: the relation of {name!r} does not hold.")
        if len(table.cells) == 1 and (table.numerators, table.denominator) != ((1,), 1):
            self.wrong.append(f"Table {number} moves a single cell, by other than 1.")

    def _cell(self, cell: int, *sides: ProvenSide) -> Json:
        label, needs = self.problem.table.label(cell), [decimal_fraction(level) for level in self.required[:, cell]]
        stated, reach, limits = [], [], {}
        for k, side in enumerate(sides):
            said, far, limit = self._side(cell, (-1, 1)[k], side)
            stated.append(said)
            reach.append(far)
            if limit is not None and not isinstance(limit.bound, float):
                limits[k] = limit
        missed = missed_levels(needs, *(limits[k].bound if k in limits else math.inf for k in range(2)))
        if is_published_primary(self.problem, self.protection, cell):
            missed.append("published")
        if not missed and missed_levels(needs, *reach):
            self.wrong.append(f"{label!r} is neither shown to be safe nor to be exposed.")
        entry = {
            "cell": cell,
            "label": label,
            "safe": not missed,
            "needs": dict(zip((*SIDES, "sliding"), map(format_number, needs), strict=True)),
            **dict(zip(SIDES, stated, strict=True)),
        }
        if missed:
            words = explain(self.problem.table, self.program, cell, needs, limits, missed)
            entry |= {"missed": missed, "words": words}
        return entry

    def _side(self, cell: int, sign: int, side: ProvenSide) -> tuple[Json, Bound, Combination | None]:
        """What is said about one direction, how far the cell goes there, and what bounds it."""
        reach: Bound = Fraction(0)
        said: Json = {}
        if side.table is not None:
            reach = sign * self.program.reach(self.proof.tables[side.table], cell, side.way)
            said = {"table": self.shown.first(cell, sign, reach), "sign": side.way}
            if reach <= 0:
                label = self.problem.table.label(cell)
                self.wrong.append(f"Table {side.table} does not show that {label!r} moves {('down', 'up')[sign > 0]}.")
        said["reach"] = format_number(reach)
        if side.multipliers is None:
            return said, reach, None
        limit = self.program.combine(cell, sign, side.multipliers)
        said |= {
            "bound": format_number(limit.bound),
            "gap": format_number(limit.bound - reach),
            "relations": list(limit.multipliers),
            "multipliers": [format_number(y) for y in limit.multipliers.values()],
            "remaining": list(limit.remaining),
            "weights": [format_number(weight) for weight in limit.remaining.values()],
        }
        return said, reach, limit
