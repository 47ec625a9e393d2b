"""Hierarchies: codes and their parents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, IntArray
from discreet.data.labels import CodeList, Labels, code_list_rows, merged_labels
from discreet.data.side_files import side_text
from discreet.errors import HierarchyError, placing, plural, some

ROOT = -1  # parent of the total
ABSENT = -2  # parent of a code that does not occur in the tree
LABEL_SEPARATOR = " × "  # between the codes in the label of a cell; no code may contain it


def cell_label(hierarchies: Iterable[Hierarchy], codes: Iterable[int]) -> str:
    """The label of the cell with these codes, one per hierarchy: ``A × North``."""
    return LABEL_SEPARATOR.join(h.codes[code] for h, code in zip(hierarchies, codes, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """Codes and, for each tree, the index of the parent of every code. Code 0 is the total, the root of every tree.

    Usually there is one tree. Several trees are groupings of the same leaves that do not nest, such as two sets of size
    classes. A code that does not occur in a tree has the parent ``ABSENT`` there. ``labels`` names codes for readers, by
    language; hierarchies that differ in nothing else are equal. ``missing`` are the codes that mean that a record has no code.
    """

    codes: tuple[str, ...]
    parents: IntArray
    labels: Labels = field(default_factory=dict)
    missing: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        parents = np.atleast_2d(np.asarray(self.parents, dtype=np.int64))
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "codes", tuple(self.codes))
        if parents.shape[1] != len(self.codes):
            raise HierarchyError(f"{len(self.codes)} codes but {parents.shape[1]} parents: give one parent per code.")
        if not self.codes:
            raise HierarchyError("The hierarchy is empty: it needs at least a total.")
        if len(self._index) < len(self.codes):
            twice = _repeated(self.codes)
            raise HierarchyError(f"Codes occur more than once: {some(twice)}. Give each a name of its own.", twice)
        for tree in parents:
            self._check_tree(tree)
        if np.any(np.all(parents == ABSENT, axis=0)):
            orphans = [self.codes[i] for i in np.flatnonzero(np.all(parents == ABSENT, axis=0))]
            raise HierarchyError(f"Codes belong to no tree: {some(orphans)}.", orphans)

    def _check_tree(self, parent: IntArray) -> None:
        n = len(self.codes)
        if np.any(parent < ABSENT) or np.any(parent >= n):
            raise HierarchyError("A parent points outside the list of codes.")
        roots = np.flatnonzero(parent == ROOT)
        if roots.tolist() != [0]:
            raise HierarchyError(
                f"A hierarchy has exactly one total and lists it first; this one has {some([self.codes[i] for i in roots])}.",
                [self.codes[i] for i in roots],
            )
        end, _ = _last_ancestors(parent)
        present = parent != ABSENT
        detached = [self.codes[i] for i in np.flatnonzero(present & (parent[end] == ABSENT))]
        if detached:
            raise HierarchyError(f"The parents of {some(detached)} are not connected to the total.", detached)
        cyclic = [self.codes[i] for i in np.flatnonzero(present & (end != 0))]
        if cyclic:
            raise HierarchyError(f"Codes are their own ancestors: {some(cyclic)}. Break the cycle.", cyclic)

    # -- access -------------------------------------------------------------------------------------------

    @cached_property
    def _index(self) -> dict[str, int]:
        return {code: i for i, code in enumerate(self.codes)}

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        trees = "" if len(self.parents) == 1 else f", {len(self.parents)} trees"
        return f"Hierarchy({self.total!r}: {len(self)} codes, {int(self.is_leaf.sum())} leaves{trees})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Hierarchy) and self.codes == other.codes and np.array_equal(self.parents, other.parents)
        )

    def __hash__(self) -> int:
        return hash((self.codes, self.parents.tobytes()))

    @property
    def total(self) -> str:
        return self.codes[0]

    def index(self, code: str) -> int:
        try:
            return self._index[code]
        except KeyError:
            raise HierarchyError(f"Code {code!r} is not in the hierarchy of {self.total!r}.", [code]) from None

    def __contains__(self, code: object) -> bool:
        return code in self._index

    def label(self, code: str, lang: str = "") -> str:
        """What readers see for a code: its label in a language or, without one, in no particular language; else the code."""
        return next((self.labels[kind][code] for kind in (lang, "") if code in self.labels.get(kind, ())), code)

    def name(self, i: int, lang: str = "") -> str:
        """A code with its label after it, as reports show it; the code alone if it has no label."""
        code = self.codes[i]
        label = self.label(code, lang)
        return code if label == code else f"{code} {label}"

    def with_labels(self, labels: Labels) -> Hierarchy:
        """The hierarchy with these labels besides its own; codes that it does not have are left out."""
        known = {lang: {code: text for code, text in of.items() if code in self} for lang, of in labels.items()}
        return replace(self, labels=merged_labels(self.labels, known))

    def with_code_list(self, listed: CodeList) -> Hierarchy:
        """The hierarchy with the order and the labels of a code list, which names all codes but the total."""
        known = set(listed.codes)
        missing = [code for code in self.codes[1:] if code not in known]
        if missing:
            fault = f"{plural(len(missing), 'code')} not in the code list, e.g. {some(missing)}. Add them to it."
            raise HierarchyError(fault, missing)
        return self.in_order(listed.codes).with_labels(listed.labels)

    def with_missing(self, codes: Iterable[str]) -> Hierarchy:
        """The hierarchy in which these codes mean missing. Those that it does not have are added directly below the total."""
        given = list(dict.fromkeys(codes))
        new = [code for code in given if code not in self]
        groups = [code for code in given if code == self.total or (code in self and not self.is_leaf[self.index(code)])]
        if groups:
            raise HierarchyError(f"Codes that mean missing have codes below them: {some(groups)}.", groups)
        below = np.zeros((len(self.parents), len(new)), dtype=np.int64)
        return replace(
            self,
            codes=(*self.codes, *new),
            parents=np.concatenate([self.parents, below], axis=1),
            missing=self.missing.union(given),
        )

    def in_order(self, codes: Sequence[str]) -> Hierarchy:
        """The hierarchy with its codes in the order of a list; codes that are not listed come last, and the total first."""
        rank = {code: i for i, code in enumerate(codes)}
        order = sorted(range(1, len(self)), key=lambda i: rank.get(self.codes[i], len(rank)))
        order = [0, *order]
        place = np.empty(len(self), dtype=np.int64)
        place[order] = np.arange(len(self))
        parents = self.parents[:, order]
        return replace(
            self,
            codes=tuple(self.codes[i] for i in order),
            parents=np.where(parents >= 0, place[parents], parents),
        )

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Codes without children."""
        leaf = np.ones(len(self.codes), dtype=bool)
        leaf[self.parents[self.parents >= 0]] = False
        return leaf

    @cached_property
    def depth(self) -> IntArray:
        """The number of steps from the total to each code, in the first tree that has the code."""
        depth = np.full(len(self.codes), ABSENT)
        for parent in self.parents:
            _, steps = _last_ancestors(parent)
            depth = np.where((depth == ABSENT) & (parent != ABSENT), steps, depth)
        return depth

    def equations(self) -> Iterator[tuple[int, int, IntArray]]:
        """``(tree, parent, children)`` for every parent; a group that an earlier tree has is not repeated."""
        seen: set[tuple[int, bytes]] = set()
        for t, parent in enumerate(self.parents):
            order = np.argsort(parent, kind="stable")
            inside = order[parent[order] >= 0]
            groups, starts = np.unique(parent[inside], return_index=True)
            for group, children in zip(groups, np.split(inside, starts)[1:], strict=True):
                key = (int(group), children.tobytes())
                if key not in seen:
                    seen.add(key)
                    yield t, int(group), children

    @cached_property
    def ancestors(self) -> tuple[IntArray, IntArray]:
        """All pairs of a leaf and itself or an ancestor of it in any tree, each pair once."""
        parents = [set(ups) - {ROOT, ABSENT} for ups in self.parents.T.tolist()]
        try:  # a parent in one tree may be a child in another
            TopologicalSorter(dict(enumerate(parents))).prepare()
        except CycleError as error:
            cyclic = [self.codes[i] for i in error.args[1]]
            raise HierarchyError(
                f"Codes are above each other in different trees: {some(cyclic)}. Give each of them one place.", cyclic
            ) from None
        return self.lineage(np.flatnonzero(self.is_leaf))

    def lineage(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """All pairs of one of the codes and itself or an ancestor of it in any tree, each pair once, sorted."""
        n = len(self)
        fresh = codes * (n + 1)  # the pair of i and j is i · n + j
        found = [fresh]
        while len(fresh) and len(found) < n:  # no code has more than n − 1 ancestors
            code, above = np.divmod(fresh, n)
            parent = self.parents[:, above]
            fresh = (code * n + parent)[parent >= 0]
            if len(parent) > 1:
                fresh = np.unique(fresh)
            found.append(fresh)
        pairs = np.sort(np.concatenate(found))  # np.unique is slower by far
        code, above = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], n)
        return code, above

    def order(self) -> IntArray:
        """Codes of the first tree depth first, as rows are usually listed; then the codes of further trees."""
        children: dict[int, list[int]] = {}
        for i, parent in enumerate(self.parents[0]):
            if parent >= 0:
                children.setdefault(int(parent), []).append(i)
        listed: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            listed.append(node)
            stack.extend(reversed(children.get(node, [])))
        rest = sorted(set(range(len(self.codes))) - set(listed))
        return np.array(listed + rest, dtype=np.int64)

    def to_hrc(self, leader: str = "@") -> str:
        """The text of a τ-ARGUS ``.hrc`` file, which names everything but the total."""
        if len(self.parents) > 1:
            raise HierarchyError("An .hrc file holds one tree; write several files.")
        marked = [code for code in self.codes[1:] if code.startswith(leader)]
        if marked:
            raise HierarchyError(f"Codes begin with {leader!r}: {some(marked)}. Pass another leader=.", marked)
        lines = (leader * int(self.depth[i] - 1) + self.codes[i] for i in self.order()[1:])
        return "".join(line + "\n" for line in lines)

    # -- construction--------------------------------------------------------------------------------------

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Hierarchy:
        """A total and its parts."""
        parts = tuple(str(code) for code in codes)
        if total in parts:
            raise HierarchyError(f"The total and one of its parts are called {total!r}. Pass another total=.", [total])
        return cls((total, *parts), np.array([ROOT] + [0] * len(parts)))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str | None]], total: str = "Total") -> Hierarchy:
        """From pairs ``(code, parent)``. Codes without a parent, or with a parent that is not listed, are below ``total``."""
        listed = [(str(code).strip(), "" if pd.isna(parent) else str(parent).strip()) for code, parent in pairs]
        names = [code for code, _ in listed]
        if "" in names:
            raise HierarchyError(f"Code number {names.index('') + 1} is empty.")
        twice = _repeated(names)
        if twice:
            raise HierarchyError(
                f"Codes have more than one parent or line: {some(twice)}. "
                "A code has one parent in a tree; use Hierarchy.join for groupings that do not nest.",
                twice,
            )
        distinct = set(names)
        tops = [(code, parent) for code, parent in listed if parent not in distinct]
        # A single code without a parent is the total, and so is a single parent that is not listed.
        outside = {parent for _, parent in tops if parent}
        if len(tops) == 1 and not tops[0][1]:
            total = tops[0][0]
            listed = [pair for pair in listed if pair[0] != total]
        elif len(outside) == 1 and all(parent for _, parent in tops):
            total = outside.pop()
        elif outside - {total}:
            unlisted = sorted(outside - {total})
            raise HierarchyError(
                f"Parents are not codes themselves: {some(unlisted)}. List them, with an empty parent for the total.",
                unlisted,
            )
        if total in {code for code, _ in listed}:
            raise HierarchyError(f"The total {total!r} is also listed as a part. Pass another total=.", [total])
        codes = (total, *(code for code, _ in listed))
        index = {code: i for i, code in enumerate(codes)}
        return cls(codes, np.array([ROOT] + [index.get(parent, 0) for _, parent in listed]))

    @classmethod
    def from_csv(cls, path: str | Path, total: str = "Total") -> Hierarchy:
        """From a CSV file with the columns ``code`` and ``parent``, and ``label`` or ``label:de`` if codes have names.

        The total's parent is empty.
        """
        rows, labels = code_list_rows(path, ["code", "parent"])
        if not rows:
            raise HierarchyError(f"{path} holds no codes.")
        with placing(path):
            return cls.from_pairs([(row["code"], row["parent"]) for row in rows], total).with_labels(labels)

    @classmethod
    def from_hrc(cls, path: str | Path, total: str = "Total", leader: str = "@") -> Hierarchy:
        """From a τ-ARGUS ``.hrc`` file: one code per line, preceded by one leader per level below the top."""
        if not leader:
            raise HierarchyError("leader= is the sign that marks a level, such as '@': it cannot be empty.")
        pairs: list[tuple[str, str | None]] = []
        above: list[str] = []
        line_of: dict[str, int] = {}
        leading = re.compile(rf"(?:{re.escape(leader)}\s*)*")
        for number, line in enumerate(side_text(path).splitlines(), start=1):
            text = line.strip()
            if not text:
                continue
            leaders = leading.match(text)[0]  # type: ignore[index]  # the pattern matches the empty text
            text, level = text[len(leaders) :].strip(), leaders.count(leader)
            if level > len(above):
                raise HierarchyError(
                    f"{path}, line {number}: {text!r} is {level} levels down but the line before allows {len(above)}."
                )
            if text in line_of:
                raise HierarchyError(
                    f"{path}, line {number}: code {text!r} occurs a second time, first in line {line_of[text]}. "
                    "A code has one parent in a tree; use Hierarchy.join for groupings that do not nest.",
                    [text],
                )
            line_of[text] = number
            pairs.append((text, above[level - 1] if level else None))
            above[level:] = [text]
        if not pairs:
            raise HierarchyError(f"{path} holds no codes.")
        with placing(path):
            return cls.from_pairs([(code, parent or total) for code, parent in pairs], total)

    @classmethod
    def from_levels(cls, codes: Iterable[str], widths: Sequence[int], total: str = "Total") -> Hierarchy:
        """From digit-prefix levels: widths ``(3, 1, 1)`` read ``34120`` as ``341`` > ``3412`` > ``34120``."""
        if not widths or any(width < 1 for width in widths):
            raise HierarchyError(f"Level widths must be positive integers, not {list(widths)}.")
        parent: dict[str, str] = {}
        leaves = list(dict.fromkeys(str(code) for code in codes))
        ends = np.cumsum(widths).tolist()
        for code in leaves:
            if len(code) > ends[-1] or not code:
                raise HierarchyError(
                    f"Code {code!r} has {len(code)} characters; the levels {list(widths)} allow {ends[-1]}.", [code]
                )
            prefixes = dict.fromkeys(code[:end] for end in ends)
            parent.update(zip(prefixes, (total, *prefixes), strict=False))
        if total in parent:
            raise HierarchyError(f"The total {total!r} is also a code or prefix. Pass another total=.", [total])
        groups = sorted(set(leaves) & set(parent.values()))
        if groups:
            raise HierarchyError(
                f"Codes are also prefixes of other codes: {some(groups)}. Records must be coded at the finest level.",
                groups,
            )
        return cls.from_pairs(parent.items(), total)

    @classmethod
    def from_columns(cls, frame: Any, columns: Sequence[str], total: str = "Total") -> Hierarchy:
        """From nested columns of a data frame, coarse to fine, e.g. ``["sector", "branch", "class"]``."""
        distinct = frame[list(columns)].drop_duplicates()
        for column in columns:
            if distinct[column].isna().any():
                raise HierarchyError(f"Column {column!r} has missing codes: fill or drop them first.")
        parent: dict[str, str] = {}
        for row in distinct.itertuples(index=False):
            above = total
            for column, cell in zip(columns, row, strict=True):
                code = str(cell)
                if code == total:
                    raise HierarchyError(
                        f"Column {column!r} holds the code {total!r}. Leave totals out of the records; "
                        "if it is not a total, give the total another name (total).",
                        [total],
                    )
                if code == above:  # a code repeated at the next level is the same code
                    continue
                if parent.setdefault(code, above) != above:
                    raise HierarchyError(
                        f"Code {code!r} in column {column!r} lies in both {parent[code]!r} and {above!r}: "
                        "the columns do not nest.",
                        [code],
                    )
                above = code
        found = cls.from_pairs(parent.items(), total)
        return found.in_order([found.codes[i] for i in found.order()])

    @classmethod
    def join(cls, *hierarchies: Hierarchy) -> Hierarchy:
        """Several trees over the same leaves, e.g. two groupings of size classes."""
        leaves = [{h.codes[i] for i in np.flatnonzero(h.is_leaf)} for h in hierarchies]
        for other in leaves[1:]:
            if other != leaves[0]:
                different = sorted(other ^ leaves[0])
                raise HierarchyError(f"The trees do not share their leaves: {some(different)} differ.", different)
        return cls.union(*hierarchies)

    @classmethod
    def union(cls, *hierarchies: Hierarchy) -> Hierarchy:
        """All codes and all trees of several hierarchies, which may differ in their leaves, for linked tables."""
        if len({h.total for h in hierarchies}) != 1:
            raise HierarchyError(f"The totals have different names: {some(sorted({h.total for h in hierarchies}))}.")
        codes = tuple(dict.fromkeys(code for h in hierarchies for code in h.codes))
        index = {code: i for i, code in enumerate(codes)}
        trees: list[IntArray] = []
        for h in hierarchies:
            at = np.array([index[code] for code in h.codes])
            for parent in h.parents:
                tree = np.full(len(codes), ABSENT)
                tree[at] = np.where(parent >= 0, at[parent], parent)
                if not any(np.array_equal(tree, other) for other in trees):
                    trees.append(tree)
        missing = frozenset[str]().union(*(h.missing for h in hierarchies))
        return cls(codes, np.array(trees), merged_labels(*(h.labels for h in reversed(hierarchies))), missing)


def _repeated(codes: Iterable[str]) -> list[str]:
    return sorted(code for code, times in Counter(codes).items() if times > 1)


def _last_ancestors(parent: IntArray) -> tuple[IntArray, IntArray]:
    """For each code its last ancestor, or any code of a cycle, and the number of steps to it."""
    has_parent = parent >= 0
    at, steps = np.where(has_parent, parent, np.arange(len(parent))), has_parent.astype(np.int64)
    for _ in range(len(parent).bit_length()):  # the number of steps doubles in each pass
        at, steps = at[at], steps + steps[at]
    return at, steps
