"""The records behind several tables of a job, with hierarchies that have the codes of all these tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from discreet.argus.classification import Classification
from discreet.argus.microdata import RecordFile, tabulated_as_written
from discreet.argus.work import Work
from discreet.arrays import IntArray
from discreet.data.hierarchy import ABSENT, ROOT, Hierarchy
from discreet.data.table import Table
from discreet.errors import InputError

Members = frozenset[str]  # the codes in the records for which a code of a table stands
NamesHere = Mapping[str, tuple[str, Mapping[str, str]]]  # by dimension of a table: its name, and that of each code


@dataclass(frozen=True)
class SharedRecords:
    """The variables that some tables use, and for each table what its dimensions and codes are called here.

    Tables may classify a variable differently: a recode may have replaced its codes. Then the hierarchy here has several
    trees, and a code stands for the same records as the code of a table that has its name.
    """

    frame: pd.DataFrame
    response: str | None
    weight: str | None
    listed: Mapping[str, Classification]
    names: tuple[NamesHere, ...]
    alike: bool  # all tables have the same hierarchies

    @classmethod
    def of(cls, works: Sequence[Work]) -> SharedRecords:
        """Those of tables of one response of one file; raises if the tables are not sums of the same numbers."""
        columns: dict[str, pd.Series] = {}
        response, weight = _numbers(works, columns)
        spelled: dict[str, str] = {}  # by the name in capitals
        given: dict[str, list[Classification]] = defaultdict(list)
        for work in works:
            for name in work.views.table.dimensions:
                known = spelled.setdefault(name.upper(), name)
                _add(columns, known, _records(work).frame[name], work)
                given[known].append(work.listed[name])
        frame = pd.DataFrame(columns)
        listed: dict[str, Classification] = {}
        codes: dict[str, list[Mapping[str, str]]] = {}
        for name, classifications in given.items():
            first = classifications[0]
            if all(one.hierarchy == first.hierarchy and one.recode == first.recode for one in classifications):
                listed[name] = first
                codes[name] = [{code: code for code in first.hierarchy.codes}] * len(classifications)
            else:
                hierarchy, codes[name] = _common(classifications, frame[name].unique().tolist())
                listed[name] = replace(first, hierarchy=hierarchy, recode=None)
        names = tuple(
            {name: (known := spelled[name.upper()], codes[known].pop(0)) for name in work.views.table.dimensions}
            for work in works
        )
        same_names = all(name == known for one in names for name, (known, _) in one.items())
        same_names &= len({work.views.table.response for work in works}) == 1
        alike = same_names and all(one is given[name][0] for name, one in listed.items())
        return cls(frame, response, weight, listed, names, alike)

    def tabulated(self, by: Mapping[str, Hierarchy]) -> Table:
        """The table by these hierarchies, without contributions."""
        return tabulated_as_written(self.frame, by, self.response, self.listed, weight=self.weight, contributions=False)

    def tables(self) -> list[Table]:
        """The tables with all their cells by the common hierarchies; those of the same dimensions once."""
        crossed = dict.fromkeys(frozenset(known for known, _ in one.values()) for one in self.names)
        return [
            self.tabulated({name: self.listed[name].hierarchy for name in self.listed if name in by}) for by in crossed
        ]


def _records(work: Work) -> RecordFile:
    assert isinstance(work.data, RecordFile)
    return work.data


def _add(columns: dict[str, pd.Series], name: str, column: pd.Series, work: Work) -> None:
    """Add a variable; raises if another file of metadata describes another variable by this name."""
    if name in columns and not columns[name].equals(column):
        raise InputError(
            f"variable {name!r} is another one in {_records(work).metadata.path.name} than in the metadata of the tables before.",
            [name],
        )
    columns[name] = column


def _numbers(works: Sequence[Work], columns: dict[str, pd.Series]) -> tuple[str | None, str | None]:
    """Add the response and the weight; raises if some tables are weighted, others are not, and it makes a difference."""
    first, weighted = works[0].views.table, [work.request.weighted for work in works]
    response = None if first.is_count else first.response
    weight = None
    for work in works:
        frame = _records(work).frame
        if response is not None:
            _add(columns, response, frame[work.views.table.response], work)
        found = _records(work).metadata.single("weight")
        if any(weighted) and found is not None:
            weight = weight or found.name
            _add(columns, weight, frame[found.name], work)
    if len(set(weighted)) > 1 and (weight is None or (columns[weight] != 1).any()):
        raise InputError("tables with weights (WGT) and tables without add up different numbers.")
    return response, weight if all(weighted) else None


def _common(given: Sequence[Classification], observed: Sequence[str]) -> tuple[Hierarchy, list[Mapping[str, str]]]:
    """The hierarchy with the codes of several classifications, and what each of their codes is called in it.

    Codes that stand for the same codes in the records are one code.
    """
    members = [_members(one, observed) for one in given]
    total = given[0].hierarchy.total
    names: dict[Members, str] = {frozenset([code]): code for code in observed}
    taken = {total, *observed}
    for one in members:
        for code, what in one.items():
            if what not in names:
                name = code
                while name in taken:
                    name += "'"
                names[what] = name
                taken.add(name)
    codes = (total, *names.values())
    place = {name: i for i, name in enumerate(codes)}
    trees: list[IntArray] = []
    for classification, found in zip(given, members, strict=True):
        tree = np.full(len(codes), ABSENT)
        tree[0] = ROOT
        for code in observed:
            at = place[code]
            for above in _ancestors(classification, code):
                name = names[found[above]]
                if place[name] != at:
                    tree[at], at = place[name], place[name]
            tree[at] = 0
        if not any(np.array_equal(tree, other) for other in trees):
            trees.append(tree)
    called: list[Mapping[str, str]] = [
        {one.hierarchy.total: total, **{code: names[what] for code, what in found.items()}}
        for one, found in zip(given, members, strict=True)
    ]
    return Hierarchy(codes, np.array(trees)), called


def _ancestors(given: Classification, code: str) -> list[str]:
    """The codes of a classification that stand for a code in the records, from the finest up, without the total."""
    hierarchy, parent = given.hierarchy, given.hierarchy.parents[0]
    at, found = hierarchy.index((given.recode or {}).get(code, code)), []
    while at > 0:
        found.append(hierarchy.codes[at])
        at = int(parent[at])
    return found


def _members(given: Classification, observed: Sequence[str]) -> dict[str, Members]:
    """The codes in the records for which each code of a classification stands; codes without records are left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for code in observed:
        for above in _ancestors(given, code):
            found[above].add(code)
    return {code: frozenset(what) for code, what in found.items()}
