"""Reading and writing files. Each format has its own module; FORMATS lists them by suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

from discreet.drafts import draft_file, is_draft
from discreet.errors import FormatError, some
from discreet.io import bundle, csv, excel, jj, parquet
from discreet.io.release_check import check_written
from discreet.problem import Problem
from discreet.release import Release

FORMATS: Mapping[str, ModuleType] = {
    ".csv": csv,
    ".parquet": parquet,
    ".xlsx": excel,
    ".jj": jj,
    ".jj.gz": jj,
    ".discreet": bundle,
}


def read_problem(path: str | Path) -> Problem:
    """A problem from a JJ file or a ``.discreet`` bundle."""
    return _format(path, "read_problem").read_problem(path)  # type: ignore[no-any-return]


def write_problem(problem: Problem, path: str | Path) -> None:
    """Write a problem to a JJ file or a ``.discreet`` bundle."""
    with writing(path) as draft:
        _format(path, "write_problem").write_problem(problem, draft)


def write_release(release: Release, path: str | Path) -> None:
    """Write a release to CSV, Parquet or Excel."""
    with writing(path, public=True) as draft:
        _format(path, "write_release").write_release(release, draft)
        check_written(release, draft)


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
