"""Certificates: proofs of the verdicts of an audit, which can be checked without a solver."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.attackers import Attacker
from discreet.audit.audit import Audit
from discreet.audit.proof import (
    BOUND_FORMAT,
    CERTIFICATE_FORMAT,
    CERTIFICATE_VERSION,
    SIDE_NAMES,
    Json,
    Proof,
    ProvenSide,
    Witnesses,
    statement,
    violated_levels,
)
from discreet.compressed_files import read_bytes
from discreet.drafts import create_private
from discreet.errors import DiscreetError, FormatError, InputError, TableError, some
from discreet.inference import tolerances
from discreet.inference.deviations import Evidence
from discreet.inference.exact_lp import DIRECTIONS, Combination, ExactDeviation
from discreet.inference.exact_numbers import decimal_fraction, parse_number
from discreet.inference.exact_reach import ExactReach
from discreet.inference.rational_reconstruction import exact_deviations, reach_of
from discreet.inference.requirements import chosen_attackers, published_primaries, required_levels
from discreet.problem import Problem
from discreet.progress import Progress, Silent
from discreet.protection import Protection

_Settled = tuple[ExactDeviation | None, Combination | None]  # a deviation that a cell attains, and a bound
_ADVICE = (
    "The cause may be numbers of very different size, or with many more digits than matter: round values, levels and bounds, "
    "then audit again. No certificate was written; in Python, the attribute 'certificate' of the error contains what is proven."
)


class CertificateError(DiscreetError):
    """Exact arithmetic contradicts an audit. ``certificate`` contains what could be proven instead, if anything."""

    exit_code = 1

    def __init__(self, message: str, offenders: Sequence[object] = (), certificate: Json | None = None) -> None:
        super().__init__(message, offenders)
        self.certificate = certificate


def certificate(
    checked: Audit,
    protection: Protection,
    attackers: Sequence[Attacker] | None = None,
    progress: Progress | None = None,
) -> Json:
    """Prove the verdicts of an audit, and its intervals if it is exact, in exact arithmetic. Confidential.

    The audit must have been made with ``certify=True`` and against these attackers, by default those of the problem. The
    certificate is about readers who do not know that cells are integers.
    """
    checked = checked.linear or checked
    problem = checked.problem
    audited = chosen_attackers(problem, attackers)
    if checked.evidence is None:
        raise InputError("The audit kept no evidence: make it with audit(…, certify=True).")
    if protection.digest != checked.protection:
        raise TableError("The audit is about another protection. Certify it with the one that was audited.")
    if tuple(attacker.digest for attacker in audited) != checked.knowledge:
        raise InputError("The audit is about other attackers. Certify it with those it was made against.")
    progress = progress or Silent()
    progress.stage("certify", len(checked.cell) + len(checked.other_suppressed))
    proofs, done = [], 0
    for k, attacker in enumerate(audited):
        cells, evidence = checked.cell[checked.attacker == k], checked.evidence[k]
        exact = np.full(len(cells), checked.exact)
        if k == 0:  # the outsider must not be able to compute any other suppressed cell exactly, either
            cells, evidence = np.concatenate([cells, checked.other_suppressed]), evidence.joined(checked.evidence[-1])
            exact = np.concatenate([exact, np.zeros(len(checked.other_suppressed), dtype=bool)])
        proofs.append(_Prover(problem, protection, attacker, evidence, cells, exact).prove(progress, done))
        done += len(cells)
    found, wrong = statement(problem, protection, audited, proofs)
    if wrong:
        raise CertificateError(f"The audit cannot be proven in exact arithmetic. {' '.join(wrong[:3])}", wrong)
    _compare(checked, found)
    return found


def _compare(checked: Audit, found: Json) -> None:
    """Raise if the verdicts or the intervals of the audit differ from what is proven."""
    verdicts, ends = [], []
    for attacker, part in enumerate(found["attackers"]):
        for entry in part["cells"]:
            cell = entry["cell"]
            if (attacker, cell) not in checked.rows:
                if entry["safe"] == (cell in checked.computable):
                    verdicts.append(entry["label"])
                continue
            k = checked.rows[attacker, cell]
            if entry["safe"] != checked.safe[k]:
                verdicts.append(entry["label"])
            elif checked.exact and not _agrees(checked, k, float(checked.problem.table.value[cell]), entry):
                ends.append(entry["label"])
    if verdicts:
        raise CertificateError(
            f"Exact arithmetic contradicts the audit about {len(verdicts)} cells, e.g. {some(verdicts)}. "
            f"Treat them as exposed, and do not publish. {_ADVICE}",
            verdicts,
            found,
        )
    if ends:
        raise CertificateError(
            f"Exact arithmetic contradicts no verdict, but the intervals of {len(ends)} cells, e.g. {some(ends)}. {_ADVICE}",
            ends,
            found,
        )


def _agrees(checked: Audit, k: int, value: float, entry: Json) -> bool:
    """Whether both ends of an interval lie between the proven reach and bound, up to the tolerance of levels."""
    deviations = (value - checked.lower[k], checked.upper[k] - value)
    for side, deviation in zip(SIDE_NAMES, deviations, strict=True):
        written = (entry[side].get(name, "inf") for name in ("reach", "bound"))
        reach, bound = (np.inf if number == "inf" else float(parse_number(number)) for number in written)
        error = tolerances.LEVEL_TOLERANCE * max(x for x in (abs(value), reach, bound, *deviations) if np.isfinite(x))
        if not reach - error <= deviation <= bound + error:
            return False
    return True


class _Prover:
    """Converts the evidence of an audit against one attacker into a proof."""

    def __init__(
        self,
        problem: Problem,
        protection: Protection,
        attacker: Attacker,
        evidence: Evidence,
        cells: Sequence[int],
        exact: BoolArray,
    ) -> None:
        self.evidence, self.exact = evidence, exact
        self.cells = [int(cell) for cell in cells]
        self.exact_reach = ExactReach.against(problem, protection, attacker)
        self.program = self.exact_reach.program
        self.required = required_levels(problem, protection, attacker)
        self.published = published_primaries(problem, protection)
        self._exact_tables: dict[int, ExactDeviation | None] = {-1: None}

    def prove(self, progress: Progress, done: int) -> Proof:
        settled: dict[int, list[_Settled]] = {}
        for k, cell in enumerate(self.cells):
            if cell not in settled:
                settled[cell] = self._cell(k, cell)
            progress.update(done + k + 1)
        different = {
            (t.cells, t.numerators, t.denominator): t for both in settled.values() for t, _ in both if t is not None
        }
        witnesses = Witnesses(self.program, list(different.values()))
        sides = [
            [self._side(witnesses, cell, sign, one) for sign, one in zip(DIRECTIONS, both, strict=True)]
            for cell, both in settled.items()
        ]
        used = sorted({side.table for both in sides for side in both if side.table is not None})
        number = {old: new for new, old in enumerate(used)}
        renumbered = [
            [side if side.table is None else replace(side, table=number[side.table]) for side in both] for both in sides
        ]
        return Proof([witnesses.tables[n] for n in used], list(settled), [(down, up) for down, up in renumbered])

    def _cell(self, k: int, cell: int) -> list[_Settled]:
        """For each side the deviation that a cell attains, and the bound if it is needed."""
        shown = [self._exact_table(int(n)) for n in self.evidence.shown[:, k]]
        exact = bool(self.exact[k])
        if not (exact or self.published[cell] or self._violated(cell, shown)):
            return [(table, None) for table in shown]
        decided = [self.exact_reach.settle(cell, sign, table) for sign, table in zip(DIRECTIONS, shown, strict=True)]
        settled: list[_Settled] = [(_normalized(table), limit) for table, limit in decided]
        if exact or self._violated(cell, [table for table, _ in settled]):
            return settled
        return [(table, None) for table, _ in settled]

    def _exact_table(self, n: int) -> ExactDeviation | None:
        """Table ``n`` of the evidence in exact numbers."""
        if n not in self._exact_tables:
            table = self.evidence.tables[n]
            simplest_first = exact_deviations(self.program, table.cells.tolist(), table.amount)
            self._exact_tables[n] = _normalized(next(simplest_first, None))
        return self._exact_tables[n]

    def _violated(self, cell: int, shown: Sequence[ExactDeviation | None]) -> list[str]:
        """The levels that these deviations down and up do not reach."""
        down, up = (reach_of(self.program, table, cell, sign) for sign, table in zip(DIRECTIONS, shown, strict=True))
        return violated_levels([decimal_fraction(level) for level in self.required[:, cell]], down, up)

    def _side(self, witnesses: Witnesses, cell: int, sign: int, settled: _Settled) -> ProvenSide:
        table, limit = settled
        reach = reach_of(self.program, table, cell, sign)
        multipliers = None if limit is None or isinstance(reach, float) else limit.multipliers
        n = witnesses.first(cell, sign, reach) if reach else None
        if n is None:
            return ProvenSide(None, 1, multipliers)
        return ProvenSide(n, sign if witnesses.tables[n].by_cell[cell] > 0 else -sign, multipliers)


def _normalized(table: ExactDeviation | None) -> ExactDeviation | None:
    """The deviation; if only one cell deviates, then by 1, because any other amount proves the same."""
    return table if table is None or len(table.cells) != 1 else ExactDeviation(table.cells, (1,), 1)


# -- files ----------------------------------------------------------------------------------------------------


def write_certificate(found: Json, path: str | Path) -> None:
    """Write one line per table and cell; compressed if the name ends in ``.gz``. Confidential."""
    content = (_lines(found, 4) + "\n").encode("utf-8", "surrogatepass")
    if str(path).lower().endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    create_private(path)
    Path(path).write_bytes(content)


def read_certificate(path: str | Path) -> Json:
    """Read what :func:`write_certificate` wrote; :func:`verify` checks it, and :func:`verify_bound` one of a bound."""
    try:
        found = json.loads(read_bytes(path).decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        # The message of the exception is left out, because it may quote confidential content.
        raise FormatError(
            f"{path} is not a certificate: it is not JSON, or damaged. Write it again with discreet audit."
        ) from None
    if not isinstance(found, dict) or found.get("format") not in (CERTIFICATE_FORMAT, BOUND_FORMAT):
        raise FormatError(f"{path} is not a certificate: it does not contain 'format': {CERTIFICATE_FORMAT!r}.")
    if found.get("version") != CERTIFICATE_VERSION:
        raise FormatError(f"{path} is a certificate of another version. Write it again with this version of discreet.")
    return found


def _lines(value: Any, depth: int) -> str:
    if depth and value and isinstance(value, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {_lines(item, depth - 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if depth and value and isinstance(value, list):
        return "[\n" + ",\n".join(_lines(item, depth - 1) for item in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)
