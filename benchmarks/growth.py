"""How the time of the audit grows with the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.alone import alone
from benchmarks.patterns import GROWTH
from benchmarks.timing import size, timed

PLOT = Path(__file__).parents[1] / "docs" / "images" / "audit-growth.svg"
MODES = ("verdict", "intervals")


def measure(
    seed: int, cap: float, say: Callable[[str], None], series: Sequence[str] = tuple(GROWTH)
) -> list[dict[str, Any]]:
    """Every series from small to large; once a mode takes longer than the cap, larger tables are left out."""
    records = []
    for kind in series:
        over: set[str] = set()
        for instance in GROWTH[kind]:
            record: dict[str, Any] = {"series": kind, **(alone(size, instance.name, seed) or {})}
            for mode in MODES:
                run = None if mode in over else alone(timed, instance.name, seed, mode == "intervals", cap)
                if run is None:
                    over.add(mode)
                record[f"{mode}_s"] = run and round(run.cpu_s, 4)
                record[f"{mode}_exposed"] = run and run.exposed
            say("  ".join(f"{key} {value}" for key, value in record.items()))
            records.append(record)
    return records


def readable(record: dict[str, Any], cap: float) -> dict[str, str]:
    seconds = {
        f"{mode} s": f"> {cap:.0f}" if record[f"{mode}_s"] is None else f"{record[f'{mode}_s']:.3g}" for mode in MODES
    }
    counts = {name: f"{record[name]:,}" for name in ("cells", "primaries", "hidden")}
    return {"table": record["series"], **counts, **seconds}


def draw(
    records: Sequence[dict[str, Any]],
    path: Path,
    modes: Sequence[str] = MODES,
    ylabel: str = "CPU seconds of the audit",
) -> None:
    """Seconds of two modes over cells, both logarithmic."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams |= {"svg.hashsalt": "discreet", "svg.fonttype": "none"}  # equal figures, equal files; text stays text
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    looks = dict(zip(modes, (("o", "-"), ("s", "--")), strict=True))
    for colour, kind in zip(
        ("tab:blue", "tab:orange"), dict.fromkeys(record["series"] for record in records), strict=False
    ):
        for mode, (marker, line) in looks.items():
            points = [
                (record["cells"], record[f"{mode}_s"])
                for record in records
                if record["series"] == kind and record[f"{mode}_s"] is not None
            ]
            if points:
                label = f"{TITLES.get(kind, kind)}, {mode}"
                axes.plot(*zip(*points, strict=True), color=colour, marker=marker, linestyle=line, label=label)
    axes.set(xscale="log", yscale="log", xlabel="cells of the table", ylabel=ylabel)
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


TITLES = {"flat2d": "flat, 2 dimensions", "hier3d": "hierarchical, 3 dimensions"}
