"""The pattern so far in a file, for another run to go on from."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from types import TracebackType
from typing import final

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import FormatError
from discreet.io import writing
from discreet.problem import Problem
from discreet.progress import ENDED_EARLY

EVERY = 5.0  # seconds from one writing to the next
UNFINISHED = (*ENDED_EARLY, "within_gap")  # ways to end that leave something to go on with

_NAME = b"discreet checkpoint "
_FIRST = _NAME + b"1\n"


def _nobody(_: str) -> None:
    pass


@final
class Checkpoint:
    """What a run has suppressed so far. Confidential, although it holds no values.

    ``start`` is what the file held in the beginning, None if there was none; ``keep`` is for the run to call. In a ``with``
    statement what was kept last is written at the end, also if that is an error or Ctrl-C. After a call of ``finish`` with
    how the run ended, the file stays only if there is something to go on with. ``say`` is told what a person should know.
    """

    def __init__(self, path: str | Path, problem: Problem, say: Callable[[str], None] = _nobody) -> None:
        self.path, self.problem, self.say = Path(path), problem, say
        self.start = self._read()
        self._kept: BoolArray | None = None  # and not written yet
        self._written = False
        self._tried = -inf
        if self.start is not None:
            say(f"going on from {self.path}, which suppresses {int(self.start.sum()):,} cells")

    def keep(self, suppressed: BoolArray) -> None:
        self._kept = suppressed.copy()
        if time.monotonic() - self._tried >= EVERY:
            self._write()

    def finish(self, status: str) -> None:
        """Once results are safely written: take the file away, unless another run could do better with it."""
        if status in UNFINISHED:
            self._write()
            self.say(f"{self.path} stays: with it another run goes on from this pattern")
        else:
            self._kept = None
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._write()
        if error is not None and self._written:
            self.say(f"what is suppressed so far is in {self.path}; another run goes on from it")

    def _write(self) -> None:
        """A file that cannot be written now is not worth the work of hours: it is tried again."""
        if self._kept is None:
            return
        self._tried = time.monotonic()
        try:
            with writing(self.path) as draft:
                draft.write_bytes(_pack(self.problem.digest, self._kept))
        except (OSError, FormatError) as error:
            self.say(f"{self.path} cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            self._kept, self._written = None, True

    def _read(self) -> BoolArray | None:
        path = self.path
        try:
            with path.open("rb") as file:
                first = file.readline(len(_FIRST))
                rest = file.read() if first == _FIRST else b""
        except FileNotFoundError:
            self._refuse_place()
            return None
        except (OSError, ValueError) as error:
            raise FormatError(f"The checkpoint {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
        if first.startswith(_NAME) and first != _FIRST:
            raise FormatError(f"The checkpoint {path} is of another version of discreet. Delete it to begin anew.")
        digest, _, cells = rest.partition(b"\n")
        check, _, bits = cells.partition(b"\n")
        if check != _check(digest, bits):
            raise FormatError(f"{path} is not a checkpoint, or damaged. Delete it to begin anew, or name another file.")
        if digest != self.problem.digest.encode():
            raise FormatError(
                f"The checkpoint {path} belongs to another problem: other data, rules, costs or attackers. "
                "Delete it to begin anew, or name another file."
            )
        return np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=len(self.problem)).astype(bool)

    def _refuse_place(self) -> None:
        """Say at once, not after hours, that there can be no such file."""
        folder = self.path.parent
        if not folder.is_dir():
            raise FormatError(f"Cannot write the checkpoint {self.path}: the folder {folder} does not exist.")
        if not os.access(folder, os.W_OK):
            raise FormatError(f"Cannot write the checkpoint {self.path}: the folder {folder} is not yours to write to.")


def _pack(problem: str, suppressed: BoolArray) -> bytes:
    """One line says what it is, one of which problem, one that the rest is whole; then a bit a cell."""
    digest, bits = problem.encode(), np.packbits(suppressed).tobytes()
    return b"\n".join([_FIRST.strip(), digest, _check(digest, bits), bits])


def _check(digest: bytes, bits: bytes) -> bytes:
    return hashlib.sha256(digest + bits).hexdigest().encode()
