"""Random jobs: small surveys of all kinds with rules, a method and settings, written as files; the same seed, the same job."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracles.trees import Tree

SUPPRESSING = ("kelly", "hypercube", "modular", "guided", "auto", "optimal")
METHODS = (
    *SUPPRESSING,
    "intervals",
    "combined",
    "perturb",
    "adjust",
    "round",
    "random-round",
    "cell-key",
    "small-counts",
)
SHARES = (22, 6, 6, 5, 5, 6, 13, 6, 7, 7, 6, 3, 4, 4)  # of the methods, in percent
COUNTING = ("round", "random-round", "cell-key", "small-counts")  # methods for tables of counts
KEYS = 2**24  # of records, for cell keys


@dataclass
class Draw:
    """A job before it is written."""

    seed: int
    method: str
    kind: str
    trees: dict[str, Tree]
    deep: dict[str, bool]
    records: list[dict[str, Any]] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)
    protect: dict[str, Any] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)
    statuses: list[tuple[str, str]] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Records, hierarchies and job file; returns the path of the latter."""
        folder.mkdir(parents=True, exist_ok=True)
        _write_csv(folder / "records.csv", [list(self.records[0]), *([*row.values()] for row in self.records)])
        lines = [f"{name} = {_toml(value)}" for name, value in self.top.items()]
        sections: dict[str, dict[str, Any]] = {"data": {"file": "records.csv", **self.data}}
        for name, tree in self.trees.items():
            sections[f"dimensions.{name}"] = {}
            if self.deep[name]:
                rows = [[code, "" if parent == tree.total else parent] for code, parent in tree.parent.items()]
                _write_csv(folder / f"{name}.csv", [["code", "parent"], *rows])
                sections[f"dimensions.{name}"] = {"hierarchy": f"{name}.csv"}
        if self.statuses:
            _write_csv(folder / "statuses.csv", [["cell", "status"], *map(list, self.statuses)])
            self.rules["statuses"] = "statuses.csv"
        sections |= {"rules": self.rules, "protect": {"method": self.method, **self.protect}, "output": self.output}
        for section, entries in sections.items():
            lines += ["", f"[{section}]", *(f"{name} = {_toml(value)}" for name, value in entries.items())]
        (folder / "job.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder / "job.toml"


def draw(seed: int, methods: tuple[str, ...] = METHODS) -> Draw:
    """One job; the seed decides about everything."""
    rng = np.random.default_rng([18, seed])
    shares = np.array([SHARES[METHODS.index(method)] for method in methods], dtype=float)
    method = str(rng.choice(methods, p=shares / shares.sum()))
    counts = method in COUNTING or (method not in ("perturb", "adjust", "combined") and rng.random() < 0.25)
    linked = method in SUPPRESSING and rng.random() < 0.12
    n_dims = 3 if linked else int(rng.choice([1, 2, 3], p=[0.1, 0.65, 0.25]))
    trees, deep = {}, {}
    for name in "abc"[:n_dims]:
        deep[name] = bool(rng.random() < 0.9 if n_dims < 3 else rng.random() < 0.6)
        trees[name] = _tree(rng, name, small=n_dims == 3, levels=deep[name] and not linked and rng.random() < 0.5)
    kind = ("counts" if counts else "magnitudes") + (" linked" if linked else f" {n_dims}-d")
    job = Draw(seed, method, kind, trees, deep, output={"folder": "out", "formats": ["csv"]})
    if linked:
        cyclic = rng.random() < 0.75
        job.top["tables"] = [["a", "b"], ["b", "c"], ["a", "c"]] if cyclic else [["a", "b"], ["b", "c"]]
        job.kind += " cyclic" if cyclic else " acyclic"
    (_counts if counts else _magnitudes)(job, rng)
    _settings(job, rng, counts, linked)
    return job


def _tree(rng: np.random.Generator, name: str, *, small: bool, levels: bool) -> Tree:
    """Flat, or with groups of one to three codes."""
    n = int(rng.integers(2, 4)) if small else int(rng.integers(3, 6))
    if not levels:
        return Tree("Total", {f"{name}{k}": "Total" for k in range(n)})
    parent: dict[str, str] = {}
    for g in range(2 if small else int(rng.integers(2, 4))):
        group = f"{name}{'ABC'[g]}"
        parent[group] = "Total"
        parent |= {f"{group}{k}": group for k in range(int(rng.integers(1, 3 if small else 4)))}
    return Tree("Total", parent)


def _places(job: Draw, rng: np.random.Generator, per_cell: float) -> list[tuple[str, ...]]:
    """Finest cells of the records: some cells have many, some have none."""
    cells = list(product(*(tree.leaves for tree in job.trees.values())))
    size = rng.gamma(0.8, 1.0, len(cells)) * (rng.random(len(cells)) < rng.uniform(0.6, 1.0))
    numbers = rng.poisson(per_cell * size)
    if not numbers.any():
        numbers[0] = 2
    return [cell for cell, n in zip(cells, numbers, strict=True) for _ in range(n)]


def _counts(job: Draw, rng: np.random.Generator) -> None:
    keys = job.method == "cell-key"
    for place in _places(job, rng, rng.uniform(2, 6)):
        row = dict(zip(job.trees, place, strict=True))
        job.records.append(row | ({"key": int(rng.integers(KEYS))} if keys else {}))
    if keys:
        job.data["extra"] = ["key"]
    if job.method not in (*SUPPRESSING, "intervals"):
        return
    if rng.random() < 0.25:  # some respondents have several records
        job.kind += " holdings"
        job.data["holding"] = "group"
        groups = max(2, int(len(job.records) * rng.uniform(0.5, 1)))
        job.records = [row | {"group": f"G{int(rng.integers(groups))}"} for row in job.records]
    elif rng.random() < 0.15:
        job.kind += " weights"
        job.data |= {"weight": "weight", "weights": str(rng.choice(["known", "secret"]))}
        choice = ["1", "1", "1", str(rng.choice(["2", "1.5"]))]
        job.records = [row | {"weight": str(rng.choice(choice))} for row in job.records]


def _magnitudes(job: Draw, rng: np.random.Generator) -> None:
    kind = str(rng.choice(["plain", "zeros", "cents", "huge", "signed"], p=[0.5, 0.15, 0.15, 0.1, 0.1]))
    weighted, holdings = rng.random() < 0.15, rng.random() < 0.35
    in_several = rng.random() < 0.4
    job.kind += "" if kind == "plain" else f" {kind}"
    job.kind += " weights" if weighted else ""
    places = _places(job, rng, rng.uniform(2, 5))
    n_firms = max(2, int(len(places) * (0.6 if in_several else 1)))
    for k, place in enumerate(places):
        value: float = float(np.ceil(rng.lognormal(3, 1.2)))
        if kind == "zeros" and rng.random() < 0.25:
            value = 0
        elif kind == "cents":
            value = round(value * rng.uniform(0.1, 2), 2)
        elif kind == "huge" and rng.random() < 0.3:
            value *= 10.0 ** rng.integers(6, 11)
        elif kind == "signed" and rng.random() < 0.15:
            value = -value
        firm = int(rng.integers(n_firms)) if in_several else k
        row = dict(zip(job.trees, place, strict=True)) | {"firm": f"F{firm}"}
        row["value"] = f"{value:.2f}" if kind == "cents" else int(value)
        if weighted:
            row["weight"] = rng.choice(["1", "1", "1.1", "2.5", "10"])
        if holdings:
            row["holding"] = f"H{firm % 4}" if firm % 3 == 0 else ""
        job.records.append(row)
    job.data |= {"response": "value", "contributor": "firm"}
    job.data |= {"weight": "weight"} if weighted else {}
    job.data |= {"holding": "holding"} if holdings else {}
    if kind in ("cents", "huge") and rng.random() < 0.4:
        job.output["decimals"] = int(rng.choice([1, 0, -1])) if kind == "cents" else int(rng.choice([0, -1, -2]))
        job.kind += " decimals"


def _settings(job: Draw, rng: np.random.Generator, counts: bool, linked: bool) -> None:
    if counts:
        n = int(rng.choice([2, 3, 4], p=[0.1, 0.7, 0.2]))
        width = job.method in ("cell-key", "small-counts", "random-round") or rng.random() < 0.1
        job.rules["sensitive"] = [f"FREQ({n},20,{n - 1})" if width else f"FREQ({n})"]
        if rng.random() < 0.2:
            job.rules["zeros"] = "suppressible"
        if job.method == "cell-key":
            job.protect["options"] = {"deviation": 3, "variance": 1.0, "announced": 3 + n - 1}
        elif job.method == "small-counts":
            job.protect["options"] = {"base": n} if n > 2 else {"base": 2}
        elif job.method in ("round", "random-round"):
            job.protect["options"] = {"base": int(rng.choice([3, 5, 10]))}
    else:
        job.rules["sensitive"] = [str(one) for one in _rules(rng)]
        if "weight" in job.data and rng.random() < 0.3:
            job.data["weights"] = "secret"
            job.rules["sensitive"] += ["WFREQ(4)"] if rng.random() < 0.5 else []
        if "zeros" in job.kind and rng.random() < 0.4:
            job.rules["sensitive"].append("ZERO(10)")
        if rng.random() < 0.06:
            job.rules["zeros"] = "published"
        if rng.random() < 0.15:
            job.rules["boundary"] = "inclusive"
        if rng.random() < 0.08:
            job.rules["prior"] = int(rng.choice([50, 80]))
        if rng.random() < 0.06 and not linked:
            place = job.records[int(rng.integers(len(job.records)))]
            job.statuses = [(" × ".join(place[name] for name in job.trees), "primary")]
            job.rules["margin"] = int(rng.choice([0, 10, 20]))
        level = rng.choice(["cells", "contributions", "unset"], p=[0.3, 0.35, 0.35])
        if linked or job.method not in SUPPRESSING:
            level = "cells"
        elif job.rules["sensitive"][0].startswith("FREQ"):
            level = "unset"
        if level != "unset":
            job.protect["level"] = str(level)
        job.kind += " respondents" if level != "cells" else ""
        if job.method == "combined":
            ways = [
                {"interval": "finest"},
                {"interval": "totals"},
                {"interval": "totals", "round": "finest", "base": 5},
            ]
            job.protect["options"] = ways[int(rng.integers(3))]
    if rng.random() < 0.9:
        job.output["attacks"] = []  # they take seconds
    if rng.random() < 0.06:
        job.output["formats"] = ["csv", "xlsx"]
    if job.method in ("optimal", "auto", "guided", "intervals", "combined", "perturb", "adjust", "round"):
        job.protect["time_limit"] = 5  # what is judged is safety, not how cheap it is
    if rng.random() < 0.3:
        job.protect["cost"] = str(rng.choice(["unit", "log"]))


def _rules(rng: np.random.Generator) -> list[str]:
    about = [["P(10)"], ["P(15)"], ["P(30)"], ["PQ(10,50)"], ["NK(1,75)"], ["NK(2,85)"], ["P(15,2)"], []]
    chosen = about[int(rng.choice(len(about), p=[0.2, 0.2, 0.1, 0.1, 0.1, 0.15, 0.05, 0.1]))]
    few = ["FREQ(3)", "FREQ(3,0)", "FREQ(2,10)"]
    if not chosen or rng.random() < 0.5:
        chosen = [*chosen, few[int(rng.choice(3, p=[0.6, 0.25, 0.15]))]]
    return chosen


def _write_csv(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_toml(one)}' for name, one in value.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)
