"""Text from data for terminals: control characters are escaped."""

from __future__ import annotations

import re

# Control characters, which start terminal escape sequences, and characters that reorder or break a line.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")

# Characters that neither XML nor text files can hold.
FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    r"""One line of text with control characters escaped, e.g. as ``\x1b``."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Several lines of text with control characters escaped, line ends excepted."""
    return "\n".join(map(printable, text.split("\n")))
