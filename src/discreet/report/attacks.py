"""The results of attacks in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.attacks import ATTACKS, AttackReport, Replayed, Score, score
from discreet.report.words import percent, plural


def attack_rows(report: AttackReport) -> list[dict[str, Any]]:
    """One row per attack: those that were run, then those that were not."""
    run = [
        _row(one.finding.attack, _outcome(one), withstood=not (one.finding.certain and one.compromised.any()))
        for one in report.scores
    ]
    return run + [_row(name, f"Not run: {reason}.", withstood=None) for name, reason in report.skipped.items()]


def _row(attack: str, outcome: str, withstood: bool | None) -> dict[str, Any]:
    return {
        "name": attack,
        "words": ATTACKS[attack].description,
        "outcome": outcome,
        "verdict": "–" if withstood is None else "✓ yes" if withstood else "✕ no",
        "withstood": withstood is not False,
    }


def _outcome(one: Score) -> str:
    exact = int(one.exact.sum())
    sentences = [f"Of {plural(len(one.row), 'cell')}, {f'{exact:,}' if exact else 'none'} found exactly."]
    if unclaimed := int(one.finding.unclaimed[one.row].sum()):
        sentences.append(f"No result for {unclaimed:,} of them.")
    if one.compromised.any():
        cells = f"{plural(int(one.compromised.sum()), 'sensitive cell')} inferred more closely than allowed"
        sentences.append(f"{cells}." if one.finding.certain else f"{cells}, but only as a guess.")
    elif one.sensitive.any():
        sentences.append("No sensitive cell inferred more closely than allowed.")
    if isinstance(one.finding, Replayed):
        # For how many cells the posterior interval is narrower than required, and for how many without knowing the method.
        before = score(one.finding.baseline(), one.truth).narrower.sum()
        sentences.append(
            f"The 95 % interval does not cover the required one for {one.narrower.sum():,} of {one.sensitive.sum():,} "
            f"sensitive cells, without knowing the method for {before:,}: {one.finding.basis()}."
        )
    if not np.isnan(one.typical):
        sentences.append(f"The median error of the estimates is {percent(one.typical)}.")
    if one.near.any():
        estimates = plural(int(one.near.sum()), "estimate")
        sentences.append(f"{estimates} of sensitive cells closer than the levels, which an attacker cannot know.")
    if one.wrong.any():
        sentences.append(f"{plural(int(one.wrong.sum()), 'claim')} wrong.")
    return " ".join(sentences)
