"""What attacks leave open about a release, in sentences to stand beside the verdict."""

from __future__ import annotations

from typing import Any

from discreet.attacks.finding import score
from discreet.attacks.replay import Replayed
from discreet.attacks.run import LATE, LabReport

UNTRIED = "No attack was tried on this release, as asked."
UNASKED = "that attack was not asked for"
WHO = "An attacker who knows the method, rules, costs and public seed, and holds all tables that agree equally likely,"


def limits(lab: LabReport | None) -> list[str]:
    """Where less is promised than it may seem; None: no attacks were tried. Counts, no labels and no values."""
    if lab is None:
        return [UNTRIED]
    late = [name for name, reason in lab.skipped.items() if reason == LATE]
    found = [f"Attacks not finished in time: {', '.join(late)}."] if late else []
    counted = replayed(lab)
    if counted is None:
        why = lab.skipped.get("replay", UNASKED)
        untold = f"What an attacker who knows the method would infer was not worked out: {why}."
        return found if "replay" in late else [*found, untold]
    narrower, sensitive = counted["narrower"], counted["sensitive"]
    if not narrower:
        return found
    sentence = (
        f"{WHO} is 95 % sure of less than the required interval for {narrower:,} of {sensitive:,} sensitive cells "
        f"({counted['narrower_before']:,} without knowing the method), and of nothing outside it for "
        f"{counted['ruled_out']:,} ({counted['ruled_out_before']:,}); {counted['rests_on']}."
    )
    return [*found, sentence]


def replayed(lab: LabReport) -> dict[str, Any] | None:
    """What replay found, in counts; None if it was not run or came to no statement.

    ``narrower``: sensitive cells whose 95 % interval does not reach both ends of the required one; ``ruled_out``: those of
    which it leaves nothing outside.
    """
    for one in lab.scores:
        found = one.finding
        if isinstance(found, Replayed):
            before = score(found.before(), one.truth)
            return {
                "sensitive": int(one.sensitive.sum()),
                "narrower": int(one.narrower.sum()),
                "narrower_before": int(before.narrower.sum()),
                "ruled_out": int((one.narrower & one.compromised).sum()),
                "ruled_out_before": int((before.narrower & before.compromised).sum()),
                "tables_tried": found.tried,
                "tables_kept": found.kept,
                "effective": round(found.effective, 1),
                "all_tables": found.every,
                "estimated": found.estimated,
                "rests_on": found.words(),
            }
    return None
