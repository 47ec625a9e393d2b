"""The parts that all rules share: the protocol, the verdict, and the target and the coalition of a cell.

Contributions are taken in absolute value; ``T`` is the magnitude of the cell, the (weighted) sum of absolute contributions.
If readers may know sampling weights, the table holds weighted contributions. If weights are secret, it holds contributions as
reported; the remainder, ``T`` minus the contributions of target and coalition, then includes the units that these represent.
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

# Share of T, above the rounding errors of sums: levels within it are on the boundary, remainders within it are zero.
RELATIVE_BOUNDARY_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """The verdict of a rule on every cell. Levels are distances from the value, and zero for cells that are not sensitive."""

    score: FloatArray  # S(X), with weight 1 on the largest contribution
    sensitive: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray

    @classmethod
    def of(cls, score: FloatArray, sensitive: BoolArray, lower: FloatArray, upper: FloatArray) -> Sensitivity:
        """From levels of all cells: negative levels, and those of cells that are not sensitive, become zero."""
        lower, upper = (np.where(sensitive, np.maximum(level, 0.0), 0.0) for level in (lower, upper))
        return cls(score, sensitive, lower, upper, sliding=np.zeros(len(score)))

    def __repr__(self) -> str:
        return f"Sensitivity({int(self.sensitive.sum()):,} of {len(self.sensitive):,} cells sensitive)"


@runtime_checkable
class Rule(Protocol):
    """A rule determines from the columns of a table which cells are sensitive, and their protection levels."""

    @property
    def depth(self) -> int:
        """The number of largest contributions to a cell that the rule uses."""
        ...

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        """The verdict on all cells. ``waived``, aligned with ``cells.top``, marks respondents who consent to publication."""
        ...

    def __str__(self) -> str:
        """The notation that ``parse_rule`` reads, e.g. ``P(10)``."""
        ...


def combine(sensitivities: Sequence[Sensitivity]) -> Sensitivity:
    """The combined verdict of rules: sensitive if any rule says so, with the largest score and levels, max(Sᵃ, Sᵇ) of Cox (1981).

    The maximum of subadditive measures is subadditive.
    """
    if not sensitivities:
        raise RuleError("There are no rules to combine: give at least one.")
    return Sensitivity(*(np.max([getattr(s, f.name) for s in sensitivities], axis=0) for f in fields(Sensitivity)))


# -- notation and checks of parameters ------------------------------------------------------------------------


class RuleBase:
    """Base class of the rules: their notation, which is the name with the positional fields as arguments, and checks."""

    name: ClassVar[str]
    example: ClassVar[str]  # of the notation, with numbers that only show the form

    @property
    def words(self) -> str:
        """What the rule requires, in sentences that show its parameters: confidential if these are."""
        raise NotImplementedError

    def __str__(self) -> str:
        given = [(getattr(self, argument.name), argument.default) for argument in arguments(type(self))]
        while given and given[-1][0] == given[-1][1]:  # trailing defaults are omitted
            given.pop()
        return f"{self.name}({','.join(notation(value) for value, _ in given)})"

    def _require(self, condition: bool, message: str) -> None:
        """Raise an error unless the condition holds. Messages leave out the number: parameters are confidential."""
        if not condition:
            raise RuleError(f"Rule {self.name}: {message}.")

    def _require_positive_integer(self, parameter: str) -> None:
        value = float(getattr(self, parameter))
        self._require(value.is_integer() and value >= 1, f"{parameter} must be an integer, 1 or more")
        object.__setattr__(self, parameter, int(value))

    def _require_percent(self, parameter: str) -> None:
        self._require(0 < getattr(self, parameter) < 100, f"{parameter} must be more than 0 and less than 100 percent")

    def _require_margin(self, margin: float) -> None:
        self._require(0 <= margin <= 100, "margin must be from 0 to 100 percent")

    def _require_boundary(self, boundary: str) -> None:
        self._require(boundary in ("strict", "inclusive"), "boundary must be 'strict' or 'inclusive'")


def arguments(rule: type[Any]) -> list[Field[Any]]:
    """The fields in the notation of a rule: all but keyword fields."""
    return [field for field in fields(rule) if not field.kw_only]


def notation(number: float) -> str:
    """An integer without a decimal point, other numbers with one."""
    number = float(number)
    return str(int(number)) if number.is_integer() else repr(number)


def margin_in_words(margin: float) -> str:
    """The requirement of a protection level in percent of T, as the beginning of a sentence."""
    return f"Readers may infer its value no more closely than to within {notation(margin)} percent"


def in_words(rule: Rule) -> str:
    """What a rule requires; the notation of a rule that users wrote themselves."""
    return rule.words if isinstance(rule, RuleBase) else str(rule)


# -- target and coalition -------------------------------------------------------------------------------------


def linear_sensitivity(
    part: FloatArray, rest: FloatArray, has_target: BoolArray, cells: Table, weight: float, boundary: Boundary
) -> Sensitivity:
    """The verdict by S = part − weight · rest, with the protection level S / weight.

    ``part`` is the contribution, or sum of contributions, that the rule limits. With a strict boundary cells with S > 0 are
    sensitive, with an inclusive one cells with S ≥ 0; where S = 0, as in cells of zeros, the level is zero. Cells without a
    target are not sensitive.
    """
    tolerance = RELATIVE_BOUNDARY_TOLERANCE * cells.magnitude
    rest = np.where(rest <= tolerance, 0.0, rest)
    level = part / weight - rest
    # Without a remainder S is ``part`` itself, which has no rounding error, however small it is.
    on_boundary = (np.abs(level) <= tolerance) & (rest > 0)
    level, score = np.where(on_boundary, 0.0, level), np.where(on_boundary, 0.0, part - weight * rest)
    sensitive = has_target & ((level >= 0) if boundary == "inclusive" else (level > 0))
    return Sensitivity.of(score, sensitive, level, level)


def target_and_coalition(
    cells: Table, rule: Rule, waived: BoolArray | None
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The contribution of the target, the sum of the ``depth − 1`` largest other ones, and whether there is a target.

    The target is the largest contributor who has not waived protection; those who have may be among the others. If the target is
    protected, so are all smaller contributors.
    """
    top = largest_contributions(cells, rule)
    candidate, unlisted = targets(cells, waived)
    candidate = np.pad(candidate, ((0, 0), (0, top.shape[1] - candidate.shape[1])))
    found, row = candidate.any(axis=1), np.arange(len(top))
    place = candidate.argmax(axis=1)
    # A contribution that is not stored may be as large as the smallest stored one.
    target = np.where(found, top[row, place], np.where(unlisted, top[:, -1], 0.0))
    others = top[:, : rule.depth].copy()
    others[row, np.where(found, np.minimum(place, rule.depth - 1), rule.depth - 1)] = 0.0
    return target, others.sum(axis=1), found | unlisted


def targets(cells: Table, waived: BoolArray | None) -> tuple[BoolArray, BoolArray]:
    """Which stored contributors may be targets, and in which cells only a contributor who is not stored may be one.

    Cells without contributors have no target. If the number of contributors is unknown, there may be more than are stored.
    """
    if cells.top is None:
        raise RuleError(
            "Waivers are given for the largest contributors, and the table stores none. Name the columns that have them, "
            'top = ["…", "…", "…"] in [table] of a job; from records, tabulate(..., top=3) in Python stores them.'
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
    """Absolute contributions, in at least ``depth`` columns."""
    stored = 0 if cells.top is None else cells.top.shape[1]
    complete = cells.count is not None and bool(np.all(cells.count <= stored))
    if cells.top is None or (rule.depth > stored and not complete):
        name = getattr(rule, "name", type(rule).__name__)
        columns = ", ".join(['"…"'] * rule.depth)
        raise RuleError(
            f"Rule {name} needs the {rule.depth} largest contributions to each cell, and the table stores "
            f"{stored or 'none'}. Name the columns or sheets that have them, top = [{columns}] in [table] "
            f"of a job; from records, tabulate(..., top={rule.depth}) in Python stores them."
        )
    return np.pad(np.abs(cells.top), ((0, 0), (0, max(rule.depth - stored, 0))))
