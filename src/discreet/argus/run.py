"""Runs batch files of τ-ARGUS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.argus.parser import read_batch
from discreet.argus.paths import Paths, Say
from discreet.argus.session import ArgusSession
from discreet.argus.work import Work
from discreet.errors import plural
from discreet.progress import Progress, Silent


@dataclass(frozen=True)
class ArgusResult:
    """What a batch file led to: its tables, the files written, and whether all audits passed."""

    works: tuple[Work, ...]
    files: tuple[Path, ...]
    public: tuple[Path, ...]
    passed: bool
    log: tuple[str, ...]

    def __repr__(self) -> str:
        return f"ArgusResult({plural(len(self.works), 'table')}, {plural(len(self.files), 'file')})"


def run_batch(
    path: str | Path,
    *,
    out: Path | None = None,
    progress: Progress | None = None,
    say: Say = lambda _: None,
    writes: bool = True,
    contributions: bool = False,
) -> ArgusResult:
    """Run a batch file. All outputs are written at the end, together; if an error ends the job, none is written.

    With ``contributions`` those of all respondents are stored, also if no singleton option asks for them.
    """
    path = Path(path)
    commands = read_batch(path)
    lines: list[str] = []

    def log(line: str) -> None:
        lines.append(line)
        say(line)

    paths = Paths(path.parent, out or path.parent, log, {path.resolve()})
    session = ArgusSession(path, paths, log, progress or Silent(), lines=lines, contributions=contributions)
    session.run(commands, writes=writes)
    works = (*session.finished, *session.works)
    passed = not session.exposed_together and all(one.passed for one in works if one.protection is not None)
    files = session.write() if writes else []
    public = tuple(file.path for file in session.files if file.public)
    return ArgusResult(works, tuple(files), public, passed and not session.refused, tuple(lines))
