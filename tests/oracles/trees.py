"""Hierarchies as the judge reads them: codes and their parents."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Tree:
    """The codes of one dimension, each with its parent; the total has none."""

    total: str
    parent: dict[str, str]

    @classmethod
    def flat(cls, codes: Iterable[str], total: str) -> Tree:
        return cls(total, dict.fromkeys(sorted(set(codes) - {total}), total))

    @classmethod
    def read(cls, path: Path, total: str) -> Tree:
        """From a CSV file with the columns ``code`` and ``parent``; no parent: right below the total."""
        with path.open(newline="", encoding="utf-8-sig") as file:
            return cls(total, {row["code"]: row["parent"] or total for row in csv.DictReader(file)})

    @cached_property
    def codes(self) -> list[str]:
        return [self.total, *self.parent]

    @cached_property
    def leaves(self) -> list[str]:
        groups = set(self.parent.values())
        return [code for code in self.parent if code not in groups]

    def above(self, code: str) -> list[str]:
        """The code and all codes that contain it."""
        found = [code]
        while found[-1] != self.total:
            found.append(self.parent[found[-1]])
        return found

    @cached_property
    def below(self) -> dict[str, list[str]]:
        """For each code the finest codes that it contains."""
        found: dict[str, list[str]] = {code: [] for code in self.codes}
        for leaf in self.leaves:
            for code in self.above(leaf):
                found[code].append(leaf)
        return found
