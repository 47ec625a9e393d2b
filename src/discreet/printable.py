"""Text from data as a terminal may show it: control characters are written out, never sent."""

from __future__ import annotations

import re

# Control characters, which begin terminal escape sequences, and signs that reorder or break a line.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def printable(text: str) -> str:
    r"""One line of text with control characters written out, e.g. ``\x1b`` for the one that begins escape sequences."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """The same for a message of several lines."""
    return "\n".join(map(printable, text.split("\n")))
