"""The hierarchies of spanning variables: from a file, from the digits of codes, or flat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from discreet.argus.paths import Paths
from discreet.data.hierarchy import ROOT, Hierarchy
from discreet.errors import FormatError, HierarchyError, some
from discreet.io.argus.codelist import read_codelist
from discreet.io.argus.metadata import Variable
from discreet.io.argus.recode import RecodeFile


@dataclass(frozen=True)
class Classification:
    """A spanning variable: its hierarchy, which knows the codes that mean missing, and the codes that recodes replace."""

    variable: Variable
    hierarchy: Hierarchy
    recode: Mapping[str, str] | None = None


def classification(variable: Variable, observed: Iterable[str], paths: Paths, metadata: Path) -> Classification:
    """The classification of a variable with these codes in the data. Missing codes that occur are categories below the total."""
    codes = sorted(set(observed) - {variable.total}, key=lambda code: (code.rjust(variable.width), code))
    missing = [code for code in codes if code in variable.missing]
    valid = [code for code in codes if code not in variable.missing]
    if variable.codelist:
        file = paths.existing(variable.codelist, beside=metadata.parent)
        paths.say(f"{file.name}: labels of {len(read_codelist(file)):,} codes of {variable.name}; results show codes")
    if variable.hierarchy:
        file = paths.existing(variable.hierarchy, beside=metadata.parent)
        found = Hierarchy.from_hrc(file, variable.total, variable.leader)
        unknown = [code for code in valid if code not in found]
        if unknown:
            similar = get_close_matches(unknown[0], found.codes, n=1, cutoff=0.4)
            hint = f" Did you mean {similar[0]!r} for {unknown[0]!r}?" if similar else ""
            raise HierarchyError(
                f"{len(unknown)} codes of variable {variable.name!r} are not in {file.name}: {some(unknown)}.{hint}",
                unknown,
            )
    elif variable.levels:
        found = Hierarchy.from_levels(valid, variable.levels, variable.total)
    elif variable.hierarchical:
        raise FormatError(
            f"{metadata}, line {variable.line}: variable {variable.name!r} is hierarchical, but neither <HIERLEVELS> nor "
            "<HIERCODELIST> says how. Add one of them."
        )
    else:
        found = Hierarchy.flat(valid, variable.total)
    return Classification(variable, found.with_missing(missing))


def recoded(given: Classification, recode: RecodeFile) -> Classification:
    """The classification after a recode by a file."""
    if recode.is_tree:
        unknown = [(code, line) for code, line in recode.closed.items() if code not in given.hierarchy]
        if unknown:
            raise FormatError(
                f"{recode.path}, line {unknown[0][1]}: variable {given.variable.name!r} has no code {unknown[0][0]!r}. Leave "
                "the line out, or correct it."
            )
        return closed(given, [given.hierarchy.index(code) for code in recode.closed])
    if given.hierarchy.depth.max() > 1:
        raise FormatError(
            f"{recode.path}: variable {given.variable.name!r} is hierarchical: its recodes begin with <TREERECODE> and list the "
            "codes that become the finest."
        )
    old = list(given.hierarchy.codes[1:])
    new = recode.of(old)
    missing = frozenset(recode.missing) or given.hierarchy.missing
    turned = [code for code in given.hierarchy.missing if new.get(code, code) not in missing]
    if turned:
        raise FormatError(
            f"{recode.path}: the missing code {turned[0]!r} would become one that is not missing: list it after <MISSING>.",
            turned,
        )
    codes = list(dict.fromkeys(new.get(code, code) for code in old))
    codes.sort(key=lambda code: (code in missing, code.rjust(given.variable.width), code))
    replaced = _chained(given.recode or {}, new)
    flat = Hierarchy.flat(codes, given.hierarchy.total).with_missing(missing & set(codes))
    return Classification(given.variable, flat, replaced)


def closed_at(given: Classification, level: int) -> Classification:
    """The classification without codes below a level: 1 is that of the codes directly below the total."""
    if given.hierarchy.depth.max() < 2:
        raise FormatError(
            f"variable {given.variable.name!r} is not hierarchical: it is recoded by a file, not by a level."
        )
    deep = [i for i in np.flatnonzero(~given.hierarchy.is_leaf).tolist() if given.hierarchy.depth[i] == level]
    return closed(given, deep)


def closed(given: Classification, nodes: Iterable[int]) -> Classification:
    """The classification in which these codes are the finest: codes below them are replaced by them."""
    hierarchy, parent = given.hierarchy, given.hierarchy.parents[0]
    stops, into = set(nodes), {}
    for i in range(len(hierarchy)):
        above, at = [], i
        while at != ROOT:
            above.append(at)
            at = int(parent[at])
        tops = [one for one in above[1:] if one in stops]
        if tops:
            into[i] = tops[-1]
    kept = [i for i in range(len(hierarchy)) if i not in into]
    place = {i: k for k, i in enumerate(kept)}
    parents = np.array([ROOT if parent[i] == ROOT else place[int(parent[i])] for i in kept])
    new = {hierarchy.codes[i]: hierarchy.codes[top] for i, top in into.items()}
    shorter = Hierarchy(tuple(hierarchy.codes[i] for i in kept), parents, missing=hierarchy.missing - set(new))
    return Classification(given.variable, shorter, _chained(given.recode or {}, new))


def _chained(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """One recode after another, as one."""
    both = {code: second.get(into, into) for code, into in first.items()}
    return {**{code: into for code, into in second.items() if code not in both}, **both}
