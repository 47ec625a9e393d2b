"""Sensitivity rules. Each kind of rule has its own module; RULES lists them by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from discreet.errors import RuleError
from discreet.rules.base import Boundary, Rule, Sensitivity, arguments, combine, in_words
from discreet.rules.dominance import Dominance
from discreet.rules.percent import Percent, PriorPosterior
from discreet.rules.request import Request
from discreet.rules.threshold import Threshold, WeightedThreshold
from discreet.rules.zero import Zero

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
    """The rule written as ``"P(10)"``: its name and, in brackets, its arguments in the order of its fields.

    ``boundary`` is passed to the rules that have one. Messages never repeat the numbers, which are confidential.
    """
    form = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", text)
    if form is None:
        shown = re.sub(r"\d", "#", text.strip())
        raise RuleError(
            f"Cannot read the rule {shown!r}. Write a name and numbers in brackets, e.g. P(10) or NK(2,85)."
        )
    name, inside = form[1].upper(), form[2]
    if name not in RULES:
        similar = get_close_matches(name, RULES, n=1, cutoff=0.4)
        hint = f" Did you mean {similar[0]}?" if similar else ""
        raise RuleError(f"There is no rule {name!r}.{hint} The rules are {', '.join(map(usage, RULES))}.", [name])
    rule = RULES[name]
    try:
        numbers = [float(number) for number in inside.split(",")] if inside.strip() else []
    except ValueError:
        raise RuleError(f"Rule {name} takes numbers only: write {usage(name)}, with a decimal point.") from None
    expected = arguments(rule)
    n_required = sum(argument.default is MISSING for argument in expected)
    if not n_required <= len(numbers) <= len(expected):
        raise RuleError(f"Rule {name} was given {len(numbers)} arguments: write {usage(name)}.")
    options = {"boundary": boundary} if "boundary" in {field.name for field in fields(rule)} else {}
    parsed: Rule = rule(*numbers, **options)
    return parsed


def parse_rules(rules: str | Rule | Iterable[str | Rule], boundary: Boundary = "strict") -> tuple[Rule, ...]:
    """Rules from strings; ``"P(10)|FREQ(3)"`` is two rules. Rule objects are kept as they are, with their own boundary."""
    parsed: list[Rule] = []
    for rule in [rules] if isinstance(rules, str | Rule) else rules:
        parsed.extend([parse_rule(part, boundary) for part in rule.split("|")] if isinstance(rule, str) else [rule])
    wrong = [type(rule).__name__ for rule in parsed if not isinstance(rule, Rule)]
    if wrong:
        raise RuleError(f"A rule is a string or a Rule, not a {wrong[0]}.", wrong)
    return tuple(parsed)


def usage(name: str) -> str:
    """``P(p[,coalition])``"""
    words = [f"[{a.name}]" if a.default is not MISSING else a.name for a in arguments(RULES[name])]
    return f"{name}({','.join(words)})".replace(",[", "[,")
