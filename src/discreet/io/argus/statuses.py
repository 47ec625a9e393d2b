"""The statuses of cells in τ-ARGUS: their numbers, the letters of intermediate tables and the flags of SBS files."""

from __future__ import annotations

from enum import IntEnum


class ArgusStatus(IntEnum):
    """The numbers of statuses, as in files with the option ``AS+``."""

    SAFE = 1
    SAFE_MANUAL = 2
    UNSAFE_RULE = 3
    UNSAFE_REQUEST = 4
    UNSAFE_FREQUENCY = 5
    UNSAFE_ZERO = 6
    UNSAFE_SINGLETON = 7
    UNSAFE_SINGLETON_MANUAL = 8
    UNSAFE_MANUAL = 9
    PROTECTED = 10
    SECONDARY = 11
    SECONDARY_MANUAL = 12
    EMPTY_NOT_STRUCTURAL = 13
    EMPTY = 14

    @property
    def is_primary(self) -> bool:
        return ArgusStatus.UNSAFE_RULE <= self <= ArgusStatus.UNSAFE_MANUAL

    @property
    def is_secondary(self) -> bool:
        return self in (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_MANUAL)

    @property
    def is_suppressed(self) -> bool:
        return self.is_primary or self.is_secondary

    @property
    def is_empty(self) -> bool:
        return self >= ArgusStatus.EMPTY_NOT_STRUCTURAL

    @property
    def letter(self) -> str:
        """The letter in an intermediate table."""
        if self.is_suppressed:
            return "U" if self.is_primary else "M"
        return "E" if self.is_empty else "P" if self is ArgusStatus.PROTECTED else "S"

    @property
    def words(self) -> str:
        return STATUS_WORDING[self]


STATUS_WORDING = {
    ArgusStatus.SAFE: "safe",
    ArgusStatus.SAFE_MANUAL: "safe by hand",
    ArgusStatus.UNSAFE_RULE: "unsafe by a p% or dominance rule",
    ArgusStatus.UNSAFE_REQUEST: "unsafe by request",
    ArgusStatus.UNSAFE_FREQUENCY: "unsafe by frequency",
    ArgusStatus.UNSAFE_ZERO: "unsafe as a zero cell",
    ArgusStatus.UNSAFE_SINGLETON: "unsafe as a singleton",
    ArgusStatus.UNSAFE_SINGLETON_MANUAL: "unsafe as a singleton, by hand",
    ArgusStatus.UNSAFE_MANUAL: "unsafe by hand",
    ArgusStatus.PROTECTED: "protected",
    ArgusStatus.SECONDARY: "secondary",
    ArgusStatus.SECONDARY_MANUAL: "secondary by hand",
    ArgusStatus.EMPTY_NOT_STRUCTURAL: "empty, not structural",
    ArgusStatus.EMPTY: "empty",
}
# Of letters and flags in files; a letter stands for several statuses.
OF_LETTER = {
    "S": ArgusStatus.SAFE,
    "U": ArgusStatus.UNSAFE_MANUAL,
    "P": ArgusStatus.PROTECTED,
    "M": ArgusStatus.SECONDARY,
    "E": ArgusStatus.EMPTY,
}
OF_FLAG = {
    "V": ArgusStatus.SAFE,
    "A": ArgusStatus.UNSAFE_FREQUENCY,
    "B": ArgusStatus.UNSAFE_MANUAL,
    "C": ArgusStatus.UNSAFE_RULE,
    "F": ArgusStatus.UNSAFE_RULE,
    "D": ArgusStatus.SECONDARY,
    "-": ArgusStatus.EMPTY,
}


def flag(status: ArgusStatus, *, percent_rule: bool, two_largest: bool) -> str:
    """The flag in an SBS file."""
    if status is ArgusStatus.UNSAFE_RULE:
        return "F" if percent_rule else "C" if two_largest else "B"
    if status is ArgusStatus.UNSAFE_FREQUENCY:
        return "A"
    if status.is_suppressed:
        return "B" if status.is_primary else "D"
    return "-" if status is ArgusStatus.EMPTY else "V"
