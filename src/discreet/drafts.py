"""Drafts: private temporary files and folders of a run. The next run removes those of a run that was killed.

A draft is locked while its run is alive, so a draft without a lock is left over.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

try:
    import fcntl
except ImportError:  # no locks on this system: drafts of other runs are not removed
    fcntl = None  # type: ignore[assignment]

DRAFT_PREFIX = ".discreet-draft-"


def draft_file(folder: Path, suffix: str) -> AbstractContextManager[Path]:
    """An empty file that only its owner can read; it is removed at the end unless it was moved."""
    sweep(folder)
    make = partial(tempfile.mkstemp, prefix=DRAFT_PREFIX, suffix=suffix, dir=folder)
    return _locked(make, lambda path: path.unlink(missing_ok=True))


def draft_folder() -> AbstractContextManager[Path]:
    """An empty folder for intermediate results that only its owner can enter; it is removed at the end."""
    sweep(tempfile.gettempdir())

    def make() -> tuple[int, str]:
        while True:
            name = tempfile.mkdtemp(prefix=DRAFT_PREFIX)
            try:
                return (os.open(name, os.O_RDONLY) if fcntl else -1), name
            except FileNotFoundError:  # another run removed it before it was opened
                continue

    return _locked(make, partial(shutil.rmtree, ignore_errors=True))


@contextmanager
def _locked(make: Callable[[], tuple[int, str]], remove: Callable[[Path], None]) -> Iterator[Path]:
    """The path of the draft that ``make`` creates and opens, locked; it is removed at the end."""
    while True:
        handle, name = make()
        if not _lock(handle, wait=True) or os.path.lexists(name):
            break
        os.close(handle)  # another run removed it before it was locked
    try:
        yield Path(name)
    finally:
        remove(Path(name))
        if handle >= 0:
            os.close(handle)


def sweep(folder: str | Path) -> None:
    """Remove the drafts of this user that killed runs left in a folder."""
    if not fcntl:
        return
    try:
        names = [name for name in os.listdir(folder) if name.startswith(DRAFT_PREFIX)]
    except OSError:
        return
    for name in names:
        with suppress(OSError):  # removed meanwhile, or owned by another user
            _remove_if_unlocked(os.path.join(folder, name))


def _remove_if_unlocked(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(handle).st_uid != os.geteuid() or not _lock(handle, wait=False):
            return
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    finally:
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file; False if another process holds the lock or the folder does not support locks."""
    if not fcntl:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def is_draft(path: Path) -> bool:
    return path.name.startswith(DRAFT_PREFIX) and path.exists()


def create_private(path: str | Path) -> None:
    """Create a file that only its owner can read, unless it exists."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
