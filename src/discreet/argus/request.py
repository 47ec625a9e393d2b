"""A table that a job asks for: what ``<SPECIFYTABLE>`` and ``<SAFETYRULE>`` say about it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from discreet.argus.commands import COST_BY_FREQUENCY, COST_DISTANCE, COST_UNITY, SafetyRule, SpecifyTable
from discreet.rules import Request

FIXED_COSTS = ("", COST_BY_FREQUENCY, COST_UNITY, COST_DISTANCE)


@dataclass(frozen=True)
class ArgusRequest:
    """A table to make: what ``<SPECIFYTABLE>`` and ``<SAFETYRULE>`` say about it."""

    specify: SpecifyTable
    rules: SafetyRule
    contributions: bool = False  # store all contributions, so that every respondent can be protected

    def calls(self, name: str) -> list[tuple[float, ...]]:
        return [call.numbers for call in self.rules.rules if call.name == name]

    @property
    def judged(self) -> str:
        """The variable by which rules judge."""
        return self.specify.shadow or self.specify.response

    @property
    def weighted(self) -> bool:
        return self.calls("WGT") == [(1.0,)]

    @property
    def missing_is_safe(self) -> bool:
        return self.calls("MIS") == [(1.0,)]

    @property
    def cost_variable(self) -> str:
        """The variable that is the cost; empty if the cost is another."""
        return "" if self.specify.cost in FIXED_COSTS else self.specify.cost

    def applies_to_holdings(self) -> bool:
        """Whether a rule of holdings is given: the third and fourth P and NK, the second FREQ and REQ."""
        later = {"P": 2, "NK": 2, "FREQ": 1, "REQ": 1}
        return any(any(any(numbers) for numbers in self.calls(name)[n:]) for name, n in later.items())

    @property
    def protects(self) -> str:
        """Whose contributions rules protect: those of records, holdings, both, or none, if no P or NK applies."""
        levels = []
        for level, part in (("records", slice(0, 2)), ("holdings", slice(2, 4))):
            if any(any(numbers) for name in ("P", "NK") for numbers in self.calls(name)[part]):
                levels.append(level)
        return "both" if len(levels) == 2 else levels[0] if levels else "none"

    @property
    def needs_largest(self) -> int:
        """The number of largest contributions that P and NK need."""
        coalitions = [int(n[2] if len(n) > 2 else n[1] if len(n) > 1 else 1) for n in self.calls("P") if n[0]]
        return max([0, *(1 + n for n in coalitions), *(int(n) for n, k in self.calls("NK") if k)])

    @property
    def depth(self) -> int:
        """The number of largest contributions that rules and SBS files need."""
        asked = [rule.depth for call in self.calls("REQ") for rule in rules_of_request(call)]
        return max([2, self.needs_largest, *asked])


def rules_of_request(call: tuple[float, ...]) -> list[Request]:
    """The rules of ``REQ(%1,%2,minimum,margin)``: one for each kind of request; a percentage of 0 is none."""
    first, second, minimum, margin = call
    shares = [share or 100.0 for share in (first, second)]
    return [
        Request(share, margin, ceil(minimum), kind)
        for kind, share in enumerate(shares, start=1)
        if share < 100 or minimum
    ]
