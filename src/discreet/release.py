"""Releases: the publishable columns of a protected table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from discreet.arrays import FloatArray, IntArray
from discreet.audit import Audit
from discreet.audit.integer_audit import readers_know_integers
from discreet.audit.respondents import RespondentAudit
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import RESPONSES
from discreet.data.table import Table, digits_of
from discreet.display import crossed, html_table
from discreet.errors import InputError, NotSafeError, some
from discreet.guesses import cells_off_by_their_levels, cells_with_central_values
from discreet.inference.requirements import other_suppressed_cells
from discreet.languages import LANGUAGES, Lang, Language, language
from discreet.level import Level, level_of
from discreet.presentation import Presentation
from discreet.problem import Problem
from discreet.protection import Decision, Protection

SYMBOL = "×"  # of suppressed cells, in English
TOTAL = "Total"  # the default name of totals


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Codes and published values. The value of a suppressed cell is NaN, and no other column contains it.

    Primary and secondary suppressions are not distinguished, as that would help an intruder. If intervals are published,
    ``lower`` and ``upper`` are their ends, NaN where there are none. Readers may take a cell that is not in the release for a
    zero, true or rounded, only if the release is ``complete``; otherwise it may not have been tabulated.
    """

    codes: Mapping[str, tuple[str, ...]]
    response: str
    value: FloatArray
    symbol: str = SYMBOL
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    complete: bool = True
    lang: Lang = "en"  # of the readers
    default_totals: tuple[str, ...] = ()  # dimensions whose total has the default name
    default_names: tuple[str, ...] = ()  # columns that the program named
    sides: tuple[str, str] = ("lower", "upper")  # in the names of columns with ends of intervals
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)  # of the codes, with their labels
    tables: tuple[tuple[str, ...], ...] = ()  # dimensions of each of several linked tables
    decimals: int | None = None  # of published values, as stated; None: those that they have
    presentation: Presentation = field(default_factory=Presentation)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Release({self.response}: {len(self):,} cells, {int(np.isnan(self.value).sum()):,} suppressed)"

    def _repr_html_(self) -> str:
        frame = self.frame(symbols=True)
        columns = [[str(name), *frame[name].astype(object).where(frame[name].notna(), "").map(str)] for name in frame]
        suppressed = int(self.suppressed.sum())
        note = (
            f"{self.symbol} suppressed: {suppressed:,} of {len(self):,} cells"
            if suppressed
            else f"{len(self):,} cells, none suppressed"
        )
        return html_table(f"Release: {self.response}", crossed(columns), note)

    @property
    def suppressed(self) -> np.ndarray:
        return np.isnan(self.value)

    @property
    def ends(self) -> dict[str, FloatArray]:
        """The columns with the ends of intervals, if intervals are published."""
        given = zip(self.sides, (self.lower, self.upper), strict=True)
        return {f"{self.response} {side}": end for side, end in given if end is not None}

    @property
    def language(self) -> Language:
        return language(self.lang)

    def in_words(self) -> Release:
        """The release as readers see it: names that the program chose are in their language. CSV and Parquet keep the names."""
        say = self.language.say

        def name(column: str) -> str:
            return say(column) if column in self.default_names else column

        codes = {
            name(column): tuple(say(TOTAL) if code == TOTAL else code for code in codes)
            if column in self.default_totals
            else codes
            for column, codes in self.codes.items()
        }
        return replace(
            self,
            codes=codes,
            response=name(self.response),
            default_totals=tuple(map(name, self.default_totals)),
            default_names=(),
            sides=(say("lower"), say("upper")),
        )

    def label(self, column: str, code: str) -> str:
        """What readers see for a code: its label in their language, the default total in this language, or the code."""
        hierarchy = self.hierarchies.get(column)
        found = code if hierarchy is None else hierarchy.label(code, self.lang)
        return self.language.say(TOTAL) if found == TOTAL and column in self.default_totals else found

    def title(self, column: str) -> str:
        """The name of a column for readers."""
        given = self.presentation.metadata.name(column)
        return self.language.say(column) if given == column and column in self.default_names else given

    def part(self, number: int) -> Release:
        """One of several linked tables, counted from 1: its dimensions, and the cells at the totals of all others."""
        names = self.tables[number - 1]
        others = {name: h.total for name, h in self.hierarchies.items() if name not in names and h.total != RESPONSES}
        chosen = np.ones(len(self), dtype=bool)
        for name, total in others.items():
            chosen &= np.array([code == total for code in self.codes[name]], dtype=bool)
        cells = np.flatnonzero(chosen)
        return replace(
            self,
            codes={
                name: tuple(codes[i] for i in cells.tolist())
                for name, codes in self.codes.items()
                if name not in others
            },
            value=self.value[cells],
            lower=None if self.lower is None else self.lower[cells],
            upper=None if self.upper is None else self.upper[cells],
            tables=(),
        )

    def legend(self, codes: bool = True) -> list[tuple[str, str]]:
        """What readers need to know about symbols and names, in their language; without ``codes`` not about those in CSV."""
        shown, say = self.in_words(), self.language.say
        rows = []
        if self.suppressed.any():
            meaning = [
                say("The value is not published, for reasons of statistical confidentiality."),
                say("The symbol means neither zero nor that no value is available."),
            ]
            same = [name for name, codes in shown.codes.items() if self.symbol in codes]
            meaning += [say("In the column {column} the same text is a code.", column=name) for name in same]
            rows.append((self.symbol, " ".join(meaning)))
        if codes and shown.default_totals and say(TOTAL) != TOTAL:
            rows.append((say(TOTAL), say("The code of this total in the CSV and Parquet files is {code}.", code=TOTAL)))
        meanings = (
            say("Lower end of the interval that contains the true value; empty if none is published."),
            say("Upper end of the interval that contains the true value; empty if none is published."),
        )
        ends = zip([f"{shown.response} {side}" for side in shown.sides], meanings, strict=True)
        return [*rows, *((name, meaning) for name, meaning in ends if name in shown.ends)]

    def frame(self, symbols: bool = False) -> pd.DataFrame:
        """One row per cell. Suppressed values are missing, or with ``symbols`` the suppression symbol."""
        column = _column(self.value)
        if symbols:
            column = column.astype(object).where(~self.suppressed, self.symbol)
        frame = pd.DataFrame({**self.codes, self.response: column})
        for name, end in self.ends.items():
            if name in frame:
                raise InputError(f"A dimension is called {name!r}, as is a column with ends of intervals: rename it.")
            frame[name] = _column(end)
        return frame


def publish(
    problem: Problem,
    protection: Protection,
    audit: Audit,
    respondents: RespondentAudit | None = None,
    *,
    symbol: str | None = None,
    decimals: int | None = None,
    level: Level | None = None,
    accept_symmetric: bool = False,
    lang: Lang = "en",
    tables: Sequence[Sequence[str]] = (),
    presentation: Presentation | None = None,
) -> Release:
    """The release. Raises an error unless the audits are about this protection, complete and passed.

    At the level of contributions, the default if respondents can be covered (:func:`~discreet.level.level_of`), the audit of
    ``respondents`` is required. Published values and intervals from which a simple guess finds sensitive values are refused
    unless ``accept_symmetric`` is set: for instance intervals as narrow as levels allow, or with true values in their middles.
    ``symbol`` is by default that of the language of readers, ``lang``. ``tables`` names the dimensions of each of several linked
    tables, so that formats can show them one by one; ``presentation`` says how they do.
    """
    presentation = presentation or Presentation()
    presentation.check()
    unknown = [name for by in tables for name in by if name not in problem.table.dimensions]
    if unknown:
        raise InputError(
            f"tables= names {some(unknown)}; the table has {some(list(problem.table.dimensions), 12)}. Name those.",
            unknown,
        )
    if lang not in LANGUAGES:
        raise InputError(f"lang is {' or '.join(map(repr, LANGUAGES))}, not {lang!r}.")
    symbol = language(lang).symbol if symbol is None else symbol
    if not symbol.strip() or not symbol.isprintable() or _is_number(symbol):
        raise InputError(
            "The suppression symbol must be visible and must not look like a number. Choose another, e.g. × or c."
        )
    audits = (audit,) if respondents is None else (audit, respondents)
    if any(seen.protection != protection.digest or seen.problem.digest != problem.digest for seen in audits):
        raise NotSafeError("Not published: the audit is about another protection. Audit this one.")
    if audit.unaudited(protection) or not _covers_others(problem, protection, audit):
        raise NotSafeError("Not published: the audit leaves out protected cells or attackers. Audit all of them.")
    if readers_know_integers(problem) and audit.linear is None:
        raise NotSafeError(
            "Not published: readers know that counts are integers, and the audit does not use it. Audit again without "
            "the option whole=False."
        )
    if not audit.passed:
        raise NotSafeError(
            f"Not published: {len(audit.exposed):,} cells can be inferred too closely, e.g. {some(audit.exposed)}.",
            audit.exposed,
        )
    if respondents is not None and not respondents.passed:
        exposed = f"{len(respondents.respondents):,} of {respondents.targets:,} respondents"
        raise NotSafeError(f"Not published: {exposed} can be estimated too closely.", respondents.respondents)
    if respondents is None and level_of(problem, protection.only_suppresses, level).covers_respondents:
        raise NotSafeError(
            "Not published: respondents were not audited. Audit them with audit_respondents() and pass the result, or use "
            "level='cells', which does not cover them."
        )
    _refuse_symmetric(problem, protection, accept_symmetric)
    problem, protection = problem.listed, protection.listed  # cells behind linked tables are never published
    table = problem.table
    cells = _cells_of_release(problem, protection)
    codes: dict[str, tuple[str, ...]] = {} if table.names is None else {"cell": tuple(table.labels(cells))}
    for d, (name, hierarchy) in enumerate(table.dimensions.items()):
        codes[name] = tuple(hierarchy.codes[c] for c in table.codes[d, cells])
    digits = digits_of(table.value) if decimals is None else decimals
    value = protection.published
    ends: dict[str, FloatArray] = {}
    if not protection.only_suppresses:
        ends = {"lower": protection.lower, "upper": protection.upper}
        ends = {side: np.where(np.isfinite(end), end, np.nan) for side, end in ends.items()}
    if digits is not None:
        value = np.round(value, digits) + 0.0  # no negative zero
        # Wider intervals reveal less, so they are safe as well.
        ends = {side: _outwards(end, digits, -1 if side == "lower" else 1) for side, end in ends.items()}
    value = np.where(protection.suppressed, np.nan, value)[cells]
    ends = {side: end[cells] for side, end in ends.items()}
    release = Release(
        codes,
        table.response,
        value,
        symbol,
        lower=ends.get("lower"),
        upper=ends.get("upper"),
        complete=table.complete,
        lang=lang,
        default_totals=_default_totals(table, language(lang)),
        default_names=_default_names(table, language(lang)),
        hierarchies=dict(table.dimensions),
        tables=tuple(map(tuple, tables)),
        decimals=decimals,
        presentation=presentation,
    )
    _check_release(problem, protection, cells, release)
    return release


def _default_totals(table: Table, said_in: Language) -> tuple[str, ...]:
    """The dimensions whose total has the default name, unless another code has its translation."""
    names = {name: hierarchy.codes for name, hierarchy in table.dimensions.items()}
    return tuple(name for name, codes in names.items() if codes[0] == TOTAL and said_in.say(TOTAL) not in codes[1:])


def _default_names(table: Table, said_in: Language) -> tuple[str, ...]:
    """The columns that the program named, unless another column has the translation."""
    chosen = [*(["cell"] if table.names is not None else []), *(["count"] if table.is_count else [])]
    columns = {*(chosen[:1] if table.names is not None else []), *table.dimensions, table.response}
    return tuple(name for name in chosen if name in columns and said_in.say(name) not in columns - {name})


def _covers_others(problem: Problem, protection: Protection, audit: Audit) -> bool:
    """Whether the audit checked for all other suppressed cells that the outsider cannot compute them exactly."""
    outsider = problem.attackers()[0]
    needed = other_suppressed_cells(problem, protection, outsider)
    return not len(needed) or (
        audit.knowledge[0] == outsider.digest and bool(np.isin(needed, audit.other_suppressed).all())
    )


def _refuse_symmetric(problem: Problem, protection: Protection, accepted: bool) -> None:
    """Refuse intervals and adjusted values from which a simple guess finds sensitive values."""
    if accepted:
        return
    value, cells = problem.table.value, problem.primaries
    lower, upper, sliding = problem.strictest[:, cells]
    ends = protection.lower[cells], protection.upper[cells]
    width = ends[1] - ends[0]
    digits = digits_of(value)
    rounded = [digits is not None and (end == np.round(end, digits)) for end in ends]
    unit = np.where(rounded[0] & rounded[1], 10.0 ** -(digits or 0), 0.0)
    informative = (protection.lower > problem.prior_lower)[cells] | (protection.upper < problem.prior_upper)[cells]
    # Rounding outwards widens an interval by up to two units.
    narrowest = np.maximum(lower + upper, sliding) * (1 + 1e-6) + 2 * unit
    narrow = protection.suppressed[cells] & informative & (width <= narrowest)
    guessed = np.unique(
        np.concatenate([cells[narrow], cells_with_central_values(protection), cells_off_by_their_levels(protection)])
    )
    if protection.report.symmetric or len(guessed):
        labels = problem.table.labels(guessed)
        raise NotSafeError(
            f"Not published: sensitive values could be guessed{', e.g. ' + some(labels) if labels else ''}. Published values or "
            "intervals are as close to them as levels allow, or have them in their middles: a simple guess finds them. Leave out "
            "exact=true, protect the table again with more time, allow larger deviations, or accept it (accept_symmetric).",
            labels,
        )


def _cells_of_release(problem: Problem, protection: Protection) -> IntArray:
    """The cells of the release.

    A table of counts seldom stores cells without records, so a zero in its release would reveal a count that was rounded to
    zero. If there are such counts, all zeros are left out, unless the table stores all combinations and some have no records.
    """
    table, zero = problem.table, protection.published == 0
    if not table.is_count:
        return np.arange(len(table))
    lists_empty_cells = table.n_combinations == len(table) and np.any(table.magnitude == 0)
    reveals = np.any(zero & (protection.decision == Decision.ADJUSTED)) and not lists_empty_cells
    return np.flatnonzero(~zero) if reveals else np.arange(len(table))


def _outwards(end: FloatArray, decimals: int, sign: int) -> FloatArray:
    """Ends rounded away from the value, so that the rounded interval contains the exact one."""
    rounded = np.round(end, decimals)
    inwards = sign * (end - rounded) > 0
    return np.where(inwards, np.round(rounded + sign * 10.0**-decimals, decimals), rounded)


def _check_release(problem: Problem, protection: Protection, cells: IntArray, release: Release) -> None:
    """Refuse a release that reveals more than the audited protection, or an interval without the true value."""
    low, high = protection.lower[cells], protection.upper[cells]
    value = problem.table.value[cells]
    wrong = protection.published != 0  # of cells that are left out
    wrong[cells] = np.isnan(release.value) != protection.suppressed[cells]
    if release.lower is not None and release.upper is not None:
        lower = np.where(np.isnan(release.lower), -np.inf, release.lower)
        upper = np.where(np.isnan(release.upper), np.inf, release.upper)
        wrong[cells] |= (lower > np.minimum(low, value)) | (upper < np.maximum(high, value))
    if wrong.any():
        labels = problem.table.labels(np.flatnonzero(wrong))
        raise NotSafeError(
            f"Not published: the release would reveal more than was audited about {some(labels)}. Audit what is to be published.",
            labels,
        )


def _column(values: FloatArray) -> pd.Series:
    """A column of integers if all values are, so that they are written without a decimal point."""
    finite = values[~np.isnan(values)]
    if np.all(finite == np.round(finite)) and np.all(np.abs(finite) < 2**53):
        return pd.Series(values).astype("Int64")
    return pd.Series(values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
