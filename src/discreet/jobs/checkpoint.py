"""A file with the latest pattern of a run, from which another run can continue."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import final

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import FormatError
from discreet.io import writing
from discreet.problem import Problem
from discreet.progress import ENDED_EARLY

SECONDS_BETWEEN_WRITES = 5.0  # so that writing takes a negligible part of the time
RESUMABLE_STATUSES = (*ENDED_EARLY, "within_gap")  # after these another run may find a cheaper pattern

_NAME = b"discreet checkpoint "
_FIRST_LINE = _NAME + b"1\n"


@final
class Checkpoint:
    """The latest pattern of a run in a file. Confidential, although it holds no values.

    ``start`` is the pattern that the file held at the beginning, None if there was no file; the run passes its patterns to
    ``keep``. At the end of a ``with`` statement the last pattern is written, also after an error or Ctrl-C. ``finish`` removes
    the file unless another run could continue. ``say`` is called with messages for the user.
    """

    def __init__(self, path: str | Path, problem: Problem, say: Callable[[str], None] = lambda _: None) -> None:
        self.path, self.problem, self.say = Path(path), problem, say
        self.start = self._read()
        self._unwritten: BoolArray | None = None
        self._written = False
        self._last_attempt = -inf
        if self.start is not None:
            say(f"continuing from {self.path}, which suppresses {int(self.start.sum()):,} cells")

    def keep(self, suppressed: BoolArray) -> None:
        self._unwritten = suppressed.copy()
        if time.monotonic() - self._last_attempt >= SECONDS_BETWEEN_WRITES:
            self._write()

    def finish(self, status: str) -> None:
        """Remove the file unless the ``status`` of the run means that another run could continue. Call it after all writing."""
        if status in RESUMABLE_STATUSES:
            self._write()
            self.say(f"{self.path} is kept: another run can continue from this pattern")
        else:
            self._unwritten = None
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        self._write()
        if error is not None and self._written:
            self.say(f"the latest pattern is in {self.path}; another run can continue from it")

    def _write(self) -> None:
        """Write the last pattern. If that fails, the run goes on, and the next call tries again."""
        if self._unwritten is None:
            return
        self._last_attempt = time.monotonic()
        try:
            with writing(self.path) as draft:
                draft.write_bytes(_pack(self.problem.digest, self._unwritten))
        except (OSError, FormatError) as error:
            self.say(f"{self.path} cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            self._unwritten, self._written = None, True

    def _read(self) -> BoolArray | None:
        path = self.path
        try:
            with path.open("rb") as file:
                first = file.readline(len(_FIRST_LINE))
                rest = file.read() if first == _FIRST_LINE else b""
        except FileNotFoundError:
            self._check_folder()
            return None
        except (OSError, ValueError) as error:
            raise FormatError(f"The checkpoint {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
        if first.startswith(_NAME) and first != _FIRST_LINE:
            raise FormatError(f"The checkpoint {path} is of another version of discreet. Delete it to begin anew.")
        digest, _, cells = rest.partition(b"\n")
        checksum, _, bits = cells.partition(b"\n")
        if checksum != _checksum(digest, bits):
            raise FormatError(f"{path} is not a checkpoint, or damaged. Delete it to begin anew, or name another file.")
        if digest != self.problem.digest.encode():
            raise FormatError(
                f"The checkpoint {path} belongs to another problem: other data, rules, costs or attackers. "
                "Delete it to begin anew, or name another file."
            )
        return np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=len(self.problem)).astype(bool)

    def _check_folder(self) -> None:
        """Refuse a place where no file can be written, before any work is done."""
        folder = self.path.parent
        if not folder.is_dir():
            raise FormatError(f"Cannot write the checkpoint {self.path}: the folder {folder} does not exist.")
        if not os.access(folder, os.W_OK):
            raise FormatError(f"Cannot write the checkpoint {self.path}: the folder {folder} is not yours to write to.")


def _pack(problem: str, suppressed: BoolArray) -> bytes:
    """Three lines (format, digest of the problem, checksum of digest and bits), then one bit per cell."""
    digest, bits = problem.encode(), np.packbits(suppressed).tobytes()
    return b"\n".join([_FIRST_LINE.strip(), digest, _checksum(digest, bits), bits])


def _checksum(digest: bytes, bits: bytes) -> bytes:
    return hashlib.sha256(digest + bits).hexdigest().encode()
