"""Sections of a TOML file as frozen dataclasses: their keys and the types of their values are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from discreet.errors import JobError, some

INTEGER_LIMIT = 1 << 63  # arrays store integers below this number


def section(raw: Mapping[str, Any], name: str, errors: list[JobError]) -> dict[str, Any]:
    entry = raw.get(name, {})
    if not isinstance(entry, dict):
        errors.append(JobError(f"{name!r} is a section: write [{name}]."))
        return {}
    return entry


def unknown_keys(where: str, entry: Mapping[str, Any], known: list[str]) -> Iterator[JobError]:
    for key in entry:
        if key not in known:
            similar = get_close_matches(key, known, n=1)
            hint = f" Did you mean {similar[0]!r}?" if similar else f" Known are {some(known, 12)}."
            yield JobError(f"{where} has an unknown entry {key!r}.{hint}", [key])


def build(where: str, entry: Mapping[str, Any], cls: type[Any], errors: list[JobError]) -> Any:
    """An object of a section, of its entries that have a known key and a value of its type; None if a required one is missing."""
    hints = get_type_hints(cls)
    unknown = list(unknown_keys(f"[{where}]", entry, list(hints)))
    errors += unknown
    required = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
    misspelled = {name for error in unknown for name in get_close_matches(str(error.offenders[0]), hints, n=1)}
    missing = [name for name in required if name not in entry and name not in misspelled]
    errors += [JobError(f"[{where}] needs an entry {name!r}.", [name]) for name in missing]
    values = {}
    for key, value in entry.items():
        if key in hints:
            try:
                values[key] = typed(f"{where}.{key}", value, hints[key])
            except JobError as error:
                errors.append(error)
    return cls(**values) if values.keys() >= set(required) else None


def typed(where: str, value: Any, hint: Any, list_hint: Any = None) -> Any:
    """The value if it has the type ``hint``; ``list_hint`` is the type of the list that it is in, for the message."""
    if isinstance(hint, UnionType):
        hint = next(option for option in get_args(hint) if option is not NoneType)
    if get_origin(hint) is dict:
        hint = dict  # values of any type
    if get_origin(hint) is Literal:
        hint = str
    if get_origin(hint) in (list, tuple):
        if isinstance(value, list):
            return get_origin(hint)(typed(where, item, get_args(hint)[0], hint) for item in value)
        hint = list_hint or hint
    elif isinstance(value, int) and abs(value) >= INTEGER_LIMIT:
        raise JobError(f"{where} is too large a number.", [where])
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    names = {str: "text in quotes", int: "an integer", float: "a number", bool: "true or false", dict: "a table {…}"}
    expected = names.get(hint, "")
    if get_args(hint):
        expected = "a list like " + ('[["a", "b"]]' if get_origin(get_args(hint)[0]) else "[…]")
    raise JobError(f"{where} must be {expected}.", [where])
