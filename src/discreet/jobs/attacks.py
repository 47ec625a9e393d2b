"""Attacks that a job tries on its release before it is published."""

from __future__ import annotations

from collections.abc import Callable

from discreet.attacks import QUICK, Knowledge, LabReport, Recipe
from discreet.attacks import run as run_lab
from discreet.attacks.recipe import not_public
from discreet.attacks.run import LATE
from discreet.data.table import Table
from discreet.jobs.job_file import Job
from discreet.level import level_of
from discreet.methods import uses_secret
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.protection import Protection
from discreet.report.words import plural
from discreet.rules import parse_rules

SHARE = 0.1  # of the time that was spent so far, for the quick attacks,
SECONDS = 2.0  # or so long, whichever is more


def quick_seconds(spent: float) -> float:
    """How long the quick attacks may take together."""
    return max(SECONDS, SHARE * spent)


def quick_attacks(accept_symmetric: bool) -> tuple[str, ...]:
    """The attacks tried unasked; who accepts that values are in the middle of intervals need not be shown it."""
    return tuple(name for name in QUICK if not (accept_symmetric and name == "symmetric"))


def try_attacks(
    job: Job,
    protection: Protection,
    pose: Callable[[Table], Problem],
    began: bool,
    spent: float,
    progress: Progress,
    say: Callable[[str], None],
) -> LabReport | None:
    """Try the attacks that the job names, by default the quick ones, in a share of the time spent so far.

    ``pose`` applies the job's rules to a table; ``began``: the method began with the pattern of an earlier run.
    """
    names = job.output.attacks
    if not names or names == ["none"]:
        say("tried no attack: the job leaves them out")
        return None
    quick = names == ["quick"]
    chosen = quick_attacks(job.output.accept_symmetric) if quick else None if names == ["all"] else names
    knows = Knowledge(recipe=_recipe(job, protection, pose, began))
    seconds = quick_seconds(spent) if quick else None
    found = run_lab(protection, chosen, knows=knows, seconds=seconds, progress=progress)
    if not found.scores:
        why = "; ".join(f"{name}: {reason}" for name, reason in found.skipped.items())
        late = LATE in found.skipped.values()
        say(f"no attack {'finished in time' if late else 'applies'} ({why})")
        return found
    hit = f"{len(found.compromised):,} sensitive cells compromised"
    say(f"tried {plural(len(found.scores), 'attack')}: {'all withstood' if found.passed else hit}")
    return found


def _recipe(job: Job, protection: Protection, pose: Callable[[Table], Problem], began: bool) -> Recipe:
    """What an attacker knows about the making of the release who knows the job file, but none of the data."""
    table, options, data = protection.problem.table, job.protect, job.data
    withheld = {
        "who consents to publication is not public": job.rules.waivers,
        "what further attackers know is not public": job.rules.attackers,
        "who asked for protection is not public": data and data.request,
        "weights are not public": data and data.weight,
        "the column that costs come from is not public": options.cost.startswith("column"),
        "the pattern that the method began with is not public": began,
        "the method was stopped before its end": protection.report.status in ("time_limit", "interrupted"),
    }
    return Recipe(
        pose,
        job.method(),
        seed=options.seed,
        gap=options.gap,
        time_limit=options.time_limit,
        level=level_of(protection.problem, protection.only_suppresses, job.level).level,
        depth=max((rule.depth for rule in parse_rules(job.rules.sensitive)), default=0),
        dimensions=table.dimensions,
        response=table.response,
        secret=uses_secret(job.method()),
        withheld=next((reason for reason, given in withheld.items() if given), not_public(protection.problem)),
    )
