"""The commands of the batch language of τ-ARGUS. Each knows the line that it stands in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.io.argus.output import WriteOptions

FREQUENCY = "<FREQ>"  # in place of a response: the table counts
SINGLETON_OPTIONS = ("single_single", "single_multiple", "singleton")  # of <SUPPRESS>
COST_BY_FREQUENCY, COST_UNITY, COST_DISTANCE = "-1", "-2", "-3"


@dataclass(frozen=True)
class Command:
    """A command."""

    line: int


@dataclass(frozen=True)
class OpenData(Command):
    """``<OPENMICRODATA>`` or ``<OPENTABLEDATA>``."""

    file: str
    tabulated: bool


@dataclass(frozen=True)
class OpenMetadata(Command):
    file: str


@dataclass(frozen=True)
class SpecifyTable(Command):
    """Dimensions, response, the variable by which rules judge, and the cost: a variable, or one of the constants above."""

    by: tuple[str, ...]
    response: str
    shadow: str = ""
    cost: str = ""
    power: float = 1.0  # λ

    @property
    def counts(self) -> bool:
        return self.response.upper() == FREQUENCY


@dataclass(frozen=True)
class RuleCall:
    """A rule of ``<SAFETYRULE>`` with its parameters."""

    name: str
    numbers: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.name}({','.join(f'{number:g}' for number in self.numbers)})"


@dataclass(frozen=True)
class SafetyRule(Command):
    """The rules of the table specified before; none: the statuses in the file apply."""

    rules: tuple[RuleCall, ...]


@dataclass(frozen=True)
class ReadMicrodata(Command):
    pass


@dataclass(frozen=True)
class ReadTable(Command):
    compute_totals: bool = False
    keep_statuses: bool = False
    allow_non_additive: bool = False


@dataclass(frozen=True)
class Apriori(Command):
    file: str
    table: int
    separator: str
    ignore_errors: bool = True
    expand_trivial: bool = False


@dataclass(frozen=True)
class Recode(Command):
    """A recode by a file, or by the number of a level of a hierarchy, which becomes the finest."""

    table: int
    variable: str
    file: str = ""
    level: int = 0


@dataclass(frozen=True)
class Suppress(Command):
    """Protect a table, or with table 0 all tables together."""

    method: str
    table: int
    arguments: Mapping[str, float] = field(default_factory=dict)  # those that are given
    files: tuple[str, ...] = ()  # perturbation tables of CKM

    @property
    def singletons(self) -> bool:
        """Whether a singleton option is on; that of GH is unless the command says no."""
        given = [bool(self.arguments[name]) for name in SINGLETON_OPTIONS if name in self.arguments]
        return any(given) if given else self.method == "GH"

    @property
    def a_priori(self) -> float | None:
        """How closely readers know each value, in percent: the first number of GH, which has no effect from 100 on."""
        percent = self.arguments.get("percent", 100.0)
        return percent if 0 < percent < 100 else None


@dataclass(frozen=True)
class WriteTable(Command):
    table: int
    kind: int  # 1 to 7
    options: WriteOptions
    file: str


@dataclass(frozen=True)
class Logbook(Command):
    file: str


@dataclass(frozen=True)
class VersionInfo(Command):
    file: str


@dataclass(frozen=True)
class Clear(Command):
    pass


@dataclass(frozen=True)
class Skipped(Command):
    """A command without a meaning here, and the sentence that says so."""

    keyword: str
    sentence: str
