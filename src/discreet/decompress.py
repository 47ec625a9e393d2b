"""Compressed files: how large their content may be.

A file of 3 MB can hold 3 GB of zeros. Content may be ``TIMES`` times as large as the compressed file, and in any case ``SMALL``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

from discreet.errors import FormatError

TIMES = 200  # text of tables compresses 5 to 50 times; zeros compress 1,000 times
SMALL = 256 << 20  # bytes that any machine has slack for, however well they were compressed
CHUNK = 1 << 20


def largest_content(compressed: int) -> int:
    """How many bytes a compressed file of this size may hold."""
    return max(SMALL, TIMES * compressed)


def refuse_content(path: str | Path, bytes_: int, compressed: int) -> None:
    """Refuse a file that holds more than it may."""
    most = largest_content(compressed)
    if bytes_ > most:
        raise FormatError(
            f"{path} is {compressed:,} bytes long and holds more than {most:,} bytes: more than {TIMES} times its size, which "
            "no table needs. If it is what it should be, decompress it yourself and give the result."
        )


def gunzipped(path: str | Path) -> Iterator[bytes]:
    """The content of a ``.gz`` file in pieces; an error as soon as it is larger than it may be."""
    compressed, read = os.path.getsize(path), 0
    with gzip.open(path, "rb") as file:
        while piece := file.read(CHUNK):
            read += len(piece)
            refuse_content(path, read, compressed)
            yield piece


def read_bytes(path: str | Path) -> bytes:
    """A whole file, decompressed if its name ends in ``.gz``."""
    return b"".join(gunzipped(path)) if str(path).lower().endswith(".gz") else Path(path).read_bytes()


def check_zip(path: str | Path, archive: ZipFile, parts: Iterable[int] = ()) -> None:
    """Refuse a zip file that holds more than it may; ``parts`` are sizes of what its parts hold in turn."""
    # Never more is read from a part than the directory says, so what it says can be relied on.
    held = sum(part.file_size for part in archive.infolist()) + sum(parts)
    refuse_content(path, held, os.path.getsize(path))
