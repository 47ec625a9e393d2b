"""Lines and fields of the text files of τ-ARGUS: from any system, in UTF-8 or in an encoding of Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from discreet.data.side_files import side_text
from discreet.errors import FormatError


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The number and the text of each line that is not blank, with tabs as blanks."""
    for number, line in enumerate(side_text(path).split("\n"), start=1):
        text = line.replace("\t", " ").strip()
        if text:
            yield number, text


def data_lines(path: Path, encoding: str | None = None) -> list[str]:
    """The lines of a data file, in which positions count characters."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    try:
        text = raw.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError:
        if encoding is not None:
            raise FormatError(f"{path} cannot be read as {encoding}. Is this its encoding?") from None
        text = raw.decode("latin-1")
    text = text.rstrip("\n\r").removesuffix("\x1a")  # DOS ends files with this sign
    # Not splitlines(), which ends lines at some letters of Windows code pages.
    return [line.rstrip("\r") for line in text.split("\n")]


def words(text: str) -> list[str]:
    """The words of a line; a word in quotes may hold blanks."""
    return [quoted if quoted or not bare else bare for quoted, bare in re.findall(r'"([^"]*)"|([^\s"]+)', text)]


def fields(line: str, separator: str) -> list[str]:
    """The fields of a line without blanks around them; one in quotes may hold the separator, and quotes written twice."""
    found = []
    rest = line
    blanks = rf"[^\S{re.escape(separator)}]*"  # a blank or a tab may be the separator
    while True:
        opened = re.match(rf'{blanks}"((?:[^"]|"")*)"{blanks}', rest)
        if opened and (opened.end() == len(rest) or rest.startswith(separator, opened.end())):
            found.append(opened[1].replace('""', '"').strip())
            rest = rest[opened.end() :]
            if not rest:
                return found
            rest = rest[len(separator) :]
            continue
        field, given, rest = rest.partition(separator)
        found.append(field.strip())
        if not given:
            return found


def nearest(word: str, known: list[str]) -> str:
    """A sentence that names the most similar known word; empty if none is similar."""
    similar = get_close_matches(word.upper(), [one.upper() for one in known], n=1, cutoff=0.5)
    return f" Did you mean {next(one for one in known if one.upper() == similar[0])}?" if similar else ""
