"""Proposes the roles of the columns of a file, from their names and from what they contain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.spelling import Spelling
from discreet.errors import InputError, some
from discreet.jobs.hierarchies import hierarchy_file
from discreet.jobs.profile import ColumnProfile, Profile, determines, digit_levels

# Words in names of columns and of measures, in English, German, French, Spanish and Dutch.
_WORDS_BY_LINE = """
contributor: firm enterprise company establishment business respondent unit person patient household id ident identifier key
    entid unitid kvk siren siret ein unternehmen betrieb firma entreprise etablissement empresa establecimiento bedrijf
    onderneming persoon
holding: holding group parent owner konzern gruppe unternehmensgruppe groupe grupo concern groep entgroup
weight: weight weights wgt wt gewicht hochrechnung hochrechnungsfaktor poids peso factor ponderacion
response: turnover revenue revenues sales income wage wages salary value amount output expenditure investment investments
    production exports imports tax assets umsatz einkommen lohn wert betrag ca montant chiffre revenu ventas ingresos importe
    valor omzet inkomen waarde employment
dimension: region area nuts county state province municipality district country land bundesland kreis departement provincia
    gemeente regio industry branch sector nace sic naics isic cpa wz ape cnae sbi activity product size class sizeclass sex
    gender age agegroup year month quarter period occupation isco education diagnosis icd
count: count counts number n firms companies enterprises establishments units respondents contributors cases anzahl betriebe
    unternehmen firmen fälle einheiten nombre effectif effectifs entreprises établissements número empresas casos aantal bedrijven
    ondernemingen
largest: largest top second third größte größter grösste grösster zweitgrößte zweitgrößter maximum max mayor grootste
share: share percent pct percentage prozent anteil change growth veränderung rate index pourcentage porcentaje aandeel
"""
ROLE_WORDS: Mapping[str, frozenset[str]] = {
    role: frozenset(words.split())
    for role, words in (line.split(":") for line in _WORDS_BY_LINE.replace("\n    ", " ").split("\n") if line)
}
# Classifications whose codes are read by their digits.
BY_DIGITS = frozenset(
    {"nace", "sic", "naics", "isic", "cpa", "wz", "ape", "cnae", "sbi", "nuts", "isco", "icd", "hs", "cn", "coicop"}
)
MAX_DIGITS = 8  # of codes that are asked about; longer ones are names
NO_COLUMN = "-"  # the answer that means no column
MAX_HIERARCHY_BYTES = 5_000_000  # larger files are data
MAX_NUMBERS_AS_CODES = 20  # more different numbers are quantities, such as numbers of employees
MIN_FILLED = 0.95  # of the records; codes that a few lack are a fault to be named, such as a line of sums
MAX_PROPOSED_DIMENSIONS = 3  # a table by more has few records per cell; users choose from the others


@dataclass(frozen=True)
class Grouping:
    """How the codes of a dimension are grouped: by a file, by digits, by coarser columns, or not at all."""

    hierarchy: str | None = None
    levels: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, profile: Profile, name: str, answer: str) -> Grouping:
        """The grouping that an answer describes, in the form of ``answer``."""
        kind, _, listed = answer.strip().partition(" ")
        names = [part.strip() for part in listed.split(",") if part.strip()]
        if kind == "digits":
            return cls(levels=_widths(names, profile.columns[name].codes))
        if kind == "columns":
            _check_present(profile, names)
            return cls(columns=tuple(part for part in names if part != name))
        if answer.strip() in ("", NO_COLUMN):
            return cls()
        if not (profile.path.parent / answer.strip()).is_file():
            raise InputError(f"There is no file {answer.strip()!r} in the folder of the data.")
        return cls(hierarchy=answer.strip())

    @property
    def answer(self) -> str:
        """The grouping as a user would write it; empty for none."""
        if self.levels:
            return f"digits {','.join(map(str, self.levels))}"
        return f"columns {','.join(self.columns)}" if self.columns else self.hierarchy or ""


def _widths(parts: Sequence[str], codes: Sequence[str]) -> tuple[int, ...]:
    """The widths of levels, which add up to the length of the longest code."""
    longest = max(codes, key=len, default="")
    if not parts or not all(part.isdecimal() and int(part) for part in parts):
        raise InputError(
            f"Write the widths of the levels: how many characters each has, the coarsest first. {_digits_example(longest)}"
        )
    widths = tuple(map(int, parts))
    if codes and sum(widths) != len(longest):
        raise InputError(
            f"The widths of the levels add up to {sum(widths)}, but the code {longest!r} has {len(longest)} characters. "
            f"{_digits_example(longest)}",
            [longest],
        )
    return widths


def _digits_example(code: str, widths: Sequence[int] = ()) -> str:
    """How widths are read, by the example of a code."""
    if len(code) < 2:
        return "For example, digits 2,2 reads 0111 as 01 > 0111."
    first = len(code) // 2 + len(code) % 2
    widths = widths or (first, len(code) - first)
    ends = [sum(widths[: i + 1]) for i in range(len(widths))]
    return f"For example, digits {','.join(map(str, widths))} reads {code} as {' > '.join(code[:end] for end in ends)}."


def grouping_question(profile: Profile, name: str, proposed: Grouping) -> str:
    """How users are asked for the grouping of a dimension, with an example from its codes if these may be grouped by digits."""
    codes = profile.columns[name].codes
    longest = max(codes, key=len, default="")
    lengths = {len(code) for code in codes}
    if len(lengths) > 1 or not 1 < len(longest) <= MAX_DIGITS or not all(code.isalnum() for code in codes):
        return f"How codes of {name} are grouped: a hierarchy file, or 'columns coarse,finer'"
    example = _digits_example(longest, proposed.levels or ()).removesuffix(".")
    return (
        f"How codes of {name} are grouped: a hierarchy file, 'columns coarse,finer', or 'digits' with the number of characters "
        f"of each level. {example}"
    )


@dataclass(frozen=True)
class Roles:
    """What each column of a file is used for, with the reasons of the proposal."""

    dimensions: Mapping[str, Grouping]
    response: str | None = None
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()  # columns that could be dimensions too
    spelling: Mapping[str, Spelling] = field(
        default_factory=dict
    )  # of dimensions whose codes are written in several ways

    @property
    def used(self) -> dict[str, str]:
        """The role of each column that has one."""
        single = {
            name: role for role in ("response", "contributor", "holding", "weight") if (name := getattr(self, role))
        }
        coarser = {column: f"coarser than {name}" for name, by in self.dimensions.items() for column in by.columns}
        return coarser | single | dict.fromkeys(self.dimensions, "dimension")


def chosen_roles(profile: Profile, proposed: Roles, by: Sequence[str], given: Mapping[str, str]) -> Roles:
    """The proposed roles with those that the user chose: dimensions ``by``, and columns by role, ``-`` for none.

    A column that the user gives a role loses the one that was proposed.
    """
    chosen = {role: None if name == NO_COLUMN else name for role, name in given.items()}
    _check_present(profile, [*by, *(name for name in chosen.values() if name is not None)])
    twice = [name for name in chosen.values() if name is not None and name in by]
    if twice:
        raise InputError(f"Column {twice[0]!r} is a dimension: it cannot have another role as well.", twice)
    taken = {*by, *chosen.values()}
    single: dict[str, Any] = {
        role: chosen[role] if role in chosen else None if getattr(proposed, role) in taken else getattr(proposed, role)
        for role in ("response", "contributor", "holding", "weight")
    }
    names = by or [name for name in proposed.dimensions if name not in taken]
    others = [c.name for c in profile.columns.values() if c.codes and c.name not in single.values()]
    dimensions = {
        name: proposed.dimensions.get(name)
        or grouping(
            profile, profile.columns[name], chain(profile, name, [other for other in others if other not in names])
        )
        for name in names
    }
    reasons = {name: reason for name, reason in proposed.reasons.items() if name not in taken}
    further = tuple(name for name in proposed.further if name not in {*names, *taken})
    return Roles(dimensions, **single, reasons=reasons, further=further)


def _check_present(profile: Profile, names: Sequence[str]) -> None:
    """Raise unless all names are columns of the file."""
    missing = [name for name in names if name not in profile.columns]
    if missing:
        similar = get_close_matches(missing[0], profile.columns, n=1)
        hint = f"Did you mean {similar[0]!r}?" if similar else f"It has {some(list(profile.columns), 12)}."
        raise InputError(f"{profile.path} has no column {missing[0]!r}. {hint}", missing)


def named(column: str, role: str) -> bool:
    """Whether a word of the name of a column stands for a role."""
    return not ROLE_WORDS[role].isdisjoint(words_of(column))


def is_share(label: str) -> bool:
    """Whether a label says that numbers are percentages or changes."""
    return "%" in label or named(label, "share")


def words_of(column: str) -> list[str]:
    """The words in a name such as ``SizeClass_2024``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)
    return [word for word in re.split(r"[\W\d_]+", apart.lower()) if word]


def propose_roles(profile: Profile) -> Roles:
    """The roles that names and contents suggest. Each is a guess that the user confirms or changes."""
    left = {name: column for name, column in profile.columns.items() if column.filled}
    reasons: dict[str, str] = {}

    def take(candidates: Iterable[tuple[ColumnProfile, str]]) -> str | None:
        """The first candidate, which is no longer left for other roles."""
        for column, reason in candidates:
            reasons[column.name] = reason
            del left[column.name]
            return column.name
        return None

    weight = take(
        (c, "its name") for c in list(left.values()) if named(c.name, "weight") and c.is_numeric and not c.negative
    )
    contributor = take(_contributors(list(left.values())))
    holding = None
    if contributor is not None:
        named_holding = [c for c in left.values() if named(c.name, "holding") and not named(c.name, "dimension")]
        holding = take(
            (c, f"its name, and each {contributor} has one")
            for c in named_holding
            if not c.separators and not c.is_constant and determines(profile, contributor, c.name)
        )
    response = take(_responses(list(left.values())))
    return _with_dimensions(profile, left, Roles({}, response, contributor, holding, weight, reasons))


def _contributors(columns: list[ColumnProfile]) -> list[tuple[ColumnProfile, str]]:
    """Columns that may name contributors, the likeliest first."""
    whole = [c for c in columns if not c.separators and not c.is_constant and not named(c.name, "dimension")]
    by_name = [
        c
        for c in whole
        if named(c.name, "contributor") and not named(c.name, "holding") and c.distinct > c.records / 20
    ]
    unique = [c for c in whole if not c.codes and not (c.is_numeric and named(c.name, "response")) and not c.is_numeric]
    return [(c, "its name") for c in by_name] + [(c, "nearly every record has another entry") for c in unique]


def _responses(columns: list[ColumnProfile]) -> list[tuple[ColumnProfile, str]]:
    """Columns of numbers that may be added up, the likeliest first."""
    numeric = [
        c
        for c in columns
        if c.numbers >= max(0.9 * (c.filled - c.marks), 1) and not c.is_constant and not named(c.name, "dimension")
    ]
    by_name = [c for c in numeric if named(c.name, "response")]
    fractions = [c for c in numeric if c.separators and c not in by_name]
    many = [c for c in numeric if not c.codes and c not in by_name and c not in fractions]
    return [(c, "its name, and it has numbers") for c in by_name] + [
        (c, "it has many different numbers") for c in fractions + many
    ]


def _with_dimensions(profile: Profile, left: Mapping[str, ColumnProfile], roles: Roles) -> Roles:
    """The roles with dimensions, each with the columns or digits that group its codes."""
    suitable = [
        c for c in left.values() if len(c.codes) > 1 and c.filled >= MIN_FILLED * c.records and _may_be_codes(c)
    ]
    coarser = {c.name: chain(profile, c.name, [other.name for other in suitable]) for c in suitable}
    inside = {name for names in coarser.values() for name in names}
    finest = [c for c in suitable if c.name not in inside]
    finest.sort(key=lambda c: not named(c.name, "dimension"))  # stable: otherwise in the order of the file
    chosen, others = finest[:MAX_PROPOSED_DIMENSIONS], finest[MAX_PROPOSED_DIMENSIONS:]
    chosen.sort(key=lambda c: list(profile.columns).index(c.name))
    groupings = {c.name: grouping(profile, c, coarser[c.name]) for c in chosen}
    reasons = {**roles.reasons, **{c.name: f"{c.distinct:,} codes" for c in chosen}}
    return Roles(
        groupings,
        roles.response,
        roles.contributor,
        roles.holding,
        roles.weight,
        reasons,
        tuple(c.name for c in others),
    )


def chain(profile: Profile, finer: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Coarser columns of a column that nest, coarsest first. A column with as many codes only renames them and is left out."""
    columns, found = profile.columns, [finer]
    for name in sorted(candidates, key=lambda name: -columns[name].distinct):
        fewer = columns[name].distinct < columns[found[-1]].distinct
        # With few records per code a column may seem to determine another one by chance.
        if fewer and (found[-1], name) in profile.determined and profile.records >= 3 * columns[found[-1]].distinct:
            found.append(name)
    return tuple(reversed(found[1:]))


def grouping(profile: Profile, column: ColumnProfile, coarser: tuple[str, ...] = ()) -> Grouping:
    """How the codes of a dimension are grouped: by a hierarchy file beside the data, coarser columns, or digits."""
    for file in sorted(profile.path.parent.glob("*")):
        if file.suffix.lower() in (".hrc", ".csv") and file != profile.path and _fits(file, column.codes):
            return Grouping(hierarchy=file.name)
    if coarser:
        return Grouping(columns=coarser)
    levels = digit_levels(column.codes)
    by_digits = not BY_DIGITS.isdisjoint(words_of(column.name))
    # Two digits may as well be a number, such as that of a month.
    if levels is not None and (by_digits or (sum(levels) > 2 and not _is_year(column))):
        return Grouping(levels=tuple(levels))
    return Grouping()


def _fits(file: Path, codes: tuple[str, ...]) -> bool:
    """Whether a file is a hierarchy whose finest codes include all codes of a column."""
    if not file.is_file() or file.stat().st_size > MAX_HIERARCHY_BYTES:
        return False
    try:
        tree = hierarchy_file(file)
    except InputError:
        return False
    return {tree.codes[i] for i in np.flatnonzero(tree.is_leaf)}.issuperset(codes)


def _may_be_codes(column: ColumnProfile) -> bool:
    """Whether a column may be a dimension. Numbers may be if they are few, or of one length as in classifications."""
    if not column.is_numeric or named(column.name, "dimension"):
        return not column.separators
    same_length = len({len(code) for code in column.codes}) == 1
    return not column.separators and (same_length or column.distinct <= MAX_NUMBERS_AS_CODES)


def _is_year(column: ColumnProfile) -> bool:
    return all(re.fullmatch(r"(19|20)\d\d", code) for code in column.codes)
