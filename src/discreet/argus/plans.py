"""The methods of this package for the methods of ``<SUPPRESS>``, and what their parameters become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.argus.cell_key import CellKeyByFile, read_probabilities
from discreet.argus.commands import Suppress
from discreet.argus.paths import Paths
from discreet.argus.work import Work
from discreet.errors import InputError
from discreet.inference.max_flow import network
from discreet.level import Level
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import Adjustment
from discreet.methods.rounding.controlled import ControlledRounding
from discreet.methods.suppress.hypercube import Hypercube
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.modular import Modular
from discreet.methods.suppress.optimal.optimal import Optimal

BASE_TOLERANCE = 1e-9  # share of a unit within which a base is a multiple of it
SECONDS = 60.0  # in a minute: limits are in minutes


@dataclass(frozen=True)
class Plan:
    """The method that a ``<SUPPRESS>`` stands for, and the conditions under which it works."""

    method: Method
    level: Level | None = None
    time_limit: float | None = None
    gap: float = 0.0
    prior: float | None = None
    sentences: tuple[str, ...] = ()


def plan_of(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    """The method of this package for a ``<SUPPRESS>`` of these tables."""
    return PLANS[command.method](command, works, paths)


def unused_parameters(command: Suppress) -> list[str]:
    """What is said about parameters that have no effect here."""
    given, found = command.arguments, []
    if command.method == "MOD" and "minutes" in given:
        found.append(
            "the limit per subtable is not used: modular stops after some programs per subtable, however fast they are"
        )
    if given.get("min_frequency"):
        found.append(
            "the option on the minimum frequency of rows has no equivalent: the audit says whether values are protected"
        )
    unused = [name for name in ("max_cost", "lower_margin", "upper_margin") if name in given]
    if unused:
        found.append(f"{' and '.join(unused)} concern the scaling of the program of τ-ARGUS, and are not used")
    if "size" in given:
        found.append("the size of the model is not used: hypercube takes tables of any size")
    if given.get("partitions"):
        found.append("partitions are not needed: independent parts of a table are found and rounded in any case")
    if given.get("unit_cost") == 0:
        found.append("costs by cell are not used: the sum of all changes is made least")
    return found


def _modular(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    return _singletons(command, works, Plan(Modular(), sentences=tuple(unused_parameters(command))))


def _optimal(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    minutes = command.arguments.get("minutes")
    sentence = "OPT has no singleton options: the level is that of cells"
    return Plan(Optimal(), "cells", None if minutes is None else minutes * SECONDS, sentences=(sentence,))


def _hypercube(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    sentences = unused_parameters(command)
    if command.a_priori is not None:
        sentences.append("readers are taken to know each value as closely as the a priori percentage of GH says")
    return _singletons(command, works, Plan(Hypercube(), prior=command.a_priori, sentences=tuple(sentences)))


def _network(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    is_network = network(works[0].views.table.relations) is not None
    sentence = "" if is_network else "the table is no network: kelly solves linear programs instead of flows"
    return Plan(Kelly(), "cells", sentences=(sentence,) if sentence else ())


def _round(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    given = command.arguments
    (work,) = works
    unit = 10.0**-work.views.decimals
    if abs(given["base"] / unit - round(given["base"] / unit)) > BASE_TOLERANCE:
        raise InputError(
            "the base of RND has more decimals than the variable (<DECIMALS>), so that files would not show its multiples."
        )
    sentences = unused_parameters(command)
    gap = gap_of(command)
    if gap:
        sentences.append("the rounding ends with the first that is safe (stop rule)")
    limit = given["minutes"] * SECONDS if "minutes" in given else None
    return Plan(
        ControlledRounding(given["base"], steps=int(given.get("steps", 0)) + 1),
        None,
        limit,
        gap,
        sentences=tuple(sentences),
    )


def gap_of(command: Suppress) -> float:
    """The gap at which a rounding may end: with the stop rules 1 and 2 the first safe one will do."""
    return 0.0 if command.arguments.get("stop", 3) == 3 else 1.0


def _adjust(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    return Plan(Adjustment())


def _cell_key(command: Suppress, works: Sequence[Work], paths: Paths) -> Plan:
    (work,) = works
    if not work.request.specify.counts:
        raise InputError(
            "CKM of magnitudes is not available here: it is for tables of counts (<FREQ>). See the methods adjust and perturb."
        )
    if work.views.weighted:
        raise InputError("CKM of weighted counts is not available here: leave out WGT.")
    if work.views.keys is None:
        raise InputError("CKM needs a variable with <RECORDKEY>, and a key in every record.")
    names = [name for name in (*command.files, work.probabilities) if name]
    if not names:
        raise InputError("CKM needs a probability table: name its file after CKM(…), or with <PFILE> in the metadata.")
    keys, digits = work.views.keys
    return Plan(
        CellKeyByFile(read_probabilities(paths.existing(names[0])), np.asarray(keys, dtype=np.float64) / 10**digits)
    )


def _singletons(command: Suppress, works: Sequence[Work], plan: Plan) -> Plan:
    """The plan at the level of safety that singleton options stand for, with a sentence about it."""
    if not command.singletons:
        sentence = "no singleton option: the level is that of cells, which does not cover respondents who use their own figures"
        return replace(plan, level="cells", sentences=(sentence, *plan.sentences))
    if obstacle := obstacle_to_contributions(works):
        return at_cells(plan, obstacle)
    sentence = "singleton options: the level is that of contributions, which protects every respondent from all others"
    return replace(plan, level=None, sentences=(sentence, *plan.sentences))


def at_cells(plan: Plan, obstacle: str) -> Plan:
    """The plan at the level of cells, where singleton options cannot be followed."""
    sentence = f"singleton options stand for the level of contributions, which is not possible: {obstacle}"
    others = [one for one in plan.sentences if not one.startswith("singleton options")]
    return replace(plan, level="cells", sentences=(sentence, *others))


def obstacle_to_contributions(works: Sequence[Work]) -> str:
    """Why respondents of these tables cannot be protected from each other; empty if they can."""
    whose = {work.request.protects for work in works} - {"none"}
    if not whose:
        return "no rule P or NK"
    if whose not in ({"records"}, {"holdings"}):
        return "rules P or NK for records and for holdings"
    if any(work.request.weighted for work in works):
        return "weights"
    if any(work.views.shadowed for work in works):
        return "rules judge by another variable"
    known = all(work.views.table.contributions is not None for work in works)
    return "" if known else "the contributions of records are not known"


PLANS: Mapping[str, Callable[[Suppress, Sequence[Work], Paths], Plan]] = {
    "MOD": _modular,
    "OPT": _optimal,
    "GH": _hypercube,
    "NET": _network,
    "RND": _round,
    "CTA": _adjust,
    "CKM": _cell_key,
}
METHOD_NAMES = {
    "MOD": "modular",
    "OPT": "optimal",
    "GH": "hypercube",
    "NET": "kelly",
    "RND": "round",
    "CTA": "adjust",
    "CKM": "cell-key",
}
