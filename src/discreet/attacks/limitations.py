"""Sentences that state what attacks leave open about a release; None for no sentence. ``None`` as report: no attacks were run."""

from __future__ import annotations

from typing import Any

from discreet.attacks.finding import score
from discreet.attacks.replay import Replayed
from discreet.attacks.run import OUT_OF_TIME, QUICK, AttackReport
from discreet.attacks.sample import Posterior

NO_ATTACK_TRIED = "No attack was tried on this result: it was audited only."
ONLY_INTERVALS = "No attack was tried besides the exact intervals: name some with --attack, or all with --all."


def not_tried(report: AttackReport | None) -> str | None:
    """Whether no attack was tried, or none but the intervals of the command attack; None: some attack was tried."""
    if report is None:
        return NO_ATTACK_TRIED
    return None if report.scores or report.skipped else ONLY_INTERVALS


def not_finished(report: AttackReport | None) -> str | None:
    """Which attacks were stopped by their time limit."""
    late = _late(report)
    if not late:
        return None
    return f"Attacks not finished in time: {', '.join(late)}. Attacks that are requested by name have no common time limit."


def left_out(report: AttackReport | None) -> str | None:
    """Which quick attacks were not requested."""
    if report is None or not_tried(report):
        return None
    considered = {*report.skipped, *(one.finding.attack for one in report.scores)}
    names = [name for name in QUICK if name not in considered and name != "replay"]  # replay has its own sentence
    return f"Quick attacks left out: {', '.join(names)}." if names else None


def without_result(report: AttackReport | None) -> str | None:
    """For how many cells the draws of the attack sample did not settle."""
    for one in () if report is None else report.scores:
        found = one.finding
        if isinstance(found, Posterior) and not found.settled.all():
            cells = f"{int((~found.settled).sum()):,} of {len(found.settled):,} cells"
            return f"The attack sample has no result for {cells}: their draws did not settle, or time ran out."
    return None


def method_unknown(report: AttackReport | None) -> str | None:
    """Why it was not computed what an attacker who knows the method infers."""
    if report is None or not_tried(report) or replay_counts(report) is not None or "replay" in _late(report):
        return None
    reason = report.skipped.get("replay", "that attack was not requested")
    return f"It was not computed what an attacker who knows the method would infer: {reason}."


def method_known(report: AttackReport | None) -> str | None:
    """What an attacker who knows the method infers, in counts."""
    counted = None if report is None else replay_counts(report)
    if counted is None or not counted["narrower"]:
        return None
    return (
        "To an attacker who knows the method, rules, costs and public seed, and takes all congruent tables as equally likely, "
        f"the 95 % interval does not cover the required one for {counted['narrower']:,} of {counted['sensitive']:,} sensitive "
        f"cells ({counted['narrower_before']:,} without knowing the method), and lies inside it for "
        f"{counted['ruled_out']:,} ({counted['ruled_out_before']:,}); {counted['rests_on']}."
    )


LIMITATIONS = (not_tried, not_finished, left_out, without_result, method_known, method_unknown)


def limitations(report: AttackReport | None) -> list[str]:
    """All sentences that apply."""
    return [sentence for made in LIMITATIONS if (sentence := made(report)) is not None]


def _late(report: AttackReport | None) -> list[str]:
    return [] if report is None else [name for name, reason in report.skipped.items() if reason == OUT_OF_TIME]


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
