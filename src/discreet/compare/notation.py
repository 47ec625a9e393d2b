"""The notation of methods with options, ``small-counts(base=5)``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from discreet.errors import RuleError
from discreet.methods import with_options
from discreet.methods.method import Method
from discreet.problem import Problem

STANDARD = ("kelly", "optimal", "intervals", "perturb", "adjust")
STANDARD_FOR_COUNTS = ("round", "small-counts")  # in addition, for tables of counts

_METHOD = re.compile(r"([a-z][a-z0-9-]*)(?:\((.*)\))?", flags=re.S)


def standard(problem: Problem) -> tuple[str, ...]:
    """The methods that are compared by default: one of each kind that suits the table."""
    return (*STANDARD, *STANDARD_FOR_COUNTS) if problem.table.is_count else STANDARD


def read_methods(methods: str | Iterable[str | Method]) -> dict[str, Method]:
    """Methods by their notation, in the given order. They are given as names with options in brackets, or as objects."""
    given: list[str | Method] = [*_split(methods)] if isinstance(methods, str) else list(methods)
    if not given:
        raise RuleError("There are no methods to compare: name one or more, e.g. kelly,optimal.")
    found: dict[str, Method] = {}
    for one in given:
        name, method = _read(one) if isinstance(one, str) else (notation_of(one), one)
        if name in found:
            raise RuleError(f"The method {name!r} is listed twice: leave one out, or give it other options.", [name])
        found[name] = method
    return found


def _split(text: str) -> list[str]:
    """The parts between commas that are not in brackets."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _read(text: str) -> tuple[str, Method]:
    found = _METHOD.fullmatch(text.strip())
    if found is None:
        raise RuleError(f"Write method {text!r} as name or name(option=value, …), e.g. small-counts(base=5).", [text])
    options = {}
    for part in _split(found[2] or ""):
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not (option and equals and value):
            raise RuleError(f"Write the option {part!r} of {found[1]!r} as name=value, e.g. base=5.", [part])
        option = option.replace("-", "_")
        if option in options:
            raise RuleError(f"The option {option!r} of {found[1]!r} is given twice: leave one out.", [option])
        options[option] = value
    return _notation(found[1], options), with_options(found[1], **options)


def notation_of(method: Method) -> str:
    """The notation of a method object, with those options that differ from their defaults."""
    options: dict[str, Any] = {}
    known: tuple[Field[Any], ...] = fields(method) if is_dataclass(method) else ()
    for field in known:
        value = getattr(method, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        equal = value is default or (isinstance(value, bool | int | float | str) and value == default)
        if field.init and not equal:
            options[field.name] = value
    return _notation(method.name, options)


def _notation(name: str, options: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{option}={_text(value)}" for option, value in options.items())
    return f"{name}({listed})" if listed else name


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | str) else "…"
