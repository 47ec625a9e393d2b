"""Corrections of files that are not TOML: usual mistakes of people who write job files."""

from __future__ import annotations

import re
from tomllib import TOMLDecodeError

STRAIGHT_QUOTES = str.maketrans("“”„‟«»‘’‚‛", '"' * 6 + "'" * 4)
KEY = r"""("[^"]*"|'[^']*'|[^=:"'\[\]{}#]+?)"""
ENTRY = re.compile(KEY + r"\s*([=:])\s*(.*?)(?:\s+#.*)?")
ENTRY_WITHOUT_SIGN = re.compile(r"""([^\s=:"'\[\]{}#]+)()\s+(["'].*?["']|\S+)(?:\s+#.*)?""")
PUBLIC_TEXT = re.compile(r"""true|false|["'][^()]*["']""")  # may be repeated: neither a number nor a rule
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
TRUTH_WORDS = {"true": "true", "yes": "true", "false": "false", "no": "false"}


def toml_fault(text: str, error: TOMLDecodeError) -> str:
    """A sentence with the line of an error and what is wrong there and, if the mistake is usual, how to write the line.

    The text must end with a line break: at the end of a text the error has no line.
    """
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
    fault, lines = str(error)[: place and place.start()], text.splitlines()
    # At the end of the text an error has no line: it is the first one in which something is not closed.
    opened = (
        n for n, line in enumerate(lines, start=1) if any(line.count(a) != line.count(b) for a, b in ("[]", "{}"))
    )
    number = int(place[1]) if place and place[1] else next(opened, 0)
    if not 0 < number <= len(lines):
        return f"{fault}. Is a quote or a list not closed?"
    return f"line {number}: {_correction(lines[number - 1].strip(), fault) or fault}."


def _correction(line: str, fault: str) -> str | None:
    """What is wrong in a line and how to write it; None if the mistake is not a usual one."""
    if line.startswith("["):
        return _of_section(line, fault)
    if (straight := line.translate(STRAIGHT_QUOTES)) != line and _is_quoted(straight):
        return f"quotes must be straight. Write {straight}"
    if "\\" in line and '"' in line and ("'\\'" in fault or "hex" in fault):
        return f"in double quotes a backslash is a sign of its own. Write {_in_single_quotes(line)}"
    entry = ENTRY.fullmatch(line) or ENTRY_WITHOUT_SIGN.fullmatch(line)
    if entry is None:
        return None
    key, sign, value = entry.groups()
    if fault == "Cannot overwrite a value":
        return f"the entry {key!r} occurs twice in its section, or is a section too. Leave one out"
    quoted = key if key[0] in "\"'" or all(map(BARE_KEY.fullmatch, key.split("."))) else f'"{key}"'
    if not value:
        return f"the entry {key!r} has no value. Write {quoted} = VALUE, or leave it out"
    written = _value(value)
    if sign != "=" or quoted != key or written != value:
        what = "an entry is written KEY = VALUE" if sign != "=" or quoted != key else _what(written)
        return f"{what}. Write {quoted} = {written if PUBLIC_TEXT.fullmatch(written) else '…'}"
    if "array" in fault:
        return "a list is not closed by ], or a comma is missing between its items"
    return None


def _of_section(line: str, fault: str) -> str | None:
    name = line.strip("[] ")
    if fault.startswith(("Cannot declare", "Cannot overwrite")):
        return f"the section [{name}] occurs twice. Write all its entries below one of them"
    first, dot, rest = name.partition(".")
    rest = rest if BARE_KEY.fullmatch(rest) or not rest or rest[0] in "\"'" else f'"{rest}"'
    if fault.startswith("Expected ']'"):
        return f"names with other signs than A to Z, digits, - and _ stand in quotes. Write [{first}{dot}{rest}]"
    return None


def _is_quoted(line: str) -> bool:
    return '"' in line or "'" in line


def _in_single_quotes(line: str) -> str:
    return re.sub(r'"([^"\']*\\[^"\']*)"', r"'\1'", line)


def _value(value: str) -> str:
    """A value as it should be written; the same if no mistake is seen."""
    if value.lower() in TRUTH_WORDS:
        return TRUTH_WORDS[value.lower()]
    if value[0] in "[{" or re.fullmatch(r"[+-]?\d+(\.\d+)?", value):
        return value
    if value[0].isdigit() or value[0] in ".,+-":
        return "NUMBER"
    if value[0] in "\"'":
        return value if value.endswith(value[0]) and len(value) > 1 else value + value[0]
    return f"'{value}'" if "\\" in value else f'"{value}"'


def _what(written: str) -> str:
    if written[0] in "\"'":
        return "text stands in quotes"
    return (
        "true and false are in small letters" if written in ("true", "false") else "a number is written like 12 or 0.5"
    )
