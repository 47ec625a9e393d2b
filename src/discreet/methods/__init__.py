"""The protection methods by name, and the function ``protect``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import Field, fields, replace
from typing import Any

from discreet.arrays import BoolArray
from discreet.errors import InputError, RuleError, some
from discreet.level import Level, level_of
from discreet.methods.combined.combined import Combined
from discreet.methods.context import Run, validated_start
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.counts.small_counts import SmallCounts
from discreet.methods.fallback import WithFallback, protect_or_explain
from discreet.methods.intervals.first_model import IntervalsFirstModel
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.method import Method, Traits, options_of, traits_of, uses_secret
from discreet.methods.never_computable import NeverComputable, restated
from discreet.methods.perturbation.adjustment import Adjustment
from discreet.methods.perturbation.first_model import PerturbationFirstModel
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.respondents.construct import ForRespondents
from discreet.methods.rounding.controlled import ControlledRounding
from discreet.methods.rounding.first_model import RoundingFirstModel
from discreet.methods.rounding.simple import ConventionalRounding, RandomRounding
from discreet.methods.split import InPieces
from discreet.methods.suppress.auto import Auto
from discreet.methods.suppress.elimination import Elimination
from discreet.methods.suppress.first_model import FirstModel
from discreet.methods.suppress.hypercube import Hypercube
from discreet.methods.suppress.improve import Guided, Improve
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.modular import Modular
from discreet.methods.suppress.optimal.optimal import Optimal
from discreet.problem import Problem
from discreet.progress import Budget, Progress, Silent
from discreet.protection import Protection
from discreet.secret import Secret

METHODS: Mapping[str, type[Method]] = {
    "auto": Auto,
    "kelly": Kelly,
    "hypercube": Hypercube,
    "modular": Modular,
    "eliminate": Elimination,
    "guided": Guided,
    "improve": Improve,
    "optimal": Optimal,
    "first-model": FirstModel,
    "perturb": Perturbation,
    "perturb-first-model": PerturbationFirstModel,
    "adjust": Adjustment,
    "cell-key": CellKey,
    "small-counts": SmallCounts,
    "intervals": Intervals,
    "intervals-first-model": IntervalsFirstModel,
    "round": ControlledRounding,
    "round-first-model": RoundingFirstModel,
    "random-round": RandomRounding,
    "conventional-round": ConventionalRounding,
    "combined": Combined,
}
SUPPRESSION = tuple(name for name, method in METHODS.items() if traits_of(method).suppresses)


def with_options(name: str, **options: Any) -> Method:
    """A method by name. Options given as text, as on the command line, are converted to their types."""
    if name not in METHODS:
        raise RuleError(f"There is no method {name!r}. Choose from {some(list(METHODS), limit=20)}.", [name])
    known = {field.name: field for field in fields(METHODS[name])}  # type: ignore[arg-type]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise RuleError(f"The method {name!r} has no option {some(unknown)}. See `discreet methods`.", unknown)
    return METHODS[name](**{option: _converted(value, known[option]) for option, value in options.items()})


def _converted(value: Any, option: Field[Any]) -> Any:
    """The value of an option in its type; text is converted. Types other than bool, int, float and str are left to the method."""
    kinds = [kind.strip() for kind in str(option.type).split("|")]
    simple = {"bool": bool, "int": int, "float": float, "str": str}
    for kind in kinds:
        if isinstance(value, str) and kind == "bool" and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if isinstance(value, str) and kind in ("int", "float"):
            with contextlib.suppress(ValueError):
                return simple[kind](value)
        if kind in simple and (type(value) is simple[kind] or (kind, type(value)) == ("float", int)):
            return value
    if not isinstance(value, str) and any(kind not in simple and kind != "None" for kind in kinds):
        return value
    raise RuleError(f"The option {option.name!r} takes {' or '.join(kinds)}, not {value!r}.", [option.name])


def protect(
    problem: Problem,
    method: str | Method = "kelly",
    *,
    seed: int = 0,
    time_limit: float | None = None,
    gap: float = 0.0,
    progress: Progress | None = None,
    executor: Executor | None = None,
    start: BoolArray | None = None,
    keep: Callable[[BoolArray], None] | None = None,
    level: Level | None = None,
    secret: Secret | str | None = None,
) -> Protection:
    """Protect every primary cell of a problem. Audit the result before publishing it.

    At the ``level`` of contributions every respondent is protected from all others, see
    :mod:`discreet.methods.respondents`; at the level of cells, cell values are protected from an outsider. By default it is the
    level of contributions if the method suppresses, contributors are named and a rule is about contributions, see
    :func:`~discreet.level.level_of`. ``level``, ``start`` and ``keep`` are for suppression only.

    Methods that prove a bound stop when the cost is within ``gap`` (a share) of it; heuristics prove no bound. ``start`` is a
    starting pattern, which need not be safe; ``keep`` is called with the incumbent from time to time, and with the final
    pattern. The ``executor``, one of ``concurrent.futures`` or a compatible one, runs independent pieces of work. Independent
    tables are protected one by one, unless a limit applies to all of them together.

    The ``seed`` is public: it is that of the random choices of a search, such as between patterns of equal cost. Randomness
    that protects comes from the ``secret``, by default a new one of the operating system. The confidential report contains it,
    so that the run can be repeated.
    """
    for name, number in (("time_limit", time_limit), ("gap", gap)):
        if number is not None and not number >= 0:
            raise InputError(f"{name} is a number, 0 or more, not {number!r}.")
    if isinstance(method, str):
        method = with_options(method)
    traits = traits_of(method)
    in_force = level_of(problem, traits.suppresses, level)
    if not traits.suppresses and (start is not None or in_force.covers_respondents):
        raise InputError(f"The method {method.name!r} suppresses no cells: start= and level= are for suppression.")
    if not traits.suppresses and traits.kind != "combined":
        _refuse_unless_suppressed(method.name, problem.must_suppress)
    if traits.splits and getattr(method, "at_most", None) is None:
        method = InPieces(method)
    if traits.suppresses:
        quick: Method = InPieces(Kelly())
        fallback = None if getattr(method, "at_most", None) is not None else quick
        if in_force.covers_respondents:
            method, fallback = ForRespondents(method, quick), fallback and ForRespondents(quick, quick)
        method = NeverComputable(WithFallback(method, fallback, in_force.covers_respondents))
    first = None if start is None else validated_start(problem, start)
    run = Run(seed, Budget(time_limit, gap), progress or Silent(), executor, first, secret=Secret.of(secret))
    if not traits.suppresses:
        posed = problem.posed(suppresses=False, lists_zeros=traits.lists_zeros)
        found = restated(problem, protect_or_explain(method, posed, run))
        published = ~found.suppressed | found.has_interval
        labels = [label for label in problem.must_suppress if published[problem.table.index(label)]]
        _refuse_unless_suppressed(found.report.method, labels)
        if not uses_secret(method):
            return found
        return replace(found, report=replace(found.report, secret=run.secret.digits))
    found = method.protect(problem, run if keep is None else replace(run, keep=keep))
    if keep is not None:
        keep(found.suppressed)
    return found


def _refuse_unless_suppressed(method: str, labels: Sequence[str]) -> None:
    """Raise an error if there are labels: cells that must be suppressed by decision, but get an interval or another value."""
    if labels:
        raise InputError(
            f"{some(list(labels))} is sensitive and set to 'suppressed' by hand, but the method {method!r} publishes an interval "
            "or another value for it. Choose a suppression method, or remove the status set by hand.",
            list(labels),
        )
