"""Decisions of an a priori file on the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path

from discreet.arrays import IntArray
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import FormatError
from discreet.io.argus.apriori import COST_WORDS, LEVEL_WORD, AprioriEntry, read_apriori
from discreet.io.argus.statuses import ArgusStatus


@dataclass(frozen=True)
class Decisions:
    """What a priori files changed: by cell the status with its reason, the cost and the levels."""

    status: Mapping[int, tuple[ArgusStatus, str]] = field(default_factory=dict)
    cost: Mapping[int, float] = field(default_factory=dict)
    levels: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def status_of(self, cell: int, by_rules: IntArray) -> ArgusStatus:
        return self.status[cell][0] if cell in self.status else ArgusStatus(int(by_rules[cell]))


def decided(
    given: Decisions, path: Path, table: Table, by_rules: IntArray, separator: str, *, ignore: bool, expand: bool
) -> tuple[Decisions, list[str]]:
    """The decisions after those of a file, and a sentence on each line that is left out because it cannot be applied.

    With ``expand`` a line applies to all cells that are the same cell, because a code is the only one below another.
    """
    entries, skipped = read_apriori(path, len(table.dimensions), separator, skip_faults=ignore)
    hierarchies = list(table.dimensions.values())
    place = {cell: i for i, cell in enumerate(map(tuple, table.codes.T.tolist()))}
    same = [_same_codes(h) if expand else {} for h in hierarchies]
    for entry in entries:
        try:
            codes = _codes(entry, table)
            for cell in product(*(group.get(code, (code,)) for group, code in zip(same, codes, strict=True))):
                if cell not in place:
                    if cell != codes:
                        continue  # the same cell at another level, which is not stored
                    label = " × ".join(entry.codes)
                    raise FormatError(f"cell {label!r} does not exist: no record has all its codes.", [label])
                given = _with(given, place[cell], entry, by_rules, f"{path.name}, line {entry.line}")
        except FormatError as error:
            if not ignore:
                raise FormatError(f"{path}, line {entry.line}: {error}", error.offenders) from None
            skipped.append(f"line {entry.line}: {error}")
    return given, skipped


def _codes(entry: AprioriEntry, table: Table) -> tuple[int, ...]:
    found = []
    for code, (name, hierarchy) in zip(entry.codes, table.dimensions.items(), strict=True):
        if code not in hierarchy:
            similar = get_close_matches(code, hierarchy.codes, n=1, cutoff=0.4)
            hint = f" Did you mean {similar[0]!r}?" if similar else ""
            raise FormatError(f"variable {name!r} has no code {code!r}.{hint}", [code])
        found.append(hierarchy.index(code))
    return tuple(found)


def _same_codes(hierarchy: Hierarchy) -> dict[int, tuple[int, ...]]:
    """For each code those that mean the same: each is the only code below the one before."""
    parent = hierarchy.parents[0]
    children: dict[int, list[int]] = {}
    for code, above in enumerate(parent.tolist()):
        children.setdefault(above, []).append(code)
    groups: dict[int, tuple[int, ...]] = {}
    for code in hierarchy.order().tolist():
        only = len(children.get(int(parent[code]), ())) == 1 and parent[code] >= 0
        groups[code] = (*groups[int(parent[code])], code) if only else (code,)
    # The longest chain of each code.
    longest = {code: max((g for g in groups.values() if code in g), key=len) for code in groups} if len(groups) else {}
    return longest


# The statuses from which a word leads to its status.
_FROM_SAFE = (ArgusStatus.SAFE, ArgusStatus.SAFE_MANUAL)
_TRANSITIONS: Mapping[str, tuple[ArgusStatus, Sequence[ArgusStatus]]] = {
    "S": (ArgusStatus.SAFE_MANUAL, [s for s in ArgusStatus if s <= ArgusStatus.PROTECTED]),
    "U": (ArgusStatus.UNSAFE_MANUAL, [s for s in ArgusStatus if s <= ArgusStatus.UNSAFE_MANUAL]),
    "P": (ArgusStatus.PROTECTED, _FROM_SAFE),
    "M": (ArgusStatus.SECONDARY_MANUAL, _FROM_SAFE),
    "ML": (ArgusStatus.SECONDARY, _FROM_SAFE),
}


def _with(given: Decisions, cell: int, entry: AprioriEntry, by_rules: IntArray, reason: str) -> Decisions:
    """The decisions with one more."""
    now = given.status_of(cell, by_rules)
    if entry.word in COST_WORDS:
        return replace(given, cost={**given.cost, cell: entry.numbers[0] or 1.0})  # a cost of 0 is 1, as in τ-ARGUS
    if entry.word == LEVEL_WORD:
        if not now.is_primary:
            raise FormatError(f"the cell is {now.words}: protection levels are for unsafe cells.")
        return replace(given, levels={**given.levels, cell: (entry.numbers[0], entry.numbers[1])})
    status, allowed = _TRANSITIONS[entry.word]
    if now not in allowed:
        raise FormatError(f"the cell is {now.words}: it cannot become {status.words}.")
    was = ArgusStatus(int(by_rules[cell]))
    if status is ArgusStatus.UNSAFE_MANUAL and was.is_primary:
        status = was  # it is unsafe by a rule
    if status is ArgusStatus.SAFE_MANUAL and was is ArgusStatus.SAFE:
        status = was
    return replace(given, status={**given.status, cell: (status, reason)})
