"""Files that a batch file names, often by paths of another system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PureWindowsPath

from discreet.errors import FormatError

Say = Callable[[str], None]


@dataclass
class Paths:
    """Finds the files of a job. Names are relative to ``folder``, in any capitals and with either slash.

    A file of a path that does not exist here, such as ``C:\\data\\survey.asc``, is looked for by its name in ``folder``; if it is
    an output, it is written into ``out`` under its name.
    """

    folder: Path
    out: Path
    say: Say
    read: set[Path] = field(default_factory=set)

    def existing(self, name: str, *, beside: Path | None = None) -> Path:
        """The file of this name, relative to ``folder`` or to the folder ``beside``."""
        folders = [self.folder] if beside is None else [beside, self.folder]
        plain = name.replace("\\", "/")
        for folder in folders:
            found = _in_any_capitals(folder / plain)
            if found is not None:
                self.read.add(found.resolve())
                return found
        for folder in folders:
            found = _in_any_capitals(folder / PureWindowsPath(name).name)
            if found is not None:
                self.say(f"{name}: there is no such path here; {found.name} beside the job is read")
                self.read.add(found.resolve())
                return found
        names = sorted(
            {path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file()}
        )
        similar = get_close_matches(PureWindowsPath(name).name, names, n=1)
        raise FormatError(f"file {name} does not exist.{f' Did you mean {similar[0]}?' if similar else ''}", [name])

    def output(self, name: str) -> Path:
        """The path to write to. Paths of Windows, and folders that do not exist, become the name in ``out``."""
        plain = Path(name.replace("\\", "/"))
        foreign = bool(PureWindowsPath(name).drive)
        path = self.out / (PureWindowsPath(name).name if foreign else plain)
        if not path.parent.is_dir():
            path, foreign = self.out / plain.name, True
        if foreign:
            self.say(f"{name}: there is no such folder here; written as {path.name} beside the other results")
        self.check_output(path)
        return path

    def check_output(self, path: Path) -> None:
        """Raise if the job reads the file."""
        if path.resolve() in self.read:
            raise FormatError(
                f"{path.name} is a file that the job reads: choose another name for the output.", [path.name]
            )


def _in_any_capitals(path: Path) -> Path | None:
    """The file at a path, or the only one whose name differs in capitals alone; None if there is none."""
    if path.is_file():
        return path
    if not path.parent.is_dir():
        return None
    alike = [one for one in path.parent.iterdir() if one.name.lower() == path.name.lower() and one.is_file()]
    return alike[0] if len(alike) == 1 else None
