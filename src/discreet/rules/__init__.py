"""Sensitivity rules. Each kind of rule has its own module; RULES lists them by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from discreet.errors import RuleError, plural
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

# Names of the rules in handbooks.
ALIASES = {
    **dict.fromkeys(("PERCENT", "PPERCENT", "PRIOR"), "P"),
    **dict.fromkeys(("DOMINANCE", "DOM", "CONCENTRATION", "NKDOMINANCE"), "NK"),
    **dict.fromkeys(("THRESHOLD", "FREQUENCY", "MINIMUM", "MIN", "COUNT", "N"), "FREQ"),
}


def parse_rule(text: str, boundary: Boundary = "strict") -> Rule:
    """The rule written as ``"P(10)"``: its name and, in brackets, its arguments in the order of its fields.

    ``boundary`` is passed to the rules that have one. Messages say how a rule is written, and never repeat the text that was
    given: its numbers are confidential, and messages are kept in logs.
    """
    form = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", text)
    letters = re.match(r"[^\W\d_]*", text.strip())
    name = form[1].upper() if form else letters[0].upper() if letters else ""
    rule = RULES.get(name)
    if rule is None or form is None:
        raise RuleError(_unreadable(name, is_form=form is not None), [name])
    try:
        numbers = [float(number) for number in form[2].split(",")] if form[2].strip() else []
    except ValueError:
        raise RuleError(
            f"Rule {name} takes numbers with a decimal point, separated by commas, and no other signs: write {_example(name)}."
        ) from None
    expected = arguments(rule)
    n_required = sum(argument.default is MISSING for argument in expected)
    if not n_required <= len(numbers) <= len(expected):
        raise RuleError(f"Rule {name} was given {plural(len(numbers), 'number')}: write {_example(name)}.")
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


def _unreadable(name: str, *, is_form: bool) -> str:
    """What to write in place of a text that is no rule; ``name`` is what it begins with, in capitals."""
    meant = next((rule for rule in (name, ALIASES.get(name)) if rule in RULES), None)
    if meant is None:
        meant = next(iter(get_close_matches(name, RULES, n=1, cutoff=0.4)), None)
    if is_form and meant:
        return f"There is no rule {name!r}. Did you mean {meant}? Write {_example(meant)}."
    if is_form:
        return f"There is no rule {name!r}. The rules are {', '.join(map(usage, RULES))}."
    if meant:
        return f"A rule that begins with {name!r} cannot be read. Write {_example(meant)}."
    return (
        "A rule cannot be read. Write its name and then its numbers in brackets, such as P(10) or NK(2,85). The rules are "
        f"{', '.join(map(usage, RULES))}."
    )


def _example(name: str) -> str:
    """How a rule is written, with numbers that only show the form."""
    left_out = "; what is in square brackets may be left out" if "[" in usage(name) else ""
    return f"{usage(name)}, such as {RULES[name].example}{left_out}"


def usage(name: str) -> str:
    """``P(p[,coalition])``"""
    words = [f"[{a.name}]" if a.default is not MISSING else a.name for a in arguments(RULES[name])]
    return f"{name}({','.join(words)})".replace(",[", "[,")
