"""Protected tables: what ``crosstab`` and ``pivot_table`` return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import pandas as pd

from discreet.analysis.layout import Filled
from discreet.analysis.measures import Measure, ProtectionOptions
from discreet.analysis.origin import Origin
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.errors import InputError, plural
from discreet.promise import conditions

LABEL_JOINT = " | "  # between the labels of several levels, where a format has one level only
SECONDARY = "secondary"
REASONS = {"FREQ": "threshold", "WFREQ": "threshold", "P": "p-ratio", "PQ": "p-ratio", "NK": "nk-rule"}


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTable:
    """A table in the layout of pandas, with published numbers only, and the audits that allow it.

    It prints and displays like a data frame, with a symbol in suppressed cells. ``measures`` holds the tables of counts and sums
    behind it with their protections and audits, which are confidential; nothing of them is shown.
    """

    command: str
    content: Filled
    measures: tuple[Measure, ...]
    options: ProtectionOptions
    origin: Origin

    def frame(self, symbols: bool = False) -> pd.DataFrame:
        """The published numbers as a data frame. Suppressed ones are missing, or with ``symbols`` the suppression symbol."""
        if not symbols:
            return self.content.shown.copy()
        shown, mask = self.content.shown, self.content.suppressed
        columns = [
            shown.iloc[:, c].astype(object).where(~mask.iloc[:, c].to_numpy(), self.options.symbol)
            if mask.iloc[:, c].any()
            else shown.iloc[:, c]
            for c in range(shown.shape[1])
        ]
        frame = pd.DataFrame(dict(enumerate(columns)), index=shown.index)
        frame.columns = shown.columns
        return frame

    @property
    def suppressed(self) -> pd.DataFrame:
        """True where a number is not published."""
        return self.content.suppressed.copy()

    @property
    def audits(self) -> tuple[Audit | RespondentAudit, ...]:
        """The audits of the tables behind this one. Confidential."""
        return tuple(one for m in self.measures for one in (m.audit, m.respondents) if one is not None)

    @property
    def promise(self) -> list[str]:
        """What the verdict covers, and what it does not, in sentences."""
        found = [str(one) for m in self.measures for one in conditions(m.protection, m.respondents, m.level)]
        return list(dict.fromkeys(found))

    @cached_property
    def reasons(self) -> dict[str, list[tuple[int, int]]]:
        """The positions, as row and column, of suppressed numbers by reason: a kind of rule, or ``secondary``. Confidential."""
        found: dict[str, list[tuple[int, int]]] = {}
        for position, terms in self.content.terms.items():
            names = [
                REASONS.get(name, name.lower())
                for measure, cell in terms
                for name in measure.reasons.get(measure.cells.get(cell, -1), ())
            ]
            for name in dict.fromkeys(names or [SECONDARY]):
                found.setdefault(name, []).append(position)
        return found

    @property
    def note(self) -> str:
        """How many numbers are suppressed."""
        mask = self.content.suppressed.to_numpy()
        if not mask.any():
            return f"{plural(mask.size, 'cell')}, none suppressed; audited"
        return f"{self.options.symbol} suppressed: {int(mask.sum()):,} of {plural(mask.size, 'cell')}; audited"

    def __len__(self) -> int:
        return len(self.content.shown)

    def __repr__(self) -> str:
        return f"{self.frame(symbols=True)}\n{self.note}"

    def _repr_html_(self) -> str:
        found = self.frame(symbols=True)._repr_html_()  # type: ignore[operator]
        return f"<div>{found}<small>{escape(self.note)}</small></div>"

    def flat(self) -> pd.DataFrame:
        """The frame with symbols, with one level of rows and one of columns."""
        frame = self.frame(symbols=True)
        rows, columns = _joined(frame.index), _joined(frame.columns)
        name = LABEL_JOINT.join(str(one) for one in frame.index.names if one is not None)
        frame.index, frame.columns = pd.Index(rows, name=name or None), pd.Index(columns)
        return frame

    def to_great_table(self, title: str | None = None) -> Any:
        """The table as a ``GT`` of Great Tables, to be styled further."""
        try:
            from great_tables import GT
        except ImportError:
            raise InputError(
                "Great Tables is not installed. Install it with: pip install 'discreet[notebook]'"
            ) from None
        frame = self.flat()
        name = str(frame.index.name or "rows")
        frame = frame.reset_index(names=name).astype(object)
        table = GT(frame, rowname_col=name).tab_stubhead(name).tab_source_note(self.note)
        if self.content.shown.columns.nlevels > 1:
            table = table.tab_spanner_delim(LABEL_JOINT)
        return table if title is None else table.tab_header(title)


def _joined(labels: pd.Index) -> Sequence[str]:
    """The labels as text, those of several levels joined."""
    parts = [label if labels.nlevels > 1 else (label,) for label in labels]
    return [LABEL_JOINT.join(str(part) for part in label if str(part)) for label in parts]
