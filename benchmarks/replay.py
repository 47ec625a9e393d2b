"""How often an attacker who knows the method is surer than rules allow. Run `python -m benchmarks.replay --help`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet import attacks
from discreet.attacks.limitations import replay_counts
from discreet.data.hierarchy import Hierarchy
from discreet.data.record_keys import N_KEYS
from discreet.data.table import Table
from discreet.errors import NoSafePatternError
from discreet.methods import protect, uses_secret, with_options
from discreet.problem import Problem
from discreet.progress import Silent
from discreet.protection import Protection
from discreet.testing import pose

LEVEL = 0.4  # share of a value that must stay possible below and above it
UNIT = ("kelly, cost unit", "kelly, cost unit, secret seed")  # otherwise the cost is the value
# Of each method: the shape of its tables, its options, and whether it draws with a secret. What changes all cells leaves very
# many tables possible, so its tables are smaller.
METHODS: dict[str, tuple[tuple[int, ...], str, dict[str, Any], bool]] = {
    "kelly": ((3, 3), "kelly", {}, False),
    UNIT[0]: ((3, 3), "kelly", {}, False),
    UNIT[1]: ((3, 3), "kelly", {}, True),
    "optimal": ((3, 3), "optimal", {}, False),
    "intervals": ((2,), "intervals", {}, True),
    "round": ((2,), "round", {"base": 5}, False),
    "random-round": ((2, 2), "random-round", {"base": 5}, True),
    "random-round, secret known": ((2, 2), "random-round", {"base": 5}, False),
    "perturb": ((2,), "perturb", {}, True),
    "adjust": ((2,), "adjust", {}, True),
    "cell-key": ((2, 2), "cell-key", {}, True),
}
COLUMNS = (
    "method",
    "tables",
    "stated",
    "all_tried",
    "sensitive",
    "narrower",
    "before",
    "ruled_out",
    "ruled_out_before",
)


def posed(shape: tuple[int, ...], seed: int) -> Problem:
    """Counts from 3 to 9, one of them sensitive; suppressing a cell costs its value."""
    rng = np.random.default_rng(seed)
    dimensions = {name: Hierarchy.flat([f"{name}{i}" for i in range(n)]) for name, n in zip("ab", shape, strict=False)}
    value = summed(rng.integers(3, 10, shape).astype(float))
    table = Table.from_cells(
        dimensions,
        np.indices([n + 1 for n in shape]).reshape(len(shape), -1),
        value,
        is_count=True,
        count=value.astype(np.int64),
        extra={"key": summed(rng.integers(N_KEYS, size=shape).astype(float))},
    )
    cell = int(rng.choice(np.flatnonzero(table.is_base)))
    return pose(table, {table.label(cell): float(np.ceil(LEVEL * value[cell]))})


def summed(inner: np.ndarray) -> np.ndarray:
    """With totals, which come first in every dimension."""
    for axis in range(inner.ndim):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    return np.asarray(inner.ravel())


def measured(name: str, tables: int, seconds: float) -> dict[str, Any]:
    """Counts of sensitive cells over many tables; those without a statement count in ``tables`` alone."""
    shape, method, options, secret = METHODS[name]
    record: dict[str, Any] = dict.fromkeys(COLUMNS, 0) | {"method": name}
    seed = 0
    while record["tables"] < tables:
        problem, seed = posed(shape, seed), seed + 1
        if name in UNIT:
            problem = problem.with_columns(cost=np.ones(len(problem)))
        try:
            found = protect(problem, with_options(method, **options))
        except NoSafePatternError:
            continue
        recipe = attacks.Recipe.of(found, with_options(method, **options), secret=secret)
        if uses_secret(recipe.method) and not secret:  # it has become known
            found = recipe.protect(problem, recipe.seed, Silent())
        record["tables"] += 1
        counted = attacked(found, recipe, seconds)
        if counted is None:
            continue
        record["stated"] += 1
        record["all_tried"] += counted["all_tables"]
        record["before"] += counted["narrower_before"]
        for column in ("sensitive", "narrower", "ruled_out", "ruled_out_before"):
            record[column] += counted[column]
    return record


def attacked(found: Protection, recipe: attacks.Recipe, seconds: float) -> dict[str, Any] | None:
    return replay_counts(attacks.run(found, ["replay"], knows=attacks.Knowledge(recipe=recipe, seconds=seconds)))


def readable(line: dict[str, str]) -> dict[str, str]:
    share = {name: f"{int(line[name]):,}" for name in COLUMNS[1:]}
    return {"method": line["method"], **{name.replace("_", " "): text for name, text in share.items()}}


@click.command()
@click.option("--method", "names", multiple=True, type=click.Choice(list(METHODS)), help="Default: all.")
@click.option("--tables", default=200, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="For each table.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(names: tuple[str, ...], tables: int, seconds: float, out: Path) -> None:
    """Measure, and write benchmarks/results/replay.csv."""
    here = machine()
    for name in names or METHODS:
        update_csv(out / "replay.csv", measured(name, tables, seconds) | {"limit_s": seconds} | here, ("method",))
        click.echo(markdown([readable(line) for line in read_csv(out / "replay.csv")]))


if __name__ == "__main__":
    main()
