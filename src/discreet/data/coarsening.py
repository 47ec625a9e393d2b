"""Coarser classifications: changes that merge or roll up codes, and the hierarchies and codes of records after them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, count

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.data.hierarchy import ABSENT, Hierarchy

MAX_PAIRED_SIBLINGS = 24  # of so many siblings all pairs are candidates: 276, which can be tabulated together
MAX_NAMED_CODES = 4  # in the name of a merged code or the description of a change: longer lists are hard to read
MAX_NAME_LENGTH = 40  # of a merged code: longer names are too wide for a table


@dataclass(frozen=True)
class Change:
    """One way to make a classification coarser: ``into`` maps the codes that are removed to those that replace them."""

    dimension: str
    # "merge" siblings, "roll up" the codes below a code, "cut" all levels below one, "drop" a level in between
    kind: str
    into: Mapping[str, str]
    parent: str  # of the codes; the total if the change concerns a level
    level: int = 0  # steps below the total, if the change concerns a level

    @property
    def words(self) -> str:
        """A short description of the change. It contains labels only."""
        if self.kind == "merge":
            codes, (name,) = list(self.into), set(self.into.values())
            return f"merge {_listed(codes)}" + ("" if name == "+".join(codes) else f" into {name}")
        if self.kind == "roll up":
            return f"roll up {_listed(list(self.into))} into {self.parent}"
        if self.kind == "cut":
            return f"leave out all levels below level {self.level} ({_listed(sorted(set(self.into.values())))})"
        return f"leave out level {self.level} ({_listed(list(self.into))})"


def _listed(codes: list[str]) -> str:
    return ", ".join(codes if len(codes) <= MAX_NAMED_CODES else [*codes[:2], "…", codes[-1]])


@dataclass(frozen=True)
class Design:
    """Hierarchies by dimension, and for codes of the records the codes that replace them before tabulation."""

    by: Mapping[str, Hierarchy]
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def changed(self, change: Change) -> Design:
        """The design after a change."""
        hierarchy = self.by[change.dimension]
        earlier = dict(self.recode.get(change.dimension, {}))
        leaves = [code for code, leaf in zip(hierarchy.codes, hierarchy.is_leaf, strict=True) if leaf]
        replaced = {code: change.into[code] for code in leaves if code in change.into}
        recode = replaced | {code: replaced.get(now, now) for code, now in earlier.items()}
        return Design(
            {**self.by, change.dimension: coarsened(hierarchy, change.into)},
            {**self.recode, change.dimension: recode} if recode else self.recode,
        )


def coarsened(hierarchy: Hierarchy, into: Mapping[str, str]) -> Hierarchy:
    """The hierarchy with codes replaced: several siblings by a new code, or codes by an ancestor."""
    names = [into.get(code, code) for code in hierarchy.codes]
    codes = tuple(dict.fromkeys(names))
    place = {code: i for i, code in enumerate(codes)}
    at = np.array([place[name] for name in names])
    trees: list[IntArray] = []
    for parent in hierarchy.parents:
        up = np.where(parent >= 0, at[parent], parent)
        inside = (parent != ABSENT) & (up != at)
        tree = np.full(len(codes), ABSENT)
        tree[at[inside]] = up[inside]
        if not any(np.array_equal(tree, other) for other in trees):
            trees.append(tree)
    return Hierarchy(codes, np.array(trees)).with_labels(hierarchy.labels)


def with_merged(hierarchy: Hierarchy, sets: list[tuple[int, ...]]) -> Hierarchy:
    """The hierarchy with a new code above each set of siblings, in further trees, so that all sets are tabulated together.

    The new codes follow the others, in the order of the sets. Disjoint sets share a tree.
    """
    n = len(hierarchy)
    wide = np.pad(hierarchy.parents, ((0, 0), (0, len(sets))), constant_values=ABSENT)
    further: list[IntArray] = []
    for new, members in enumerate(sets, start=n):
        home = wide[int((wide[:, members[0]] != ABSENT).argmax())]
        above = home[members[0]]
        tree = next((t for t in further if np.array_equal(t[list(members)], home[list(members)])), None)
        if tree is None:
            tree = home.copy()
            further.append(tree)
        tree[new], tree[list(members)] = above, new
    codes = (*hierarchy.codes, *(f"\x1f{k}" for k in range(len(sets))))
    return Hierarchy(codes, np.array([*wide, *further]))


class Candidates:
    """The possible changes of one dimension."""

    def __init__(self, dimension: str, hierarchy: Hierarchy, keep: Collection[str], ordered: bool) -> None:
        self.dimension, self.hierarchy, self.ordered = dimension, hierarchy, ordered
        self.kept = np.array([code in keep for code in hierarchy.codes])

    def sets(self, sensitive: FloatArray, contributors: FloatArray) -> list[tuple[int, ...]]:
        """Sets of siblings to merge. Sets without sensitive cells are left out: merging them removes none."""
        found: dict[tuple[int, ...], None] = {}
        for siblings in self._siblings():
            free = siblings[~self.kept[siblings]]
            # First those with many sensitive cells for few contributors: merging them loses least.
            ranked = np.lexsort((contributors[free], -sensitive[free] / np.maximum(contributors[free], 1)))
            n_siblings = min(
                int((tree == tree[siblings[0]]).sum()) for tree in self.hierarchy.parents if tree[siblings[0]] >= 0
            )
            for members in self._runs(free) if self.ordered else self._unordered(free[ranked]):
                # Merging all siblings is the same as rolling them up.
                if len(members) < n_siblings and sensitive[list(members)].any():
                    found[tuple(sorted(members))] = None
        return list(found)

    def _siblings(self) -> Iterator[IntArray]:
        """Codes with the same parent in every tree, either all leaves or all groups."""
        keys = np.vstack([self.hierarchy.parents, self.hierarchy.is_leaf])
        _, family = np.unique(keys, axis=1, return_inverse=True)
        for k in range(int(family.max()) + 1):
            members = np.flatnonzero(family == k)
            if len(members) > 1:
                yield members

    @staticmethod
    def _unordered(codes: IntArray) -> Iterator[tuple[int, ...]]:
        """Pairs of the first codes, then the first three, four and so on."""
        yield from combinations(codes[:MAX_PAIRED_SIBLINGS].tolist(), 2)
        size = 3
        while size <= len(codes):
            yield tuple(codes[:size].tolist())
            size += 1 if size < MAX_PAIRED_SIBLINGS else size // 4

    @staticmethod
    def _runs(codes: IntArray) -> Iterator[tuple[int, ...]]:
        """Runs of neighbours; if there are many codes, short runs only, so that their number stays limited."""
        longest = len(codes)
        if len(codes) > MAX_PAIRED_SIBLINGS:
            longest = max(2, MAX_PAIRED_SIBLINGS**2 // len(codes))
        for size in range(2, longest + 1):
            for start in range(len(codes) - size + 1):
                yield tuple(codes[start : start + size].tolist())

    def merge(self, members: tuple[int, ...], taken: Collection[str]) -> Change:
        """The change that merges siblings into one code, whose name is not ``taken``."""
        h = self.hierarchy
        parent = int(h.parents[int((h.parents[:, members[0]] != ABSENT).argmax()), members[0]])
        codes = [h.codes[i] for i in members]
        other = f"Other {h.codes[parent]}" if parent else "Other"
        name = merged_name(codes, other, {*h.codes, *taken} - set(codes))
        return Change(self.dimension, "merge", dict.fromkeys(codes, name), h.codes[parent])

    def levels(self) -> Iterator[Change]:
        """The changes that roll up the codes below one code, or levels; none in a hierarchy of several trees."""
        h = self.hierarchy
        if len(h.parents) > 1:
            return
        parent, depth = h.parents[0], h.depth
        lower, upper = h.lineage(np.arange(len(h)))
        for code in np.flatnonzero(~h.is_leaf)[1:]:
            below = lower[(upper == code) & (lower != code)]
            if not self.kept[below].any():
                yield self._into("roll up", {int(i): int(code) for i in below}, int(code))
        for level in range(1, int(depth.max())):
            deeper = (depth[lower] > level) & (depth[upper] == level)
            if not self.kept[lower[deeper]].any():
                into = dict(zip(lower[deeper].tolist(), upper[deeper].tolist(), strict=True))
                yield self._into("cut", into, 0, level)
            between = np.flatnonzero((depth == level) & ~h.is_leaf)
            if not self.kept[between].any():
                yield self._into("drop", {int(i): int(parent[i]) for i in between}, 0, level)

    def _into(self, kind: str, into: dict[int, int], parent: int, level: int = 0) -> Change:
        codes = self.hierarchy.codes
        return Change(self.dimension, kind, {codes[i]: codes[j] for i, j in into.items()}, codes[parent], level)


def merged_name(codes: list[str], other: str, taken: Collection[str]) -> str:
    """``A1+A2``, or ``other`` if that is too long, with a number if the name is taken."""
    parts = [part for code in codes for part in code.split("+")]
    name = "+".join(parts)
    if len(parts) > MAX_NAMED_CODES or len(name) > MAX_NAME_LENGTH:
        name = other
    names = (name if k == 1 else f"{name} ({k})" for k in count(1))
    return next(found for found in names if found not in taken)
