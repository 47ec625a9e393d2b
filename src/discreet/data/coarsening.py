"""Coarser classifications: which codes could be rolled up, and what becomes of hierarchies and records if they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, count

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import IntArray
from discreet.data.hierarchy import ABSENT, ROOT, Hierarchy

WIDE = 24  # siblings that are all tried with each other; of more, the worst ones are
MOST_NAMED = 4  # codes of which the name of a merged code consists
LONGEST_NAME = 40


@dataclass(frozen=True)
class Change:
    """One way to roll up: ``into`` says for each code that goes by which one it is replaced."""

    dimension: str
    kind: str  # "merge" siblings, "roll up" what is below a code, "cut" all below a level, "drop" a level between
    into: Mapping[str, str]
    parent: str  # whose parts these are; of whole levels, the total
    level: int = 0  # of whole levels: steps below the total

    @property
    def words(self) -> str:
        """The change in a few words: labels only."""
        if self.kind == "merge":
            codes, (name,) = list(self.into), set(self.into.values())
            return f"merge {_listed(codes)}" + ("" if name == "+".join(codes) else f" into {name}")
        if self.kind == "roll up":
            return f"roll up {_listed(list(self.into))} into {self.parent}"
        how = "leave out all levels below" if self.kind == "cut" else "leave out"
        return f"{how} level {self.level} ({_listed(sorted(set(self.into.values())) if self.kind == 'cut' else list(self.into))})"


def _listed(codes: list[str]) -> str:
    return ", ".join(codes if len(codes) <= MOST_NAMED else [*codes[:2], "…", codes[-1]])


@dataclass(frozen=True)
class Design:
    """Hierarchies by dimension, and by which code each code of the records is replaced beforehand."""

    by: Mapping[str, Hierarchy]
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def changed(self, change: Change) -> Design:
        """The design after a change."""
        hierarchy = self.by[change.dimension]
        earlier = dict(self.recode.get(change.dimension, {}))
        leaves = [code for code, leaf in zip(hierarchy.codes, hierarchy.is_leaf, strict=True) if leaf]
        moved = {code: change.into[code] for code in leaves if code in change.into}
        recode = moved | {code: moved.get(now, now) for code, now in earlier.items()}
        return Design(
            {**self.by, change.dimension: coarsened(hierarchy, change.into)},
            {**self.recode, change.dimension: recode} if recode else self.recode,
        )


def coarsened(hierarchy: Hierarchy, into: Mapping[str, str]) -> Hierarchy:
    """The hierarchy in which codes are replaced by others: by a new one for several siblings, or by one above them."""
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
    return Hierarchy(codes, np.array(trees))


def with_merged(hierarchy: Hierarchy, sets: list[tuple[int, ...]]) -> Hierarchy:
    """The hierarchy with one more code for each set of siblings, above them in a further tree: all can be tabulated at once.

    The new codes follow the others, in the order of the sets. Sets that have nothing in common share a tree.
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
    """The ways to roll up one dimension."""

    def __init__(self, dimension: str, hierarchy: Hierarchy, keep: Collection[str], ordered: bool) -> None:
        self.dimension, self.hierarchy, self.ordered = dimension, hierarchy, ordered
        self.kept = np.array([code in keep for code in hierarchy.codes])
        self.single = len(hierarchy.parents) == 1

    def sets(self, sensitive: NDArray[np.float64], contributors: NDArray[np.float64]) -> list[tuple[int, ...]]:
        """Siblings to merge. None are listed that have no sensitive cells, since there is nothing to gain."""
        found: dict[tuple[int, ...], None] = {}
        for siblings in self._siblings():
            free = siblings[~self.kept[siblings]]
            # Those with many sensitive cells for few contributors are worth merging first.
            need = np.lexsort((contributors[free], -sensitive[free] / np.maximum(contributors[free], 1)))
            most = min(
                int((tree == tree[siblings[0]]).sum()) for tree in self.hierarchy.parents if tree[siblings[0]] >= 0
            )
            for members in self._runs(free) if self.ordered else self._unordered(free[need]):
                if len(members) < most and sensitive[list(members)].any():  # all of them are rolled up, not merged
                    found[tuple(sorted(members))] = None
        return list(found)

    def _siblings(self) -> Iterator[IntArray]:
        """Codes with the same parent in every tree: leaves, or groups. A leaf and a group are not merged."""
        keys = np.vstack([self.hierarchy.parents, self.hierarchy.is_leaf])
        _, kin = np.unique(keys, axis=1, return_inverse=True)
        for k in range(int(kin.max()) + 1):
            members = np.flatnonzero(kin == k)
            if len(members) > 1:
                yield members

    @staticmethod
    def _unordered(codes: IntArray) -> Iterator[tuple[int, ...]]:
        yield from combinations(codes[:WIDE].tolist(), 2)
        size = 3
        while size <= len(codes):
            yield tuple(codes[:size].tolist())
            size += 1 if size < WIDE else size // 4

    @staticmethod
    def _runs(codes: IntArray) -> Iterator[tuple[int, ...]]:
        """Neighbours; of many codes only short runs of them."""
        longest = len(codes) if len(codes) <= WIDE else max(2, WIDE * WIDE // len(codes))
        for size in range(2, longest + 1):
            for start in range(len(codes) - size + 1):
                yield tuple(codes[start : start + size].tolist())

    def merge(self, members: tuple[int, ...], taken: Collection[str]) -> Change:
        h = self.hierarchy
        parent = int(h.parents[int((h.parents[:, members[0]] != ABSENT).argmax()), members[0]])
        codes = [h.codes[i] for i in members]
        other = f"Other {h.codes[parent]}" if parent else "Other"
        name = merged_name(codes, other, {*h.codes, *taken} - set(codes))
        return Change(self.dimension, "merge", dict.fromkeys(codes, name), h.codes[parent])

    def levels(self) -> Iterator[Change]:
        """Roll up what is below one code, or a whole level. Only where there is one tree."""
        h = self.hierarchy
        if not self.single:
            return
        parent, depth = h.parents[0], h.depth
        for code in np.flatnonzero(~h.is_leaf)[1:]:
            below = _below(parent, code)
            if not self.kept[below].any():
                yield self._into("roll up", {int(i): int(code) for i in below}, int(code))
        for level in range(1, int(depth.max())):
            deeper = np.flatnonzero(depth > level)
            if not self.kept[deeper].any():
                yield self._into("cut", {int(i): _above(parent, depth, int(i), level) for i in deeper}, 0, level)
            between = np.flatnonzero((depth == level) & ~h.is_leaf)
            if not self.kept[between].any():
                yield self._into("drop", {int(i): int(parent[i]) for i in between}, 0, level)

    def _into(self, kind: str, into: dict[int, int], parent: int, level: int = 0) -> Change:
        codes = self.hierarchy.codes
        return Change(self.dimension, kind, {codes[i]: codes[j] for i, j in into.items()}, codes[parent], level)


def _below(parent: IntArray, code: int) -> IntArray:
    found = np.zeros(len(parent), dtype=bool)
    fresh = parent == code
    while fresh.any():
        found |= fresh
        fresh = np.isin(parent, np.flatnonzero(fresh))
    return np.flatnonzero(found)


def _above(parent: IntArray, depth: IntArray, code: int, level: int) -> int:
    while depth[code] > level and parent[code] != ROOT:
        code = int(parent[code])
    return code


def merged_name(codes: list[str], other: str, taken: Collection[str]) -> str:
    """``A1+A2``, or the name for others if that would be long; never a name that there is."""
    parts = [part for code in codes for part in code.split("+")]
    name = "+".join(parts)
    if len(parts) > MOST_NAMED or len(name) > LONGEST_NAME:
        name = other
    names = (name if k == 1 else f"{name} ({k})" for k in count(1))
    return next(found for found in names if found not in taken)
