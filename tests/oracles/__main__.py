"""``python -m tests.oracles --jobs 10000 --seed 0``: random jobs, run by the package and judged from what it writes."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.oracles.draw_jobs import METHODS
from tests.oracles.midpoint import suspicions
from tests.oracles.replay import try_replay
from tests.oracles.sessions import Tally, try_jobs

CHUNK = 25  # jobs that a worker takes at a time


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first of so many seeds")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--method", action="append", choices=METHODS, help="only this one; may be given again")
    parser.add_argument("--keep", type=Path, help="folder to keep the files of all jobs in")
    parser.add_argument("--refusals", action="store_true", help="list why jobs were refused")
    parser.add_argument(
        "--replay", type=int, default=0, help="also so many tiny tables, by an attacker who knows the method"
    )
    asked = parser.parse_args()
    methods = tuple(asked.method or METHODS)
    seeds = range(asked.seed, asked.seed + asked.jobs)
    chunks = [seeds[k : k + CHUNK] for k in range(0, len(seeds), CHUNK)]
    tally = Tally()
    with ProcessPoolExecutor(asked.workers) as pool:
        for part in pool.map(try_jobs, chunks, [methods] * len(chunks), [asked.keep] * len(chunks)):
            tally.cases += part.cases
            for case, one in part.violations:
                print(f"seed {case.seed} ({case.method}, {case.kind}): {one}", flush=True)
    print(tally.summary())
    if asked.refusals:
        refused = [case for case in tally.cases if case.outcome == "refused"]
        for (method, why), n in Counter(
            (c.method, c.message.strip().splitlines()[0][:150]) for c in refused
        ).most_common(40):
            print(f"{n:6,} {method}: {why}")
    suspicious = suspicions(tally.cases) + _replayed(range(asked.seed, asked.seed + asked.replay))
    for line in suspicious:
        print(line)
    return 1 if tally.violations or suspicious else 0


def _replayed(seeds: range) -> list[str]:
    """Violations of tiny tables that are replayed."""
    found, seen = [], Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            one = try_replay(seed, Path(folder))
        seen[one.method, one.outcome] += 1
        if one.violation is not None:
            found.append(f"replay seed {seed}: {one.violation}")
    for (method, outcome), n in sorted(seen.items()):
        print(f"{n:6,} tiny tables by {method}: {outcome}")
    return found


if __name__ == "__main__":
    sys.exit(main())
