"""Attacks that were tried, and what came of them, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.attacks import ATTACKS, LabReport, Replayed, Score, score
from discreet.report.words import percent, plural


def attacks(lab: LabReport) -> list[dict[str, Any]]:
    """One row an attack: those that were run, then those that do not apply to this table."""
    run = [
        {
            "name": one.finding.attack,
            "words": ATTACKS[one.finding.attack].description,
            "outcome": _outcome(one),
            "verdict": "✕ no" if _succeeds(one) else "✓ yes",
            "withstood": not _succeeds(one),
        }
        for one in lab.scores
    ]
    return run + [
        {
            "name": name,
            "words": ATTACKS[name].description,
            "outcome": f"Not run: {why}.",
            "verdict": "–",
            "withstood": True,
        }
        for name, why in lab.skipped.items()
    ]


def _succeeds(one: Score) -> bool:
    return one.finding.certain and bool(one.compromised.any())


def _outcome(one: Score) -> str:
    exactly = int(one.exact.sum())
    told = [f"Of {plural(len(one.row), 'cell')}, {f'{exactly:,}' if exactly else 'none'} found exactly."]
    if silent := int(one.finding.unclaimed[one.row].sum()):
        told.append(f"Nothing could be said about {silent:,} of them.")
    if one.compromised.any():
        hit = f"{plural(int(one.compromised.sum()), 'sensitive cell')} known more closely than allowed"
        told.append(f"{hit}." if one.finding.certain else f"{hit}, as the attack guesses; it cannot be sure.")
    elif one.sensitive.any():
        told.append("No sensitive cell known more closely than allowed.")
    if isinstance(one.finding, Replayed):
        told.append(_replayed(one, one.finding))
    if not np.isnan(one.typical):
        told.append(f"Half of the estimates are off by {percent(one.typical)} or more.")
    if one.near.any():
        told.append(
            f"{plural(int(one.near.sum()), 'estimate')} of sensitive cells come near, which no intruder can tell."
        )
    if one.wrong.any():
        told.append(f"{plural(int(one.wrong.sum()), 'claim')} wrong.")
    return " ".join(told)


def _replayed(one: Score, found: Replayed) -> str:
    """How far the posterior is narrower than required, how much of that is due to the method, and what it rests on."""
    many, before = int(one.narrower.sum()), int(score(found.baseline(), one.truth).narrower.sum())
    short = f"The 95 % interval does not reach the required one for {many:,} of {int(one.sensitive.sum()):,} sensitive cells"
    return f"{short}, without knowing the method for {before:,}: {found.basis()}."
