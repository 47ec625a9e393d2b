"""What every rule shares: the protocol, the verdict, and who is attacked by whom.

Contributions are taken in absolute value; ``T`` is the cell's magnitude, the (weighted) sum of absolute contributions.
Where readers may know sampling weights, the table holds weighted contributions. Where weights are secret it holds them as
reported, and the remainder, ``T`` minus those of target and coalition, holds what these stand for beyond themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.data.table import Table
from discreet.errors import RuleError

Boundary = Literal["strict", "inclusive"]

RELATIVE_BOUNDARY_TOLERANCE = (
    1e-12  # share of T: a protection level this near zero is on the boundary, a remainder this small is nothing
)


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """A rule's verdict on every cell. Levels are distances from the value, zero where the cell is not sensitive."""

    score: FloatArray  # S(X), weight 1 on the largest contribution
    sensitive: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray

    @classmethod
    def of(cls, score: FloatArray, sensitive: BoolArray, lower: FloatArray, upper: FloatArray) -> Sensitivity:
        """From levels of all cells: cut to sensitive cells and to distances of at least zero."""
        lower, upper = (np.where(sensitive, np.maximum(level, 0.0), 0.0) for level in (lower, upper))
        return cls(score, sensitive, lower, upper, sliding=np.zeros(len(score)))

    def __repr__(self) -> str:
        return f"Sensitivity({int(self.sensitive.sum()):,} of {len(self.sensitive):,} cells sensitive)"


@runtime_checkable
class Rule(Protocol):
    """Columns in, columns out: which cells say too much about a respondent, and how much protection they need."""

    @property
    def depth(self) -> int:
        """How many of the largest contributions to a cell the rule looks at."""
        ...

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        """Judge all cells. ``waived``, aligned with ``cells.top``: this respondent agreed to publication."""
        ...

    def __str__(self) -> str:
        """The form that ``parse_rule`` reads, e.g. ``P(10)``."""
        ...


def combine(sensitivities: Sequence[Sensitivity]) -> Sensitivity:
    """Sensitive if any rule says so, with the largest score and levels of all: max(Sᵃ, Sᵇ) of Cox (1981).

    Such a maximum of subadditive measures is subadditive.
    """
    if not sensitivities:
        raise RuleError("There is nothing to combine: give at least one rule.")
    return Sensitivity(*(np.max([getattr(s, f.name) for s in sensitivities], axis=0) for f in fields(Sensitivity)))


# -- writing rules --------------------------------------------------------------------------------------------


class RuleBase:
    """The string form of a rule: its name, and its positional fields as arguments. Base of the rules."""

    name: ClassVar[str]

    def __str__(self) -> str:
        given = [(getattr(self, argument.name), argument.default) for argument in arguments(type(self))]
        while given and given[-1][0] == given[-1][1]:  # trailing defaults go without saying
            given.pop()
        return f"{self.name}({','.join(_spell(value) for value, _ in given)})"

    def _require(self, condition: bool, message: str) -> None:
        """Range checks. Messages leave the number out: parameters are confidential."""
        if not condition:
            raise RuleError(f"Rule {self.name}: {message}.")

    def _require_whole(self, parameter: str, least: int = 1) -> None:
        value = float(getattr(self, parameter))
        self._require(value.is_integer() and value >= least, f"{parameter} must be a whole number, {least} or more")
        object.__setattr__(self, parameter, int(value))

    def _require_percent(self, parameter: str) -> None:
        self._require(0 < getattr(self, parameter) < 100, f"{parameter} must be more than 0 and less than 100 percent")

    def _require_margin(self, margin: float) -> None:
        self._require(0 <= margin <= 100, "margin must be from 0 to 100 percent")

    def _require_boundary(self, boundary: str) -> None:
        self._require(boundary in ("strict", "inclusive"), "boundary must be 'strict' or 'inclusive'")


def arguments(rule: type[Any]) -> list[Field[Any]]:
    """The fields that a rule's string form lists; keyword fields are not part of it."""
    return [field for field in fields(rule) if not field.kw_only]


def _spell(number: float) -> str:
    number = float(number)
    return str(int(number)) if number.is_integer() else repr(number)


# -- who is attacked by whom ----------------------------------------------------------------------------------


def linear_sensitivity(
    exposed: FloatArray, rest: FloatArray, target: BoolArray, cells: Table, weight: float, boundary: Boundary
) -> Sensitivity:
    """Judge by S = exposed − weight · rest, in units of the protection level S / weight.

    Strict: sensitive if S > 0. Inclusive: if S ≥ 0, so that a cell of zeros is sensitive, with nothing to protect it
    by. Either way there must be somebody to protect: ``target`` tells where.
    """
    close = RELATIVE_BOUNDARY_TOLERANCE * cells.magnitude
    rest = np.where(rest <= close, 0.0, rest)
    level = exposed / weight - rest
    # Without a remainder S is the exposed contribution itself, however small a share of T it is: no rounding there.
    edge = (np.abs(level) <= close) & (rest > 0)
    level, score = np.where(edge, 0.0, level), np.where(edge, 0.0, exposed - weight * rest)
    sensitive = target & ((level >= 0) if boundary == "inclusive" else (level > 0))
    return Sensitivity.of(score, sensitive, level, level)


def target_and_coalition(
    cells: Table, rule: Rule, waived: BoolArray | None
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The target's contribution, the sum of the ``depth − 1`` largest others, and where there is a target at all.

    The target is the largest contributor who has not waived protection; those who have may still be among the
    others. If it is attacked in vain, so is everybody smaller.
    """
    top = largest_contributions(cells, rule)
    candidate, suppressed = targets(cells, waived)
    candidate = np.pad(candidate, ((0, 0), (0, top.shape[1] - candidate.shape[1])))
    found, row = candidate.any(axis=1), np.arange(len(top))
    place = candidate.argmax(axis=1)
    # Somebody who is not stored may be as large as the smallest who is.
    target = np.where(found, top[row, place], np.where(suppressed, top[:, -1], 0.0))
    others = top[:, : rule.depth].copy()
    others[row, np.where(found, np.minimum(place, rule.depth - 1), rule.depth - 1)] = 0.0
    return target, others.sum(axis=1), found | suppressed


def targets(cells: Table, waived: BoolArray | None) -> tuple[BoolArray, BoolArray]:
    """Which stored contributors need protection, and in which cells only one who is not stored may need it.

    Cells without contributors have no target. Where the number of contributors is unknown, there may be more.
    """
    if cells.top is None:
        raise RuleError(
            "Waivers are given for the largest contributors, and the table stores none: tabulate(..., top=3)."
        )
    stored = cells.top.shape[1]
    consents = np.zeros(cells.top.shape, dtype=bool) if waived is None else np.asarray(waived, dtype=bool)
    if consents.shape != cells.top.shape:
        raise RuleError(
            f"Waivers come as {consents.shape} flags, contributions as {cells.top.shape}: align them with top."
        )
    if cells.count is None:
        candidate, more = ~consents, np.ones(len(cells), dtype=bool)
    else:
        candidate = ((np.arange(stored) < cells.count[:, None]) | (cells.top != 0)) & ~consents
        more = cells.count > stored
    return candidate, np.where(candidate.any(axis=1), False, more)


def largest_contributions(cells: Table, rule: Rule) -> FloatArray:
    """Absolute contributions, at least ``depth`` columns of them."""
    stored = 0 if cells.top is None else cells.top.shape[1]
    complete = cells.count is not None and bool(np.all(cells.count <= stored))
    if cells.top is None or (rule.depth > stored and not complete):
        name = getattr(rule, "name", type(rule).__name__)
        raise RuleError(
            f"Rule {name} needs the {rule.depth} largest contributions to each cell, and the table stores "
            f"{stored or 'none'}. Make the table with tabulate(..., top={rule.depth})."
        )
    return np.pad(np.abs(cells.top), ((0, 0), (0, max(rule.depth - stored, 0))))
