"""Reading and writing files. Each format has its own module; FORMATS lists them by suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

from discreet.drafts import draft_file, is_draft
from discreet.errors import FormatError, some
from discreet.io import bundle, csv, csvw, excel, jj, jsonstat, parquet, pcaxis
from discreet.io.release_check import check_written
from discreet.io.sdmx import csv1, csv2, ml, structure
from discreet.io.sdmx.transmission import write_transmission as write_transmission_edition
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.release import Release

FORMATS: Mapping[str, ModuleType] = {
    ".csv": csv,
    ".parquet": parquet,
    ".xlsx": excel,
    ".px": pcaxis,
    ".json": jsonstat,
    ".csv-metadata.json": csvw,
    ".sdmx.csv": csv2,
    ".sdmx1.csv": csv1,
    ".sdmx.xml": ml,
    ".sdmx-structure.xml": structure,
    ".jj": jj,
    ".jj.gz": jj,
    ".discreet": bundle,
}

# The formats of releases as a job names them.
RELEASE_FORMATS: Mapping[str, str] = {
    "csv": ".csv",
    "xlsx": ".xlsx",
    "parquet": ".parquet",
    "px": ".px",
    "json-stat": ".json",
    "csvw": ".csv-metadata.json",
    "sdmx-csv": ".sdmx.csv",
    "sdmx-csv-1": ".sdmx1.csv",
    "sdmx-ml": ".sdmx.xml",
    "sdmx-structure": ".sdmx-structure.xml",
}
ONE_TABLE = ("px",)  # formats that hold one table: linked tables have a file each
NEEDS_SDMX_IDS = (
    "sdmx-csv",
    "sdmx-csv-1",
    "sdmx-ml",
    "sdmx-structure",
)  # formats that name the agency and the dataflow


def read_problem(path: str | Path) -> Problem:
    """A problem from a JJ file or a ``.discreet`` bundle."""
    return _format(path, "read_problem").read_problem(path)  # type: ignore[no-any-return]


def write_problem(problem: Problem, path: str | Path) -> None:
    """Write a problem to a JJ file or a ``.discreet`` bundle."""
    with writing(path) as draft:
        _format(path, "write_problem").write_problem(problem, draft)


def write_release(release: Release, path: str | Path, *, name: str = "") -> None:
    """Write a release in the format of the file name. What was written is read again before it replaces another file.

    ``name`` is the name that the file will have if ``path`` is a draft.
    """
    module = _format(path, "write_release")
    with writing(path, public=True) as draft:
        if module is csvw:  # it names the CSV file beside it
            csvw.write_release(release, draft, name or Path(path).name)
        else:
            module.write_release(release, draft)
        check_written(release, draft)


def write_transmission(
    problem: Problem, protection: Protection, release: Release, path: str | Path, *, name: str = ""
) -> None:
    """Write the transmission edition of a release: SDMX with the reason why each cell is suppressed. Confidential."""
    with writing(path) as draft:
        write_transmission_edition(problem, protection, release, draft, (name or Path(path).name).lower())


def _format(path: str | Path, task: str) -> ModuleType:
    """The module for the suffix of a file that has the function ``task``."""
    name = Path(path).name.lower()
    for suffix in sorted(FORMATS, key=len, reverse=True):
        if name.endswith(suffix) and hasattr(FORMATS[suffix], task):
            return FORMATS[suffix]
    able = [suffix for suffix, module in FORMATS.items() if hasattr(module, task)]
    raise FormatError(
        f"{path}: cannot {task.replace('_', ' a ')} with this file name. It must end in one of {some(able, 9)}."
    )


@contextmanager
def writing(path: str | Path, *, public: bool = False) -> Iterator[Path]:
    """A draft that replaces the file at ``path`` when it is complete; after a failure the old file is unchanged.

    Only its owner can read the file, unless it is ``public``: then it gets the default permissions of the user.
    """
    path = Path(path)
    if is_draft(path):  # one of several files that are written together and replaced together
        yield path
        return
    if "\0" in str(path):
        raise FormatError(f"Cannot write {str(path)!r}: names of files hold no NUL character. Choose another name.")
    if not path.parent.is_dir():
        raise FormatError(f"Cannot write {path}: the folder {path.parent} does not exist.")
    if path.is_dir():
        raise FormatError(f"Cannot write {path}: it is a folder.")
    with ExitStack() as stack:
        try:
            draft = stack.enter_context(draft_file(path.parent, "".join(path.suffixes[-2:])))
        except OSError as error:
            raise FormatError(f"Cannot write {path}: {error.strerror}.") from None
        yield draft
        os.chmod(draft, (0o666 if public else 0o600) & ~_umask())
        try:
            os.replace(draft, path)
        except PermissionError:  # Windows locks files that other programs have open
            raise FormatError(f"Cannot write {path}: close it if another program has it open, and run again.") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
