"""The protocol of methods, their traits and their options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, Protocol, TypeVar

from discreet.methods.context import Run
from discreet.problem import Problem
from discreet.protection import Protection

T = TypeVar("T")
TYPES_IN_WORDS = {
    "bool": "true or false",
    "int": "integer",
    "float": "number",
    "str": "text",
    "Base": "one number per cell",
    "FloatArray": "one number per cell",
    "Mapping[str, str]": "mapping",
    "Sequence[str]": "list",
}
Kind = Literal["suppression", "intervals", "rounding", "perturbation", "counts", "combined"]


@dataclass(frozen=True)
class Traits:
    """What a method can do; the defaults apply to methods without ``traits``."""

    kind: Kind = "suppression"
    takes_start: bool = False  # uses a starting pattern
    splits: bool = False  # independent tables may be protected one by one
    proves_bound: bool = False  # on the cost of the best solution
    needs_counts: bool = False  # for tables of counts only
    lists_zeros: bool = False  # zeros are published as such, other cells as intervals

    @property
    def suppresses(self) -> bool:
        """Whether every cell is either published with its value or suppressed."""
        return self.kind == "suppression"


class Method(Protocol):
    """A frozen dataclass of options; ``traits`` says what it can do, ``uses_secret`` whether it protects by random numbers."""

    name: str

    def protect(self, problem: Problem, run: Run) -> Protection:
        """Decide how each cell is published."""


def traits_of(method: Method | type[Method]) -> Traits:
    """The traits of a method."""
    found: Traits = getattr(method, "traits", Traits())
    return found


def name_of(method: Method) -> str:
    """The name of a method, also if others wrap it."""
    inner: Method | None = getattr(method, "method", None)
    return method.name if inner is None else name_of(inner)


def uses_secret(method: Method | type[Method]) -> bool:
    """Whether a method protects by random numbers; all other methods give the same result for the same seed."""
    return bool(getattr(method, "uses_secret", False))


def option(default: T, meaning: str) -> T:
    """A field of a method. ``discreet methods`` and the reference page of the methods print its meaning."""
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Option:
    """An option of a method for readers: its type, its default as in a job file (empty if there is none), its meaning."""

    name: str
    type: str
    default: str
    meaning: str


def options_of(method: type[Method]) -> tuple[Option, ...]:
    """The options of a method, in the order of its fields."""
    listed = fields(method)  # type: ignore[arg-type]  # methods are dataclasses
    return tuple(
        Option(each.name, _in_words(str(each.type)), _as_text(each.default), each.metadata["meaning"])
        for each in listed
    )


def _in_words(annotation: str) -> str:
    kinds = [kind.strip() for kind in annotation.split("|")]
    return " or ".join(TYPES_IN_WORDS[kind] for kind in kinds if kind != "None")


def _as_text(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default is None else str(default)
