"""Which primaries are exposed when only they are suppressed, and whether protecting some of them protects all.

``python -m benchmarks.exposure FOLDER`` prints the table of docs/reference/exposure.md for the JJ files in a folder;
``python -m benchmarks.exposure --random 30`` the one about candidates in docs/explanation/audit.md.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import click
import numpy as np

from discreet.arrays import BoolArray
from discreet.audit import audit, exposure
from discreet.errors import NoSafePatternError
from discreet.io import read_problem
from discreet.methods import protect
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import (
    cross_table,
    pose,
    random_hierarchy,
    random_linked_table,
    random_problem,
    random_table,
    suppressing,
)

Row = dict[str, str]


def jj_files(folder: Path) -> Iterator[Row]:
    exposed("warm-up", pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {"a × c": 1.0}))
    for file in sorted(folder.iterdir()):
        name, is_jj, _ = file.name.partition(".jj")
        if is_jj:
            yield exposed(name, read_problem(file))


def exposed(name: str, problem: Problem) -> Row:
    """Counts, and processor time of looking at single relations and of the exact audit of all primaries."""
    pattern = suppressing(problem)
    begun = time.process_time()
    checked = audit(problem, pattern)
    solved = time.process_time()
    count = exposure(problem, pattern, checked=checked).counts()
    done = time.process_time()
    figures = {
        "cells": len(problem),
        "primaries": count["primaries"],
        "exposed": count["exposed"],
        "unpicked": count["unpicked"],
        "fully": count["fully"],
        "K1": count["k1"],
        "K3": count["k3"],
        "K5": count["k5"],
    }
    seconds = {"unpicking s": f"{done - solved:.2f}", "LP s": f"{solved - begun:.2f}"}
    return {"instance": name} | {key: f"{figure:,}" for key, figure in figures.items()} | seconds


# -- does protecting the candidates protect all? ---------------------------------------------------------------

TABLES = {
    "2-D": lambda rng: random_table(rng, (5, 5)),
    "2-D, larger": lambda rng: random_table(rng, (10, 8)),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 8, levels=3), 5)),
    "3-D": lambda rng: random_table(rng, (3, 4, 4)),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 5, levels=2), 3, 3)),
    "linked": lambda rng: random_linked_table(rng, (4, 4, 4)),
}
VARIANTS = ("plain", "sliding", "priors")
CANDIDATES = {"E": "exposed", "K1": "k1", "K3": "k3", "K5": "k5"}


def random_problems(each: int) -> Iterator[Problem]:
    """So many of each kind of table and levels that have a safe pattern."""
    for kind, variant, seed in product(range(len(TABLES)), range(len(VARIANTS)), range(each)):
        rng = np.random.default_rng([seed, kind, variant])
        table = list(TABLES.values())[kind](rng)
        problem = random_problem(
            rng,
            table,
            primaries=float(rng.choice([0.1, 0.2, 0.3])),
            sliding=VARIANTS[variant] == "sliding",
            prior="mixed" if VARIANTS[variant] == "priors" else "sign",
            must_publish=0.0,
        )
        try:
            protect(problem)
        except NoSafePatternError:
            continue
        if len(problem.primaries):
            yield problem


def candidates(each: int) -> Iterator[Row]:
    tables, failures, left_out = 0, Counter[str](), Counter[str]()
    for problem in random_problems(each):
        tables += 1
        found = exposure(problem)
        for name, flag in CANDIDATES.items():
            chosen = getattr(found, flag)
            left_out[name] += 1 - chosen.mean()
            failures[name] += not suffices(problem, chosen)
    for name in CANDIDATES:
        share = f"{100 * left_out[name] / tables:.1f} %"
        yield {"candidates": name, "primaries left out": share, f"of {tables:,} tables exposed": str(failures[name])}


def suffices(problem: Problem, chosen: BoolArray) -> bool:
    """Whether a pattern that protects the chosen primaries, with the others just suppressed, protects all."""
    status = problem.status.copy()
    status[problem.primaries[~chosen]] = Status.SUPPRESSED
    pattern = protect(problem.with_columns(status=status)).suppressed
    return audit(problem, suppress(problem, pattern), intervals=False).passed


def show(rows: Iterable[Row]) -> None:
    for number, row in enumerate(rows):
        if not number:
            click.echo(f"| {' | '.join(row)} |\n|---" + "|---:" * (len(row) - 1) + "|")
        click.echo(f"| {' | '.join(row.values())} |")


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--random", "each", type=click.IntRange(1), help="Try the candidates on so many random tables a kind.")
def main(folder: Path | None, each: int | None) -> None:
    """Attack every JJ file in FOLDER with only its primaries hidden."""
    if folder:
        show(jj_files(folder))
    if each:
        show(candidates(each))


if __name__ == "__main__":
    main()
