"""Two versions of the source beside each other: every method on every problem, with the same seed, secret and limit.

    python -m benchmarks.before_after --before OTHER_CHECKOUT --data FOLDER --out rows.csv [--time-limit 10]
    python -m benchmarks.before_after --table rows.csv

Both versions run the same job at the same time, one process each, so that other work on the machine slows both down alike.
A row is worse if the verdict is, if the cost or the processor time is larger, or the bound smaller, by more than 5 %.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from discreet.io import read_problem
from discreet.methods import METHODS

HERE = Path(__file__).parent.parent
# Small problems only: the others exceed any limit ("hopeless beyond" in their documentation).
ONE_PROGRAM = ("first-model", "intervals-first-model", "round-first-model", "perturb-first-model")
LARGEST_FOR_ONE_PROGRAM = 12_000  # bytes of the compressed file
WORSE = 0.05  # share by which a figure may be worse
START_SECONDS = 0.5  # differences in processor time below this are those of starting a process
FIELDS = ("method", "instance", "version", "status", "cost", "bound", "safe", "cpu_seconds", "seconds")
SECRET = "f5fbd28f77098cd3e707b7b4e5b73327fdfa7c8cf8fddaafaa2bcc1766eeac51"  # drawn once; it protects nothing


@cache
def largest_level(problem: Path) -> float:
    """Of the sensitive cells of a problem."""
    posed = read_problem(problem)
    levels = posed.levels(posed.attackers()[0])[:, posed.primaries]
    return float(levels.max(initial=0.5))


def options(method: str, problem: Path) -> list[str]:
    """A base that leaves every sensitive cell its level, for methods that round."""
    if "round" not in method:
        return []
    base = 10.0 ** math.ceil(math.log10(2 * largest_level(problem)))
    return [f"base={base:g}", *(["relax=true"] if method == "round" else [])]


def started(source: Path, method: str, problem: Path, folder: Path, time_limit: float) -> subprocess.Popen[bytes]:
    """The process that protects a problem by one version."""
    folder.mkdir()
    secret = folder / "secret.txt"
    secret.write_text(SECRET + "\n", encoding="utf-8")
    secret.chmod(0o600)
    command = [sys.executable, "-m", "discreet", "protect", str(problem), "--method", method, "--quiet"]
    command += ["--time-limit", f"{time_limit:g}", "--seed", "0", "--secret", str(secret)]
    command += ["--out", str(folder / "pattern.csv"), "--report", str(folder / "report.json")]
    command += [word for option in options(method, problem) for word in ("--option", option)]
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
    output = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=output, stderr=output)


def finished(process: subprocess.Popen[bytes], folder: Path) -> dict[str, object]:
    """What a process reported, and the processor time it took."""
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    report = folder / "report.json"
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    row: dict[str, object] = {name: found.get(name) for name in ("status", "cost", "bound", "safe", "seconds")}
    row["status"] = row["status"] or f"exit code {process.returncode}"
    row["cpu_seconds"] = round(used.ru_utime + used.ru_stime, 2)
    return row


def measured(sources: dict[str, Path], method: str, problem: Path, time_limit: float) -> Iterator[dict[str, object]]:
    """One row per version."""
    with tempfile.TemporaryDirectory() as folder:
        running = {
            version: started(source, method, problem, Path(folder, version), time_limit)
            for version, source in sources.items()
        }
        for version, process in running.items():
            row = finished(process, Path(folder, version))
            yield {"method": method, "instance": problem.name.removesuffix(".jj.gz"), "version": version, **row}


def run(before: Path, data: Path, out: Path, methods: Sequence[str], instances: Sequence[str], limit: float) -> None:
    """Append the rows to ``out``; what is in it already is not measured again."""
    problems = sorted((data / "jj").glob("*.jj.gz"), key=lambda path: path.stat().st_size)
    done = set()
    if out.exists():
        with out.open(newline="", encoding="utf-8") as file:
            done = {(row["method"], row["instance"]) for row in csv.DictReader(file)}
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for problem in problems:
            name = problem.name.removesuffix(".jj.gz")
            for method in methods:
                too_large = method in ONE_PROGRAM and problem.stat().st_size > LARGEST_FOR_ONE_PROGRAM
                if too_large or (instances and name not in instances) or (method, name) in done:
                    continue
                writer.writerows(measured({"before": before, "after": HERE}, method, problem, limit))
                file.flush()


def table(rows: Path) -> Iterator[str]:
    """The rows in Markdown, a pair per line, with what is worse."""
    with rows.open(newline="", encoding="utf-8") as file:
        pairs: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
        for row in csv.DictReader(file):
            pairs.setdefault((row["method"], row["instance"]), {})[row["version"]] = row
    yield "| method | problem | status | cost | bound | safe | CPU s | worse |"
    yield "|---|---|---|---|---|---|---|---|"
    for (method, instance), both in sorted(pairs.items()):
        if len(both) == 2:
            cells = [_both(both["before"][name], both["after"][name]) for name in FIELDS[3:8]]
            yield f"| `{method}` | {instance} | {' | '.join(cells)} | {', '.join(worse(both))} |"


def _both(before: str, after: str) -> str:
    short = [f"{float(text):.6g}" if text.replace(".", "").isdigit() else text or "–" for text in (before, after)]
    return short[0] if short[0] == short[1] else " → ".join(short)


def worse(both: dict[str, dict[str, str]]) -> list[str]:
    """The figures that got worse."""
    before, after = both["before"], both["after"]
    found = ["safe"] if before["safe"] == "True" and after["safe"] != "True" else []
    for name, sign, least in (("cost", 1, 0.0), ("bound", -1, 0.0), ("cpu_seconds", 1, START_SECONDS)):
        if before[name] and after[name]:
            old, new = float(before[name]), float(after[name])
            if sign * (new - old) > max(WORSE * abs(old), least):
                found.append(name)
        elif before[name] and name != "bound":
            found.append(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--data", type=Path, help="folder with the folder jj")
    parser.add_argument("--out", type=Path, default=Path("before_after.csv"))
    parser.add_argument("--method", action="append", choices=list(METHODS), default=[])
    parser.add_argument("--instance", action="append", default=[])
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--table", type=Path, help="print the rows of this file instead")
    given = parser.parse_args()
    if given.table:
        print("\n".join(table(given.table)))
    else:
        methods = given.method or list(METHODS)
        run(given.before.resolve(), given.data.resolve(), given.out, methods, given.instance, given.time_limit)


if __name__ == "__main__":
    main()
