"""Compressed files with a limit on the size of their content.

A file of 3 MB can hold 3 GB of zeros. The content may have ``MAX_EXPANSION`` times the size of the compressed file, and in any
case ``ALWAYS_ALLOWED_BYTES``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

from discreet.errors import FormatError

MAX_EXPANSION = 200  # tables as text compress 5 to 50 times, zeros 1,000 times
ALWAYS_ALLOWED_BYTES = 256 << 20  # fits into the memory of any machine in use
CHUNK_BYTES = 1 << 20  # read at once: the limit is checked after each chunk


def largest_content(compressed: int) -> int:
    """The number of bytes that a compressed file of this size may hold."""
    return max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * compressed)


def refuse_content(path: str | Path, bytes_: int, compressed: int) -> None:
    """Raise an error if a file holds more than it may."""
    limit = largest_content(compressed)
    if bytes_ > limit:
        raise FormatError(
            f"{path} has {compressed:,} bytes and holds more than {limit:,} bytes: more than {MAX_EXPANSION} times its size, "
            "which no table needs. If the file is correct, decompress it yourself and use the result."
        )


def gunzipped(path: str | Path) -> Iterator[bytes]:
    """The content of a ``.gz`` file in chunks; raises an error as soon as it exceeds its limit."""
    compressed, read = os.path.getsize(path), 0
    with gzip.open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            read += len(chunk)
            refuse_content(path, read, compressed)
            yield chunk


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, decompressed if its name ends in ``.gz``."""
    return b"".join(gunzipped(path)) if str(path).lower().endswith(".gz") else Path(path).read_bytes()


def check_zip(path: str | Path, archive: ZipFile, nested: Iterable[int] = ()) -> None:
    """Raise an error if a zip file holds more than it may; ``nested`` are sizes of content compressed inside its members."""
    # The directory can be relied on: no more bytes of a member are read than it states.
    held = sum(member.file_size for member in archive.infolist()) + sum(nested)
    refuse_content(path, held, os.path.getsize(path))
