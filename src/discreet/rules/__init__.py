"""Which cells say too much about a respondent. One rule a file; RULES names them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from discreet.errors import RuleError
from discreet.rules.base import Boundary, Rule, Sensitivity, arguments, combine
from discreet.rules.dominance import Dominance
from discreet.rules.percent import Percent
from discreet.rules.prior_posterior import PriorPosterior
from discreet.rules.request import Request
from discreet.rules.threshold import Threshold, WeightedThreshold
from discreet.rules.zero import Zero

__all__ = [
    "RULES",
    "Boundary",
    "Dominance",
    "Percent",
    "PriorPosterior",
    "Request",
    "Rule",
    "Sensitivity",
    "Threshold",
    "WeightedThreshold",
    "Zero",
    "combine",
    "parse_rule",
    "parse_rules",
]

RULES: dict[str, type[Any]] = {
    "P": Percent,
    "PQ": PriorPosterior,
    "NK": Dominance,
    "FREQ": Threshold,
    "WFREQ": WeightedThreshold,
    "ZERO": Zero,
    "REQ": Request,
}


def parse_rule(text: str, boundary: Boundary = "strict") -> Rule:
    """The rule that ``"P(10)"`` stands for: its name and, in brackets, its arguments in the order of its fields.

    ``boundary`` goes to the rules that have one. Messages never repeat the numbers, which are confidential.
    """
    form = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", text)
    if form is None:
        shown = re.sub(r"\d", "#", text.strip())
        raise RuleError(
            f"Cannot read the rule {shown!r}. Write a name and numbers in brackets, e.g. P(10) or NK(2,85)."
        )
    name, inside = form[1].upper(), form[2]
    if name not in RULES:
        near = get_close_matches(name, RULES, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise RuleError(f"There is no rule {name!r}.{hint} The rules are {', '.join(map(usage, RULES))}.", [name])
    rule = RULES[name]
    try:
        numbers = [float(number) for number in inside.split(",")] if inside.strip() else []
    except ValueError:
        raise RuleError(f"Rule {name} takes numbers only: write {usage(name)}, with a decimal point.") from None
    expected = arguments(rule)
    least = sum(argument.default is MISSING for argument in expected)
    if not least <= len(numbers) <= len(expected):
        raise RuleError(f"Rule {name} was given {len(numbers)} arguments: write {usage(name)}.")
    options = {"boundary": boundary} if "boundary" in {field.name for field in fields(rule)} else {}
    made: Rule = rule(*numbers, **options)
    return made


def parse_rules(rules: str | Rule | Iterable[str | Rule], boundary: Boundary = "strict") -> tuple[Rule, ...]:
    """Rules from strings, ``"P(10)|FREQ(3)"`` being two. Rules that are made already are kept, boundary and all."""
    listed = [rules] if isinstance(rules, str | Rule) else list(rules)
    made: list[Rule] = []
    for rule in listed:
        made.extend([parse_rule(part, boundary) for part in rule.split("|")] if isinstance(rule, str) else [rule])
    strangers = [type(rule).__name__ for rule in made if not isinstance(rule, Rule)]
    if strangers:
        raise RuleError(f"A rule is a string or a Rule, not a {strangers[0]}.", strangers)
    return tuple(made)


def usage(name: str) -> str:
    """``P(p[,coalition])``"""
    words = [f"[{a.name}]" if a.default is not MISSING else a.name for a in arguments(RULES[name])]
    return f"{name}({','.join(words)})".replace(",[", "[,")
