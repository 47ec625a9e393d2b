"""Sentences that state what attacks leave open about a release."""

from __future__ import annotations

from typing import Any

from discreet.attacks.finding import score
from discreet.attacks.replay import Replayed
from discreet.attacks.run import OUT_OF_TIME, QUICK, AttackReport

NO_ATTACK_TRIED = "No attack was tried on this result: it was audited only."


def limitations(report: AttackReport | None) -> list[str]:
    """Sentences on attacks left out or not finished, and on what the method reveals, in counts; None: no attacks were run."""
    if report is None:
        return [NO_ATTACK_TRIED]
    late = [name for name, reason in report.skipped.items() if reason == OUT_OF_TIME]
    found = [f"Attacks not finished in time: {', '.join(late)}."] if late else []
    considered = {
        *report.skipped,
        *(one.finding.attack for one in report.scores),
        "replay",
    }  # replay has its own sentence
    left_out = [name for name in QUICK if name not in considered]
    found += [f"Quick attacks left out: {', '.join(left_out)}."] if left_out else []
    counted = replay_counts(report)
    if counted is None:
        reason = report.skipped.get("replay", "that attack was not requested")
        unresolved = f"It was not computed what an attacker who knows the method would infer: {reason}."
        return found if "replay" in late else [*found, unresolved]
    if not counted["narrower"]:
        return found
    sentence = (
        "To an attacker who knows the method, rules, costs and public seed, and takes all congruent tables as equally likely, "
        f"the 95 % interval does not cover the required one for {counted['narrower']:,} of {counted['sensitive']:,} sensitive "
        f"cells ({counted['narrower_before']:,} without knowing the method), and lies inside it for "
        f"{counted['ruled_out']:,} ({counted['ruled_out_before']:,}); {counted['rests_on']}."
    )
    return [*found, sentence]


def replay_counts(report: AttackReport) -> dict[str, Any] | None:
    """The result of the attack replay in counts; None if it was not run or made no claim.

    ``narrower``: sensitive cells whose 95 % interval does not reach both ends of the required one; ``ruled_out``: those of
    them whose 95 % interval lies inside the required one.
    """
    for one in report.scores:
        found = one.finding
        if isinstance(found, Replayed):
            baseline = score(found.baseline(), one.truth)
            return {
                "sensitive": int(one.sensitive.sum()),
                "narrower": int(one.narrower.sum()),
                "narrower_before": int(baseline.narrower.sum()),
                "ruled_out": int((one.narrower & one.compromised).sum()),
                "ruled_out_before": int((baseline.narrower & baseline.compromised).sum()),
                "tables_tried": found.tried,
                "tables_kept": found.kept,
                "effective": round(found.effective, 1),
                "all_tables": found.all_tables,
                "estimated": found.estimated,
                "rests_on": found.basis(),
            }
    return None
