"""The attacks that a job runs on its release before publication."""

from __future__ import annotations

from collections.abc import Callable

from discreet.attacks import QUICK, AttackReport, Knowledge, Recipe
from discreet.attacks import run as run_attacks
from discreet.attacks.recipe import unpublished_input
from discreet.attacks.run import OUT_OF_TIME
from discreet.data.table import Table
from discreet.jobs.job_file import Job
from discreet.level import level_of
from discreet.methods import uses_secret
from discreet.problem import Problem
from discreet.progress import ENDED_EARLY, Progress
from discreet.protection import Protection
from discreet.report.words import plural
from discreet.rules import parse_rules

# Of the time spent so far, for the quick attacks together, so that they do not dominate the job.
ATTACK_TIME_SHARE = 0.1
MIN_ATTACK_SECONDS = 2.0  # for the quick attacks together; most finish in this time on small tables


def quick_seconds(spent: float) -> float:
    """The time limit of the quick attacks together."""
    return max(MIN_ATTACK_SECONDS, ATTACK_TIME_SHARE * spent)


def quick_attacks(accept_symmetric: bool) -> tuple[str, ...]:
    """The quick attacks; without the one on symmetric intervals if those are accepted."""
    return tuple(name for name in QUICK if not (accept_symmetric and name == "symmetric"))


def try_attacks(
    job: Job,
    protection: Protection,
    pose: Callable[[Table], Problem],
    resumed: bool,
    spent: float,
    progress: Progress,
    say: Callable[[str], None],
) -> AttackReport | None:
    """Run the attacks of the job; the quick ones, which are the default, get a share of the time spent so far.

    ``pose`` applies the rules of the job to a table; ``resumed``: the method started from the pattern of an earlier run.
    """
    names = job.output.attacks
    if not names or names == ["none"]:
        say("tried no attack, as the job says")
        return None
    quick = names == ["quick"]
    chosen = quick_attacks(job.output.accept_symmetric) if quick else None if names == ["all"] else names
    seconds = quick_seconds(spent) if quick else None
    knows = Knowledge(recipe=_recipe(job, protection, pose, resumed))
    found = run_attacks(protection, chosen, knows=knows, seconds=seconds, progress=progress)
    if found.scores:
        compromised = f"{len(found.compromised):,} sensitive cells compromised"
        say(f"tried {plural(len(found.scores), 'attack')}: {'none succeeded' if found.passed else compromised}")
    else:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.skipped.items())
        say(f"no attack {'finished in time' if OUT_OF_TIME in found.skipped.values() else 'applies'} ({reasons})")
    return found


def _recipe(job: Job, protection: Protection, pose: Callable[[Table], Problem], resumed: bool) -> Recipe:
    """The recipe of the release for an attacker who knows the job file but no data."""
    table, options, data = protection.problem.table, job.protect, job.data
    unpublished = {
        "waivers are not public": job.rules.waivers,
        "prior bounds of further attackers are not public": job.rules.attackers,
        "requests for protection are not public": data and data.request,
        "weights are not public": data and data.weight,
        "the column that costs come from is not public": options.cost.startswith("column"),
        "the starting pattern of the method is not public": resumed,
        "the method was stopped before its end": protection.report.status in ENDED_EARLY,
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
        unpublished_input=next(
            (reason for reason, applies in unpublished.items() if applies), unpublished_input(protection.problem)
        ),
    )
