"""The text of the package uses the words of the glossary, not private ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = {".py", ".md", ".css", ".j2", ".svg"}
PRIVATE = re.compile(
    r"\b(told|untold|somebody|anybody|nobody|whom|hidden|dear|dearer|dearest|a\s+hair)\b", re.IGNORECASE
)
# Where "hidden" belongs to another language: attributes of HTML, ARIA and CSS, and quoted code.
QUOTED = re.compile(r"aria-hidden|\b(?:overflow|visibility): ?hidden|\bhidden=|`hidden`|\"hidden\"|'hidden'")


def files() -> list[str]:
    pages = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    folders = [path for folder in ("src", "docs") for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS]
    return sorted(path.relative_to(ROOT).as_posix() for path in (*pages, *folders))


def private_words(text: str) -> list[str]:
    """Private words with the number of their line."""
    text = QUOTED.sub("", text)
    return [f"line {text.count(chr(10), 0, found.start()) + 1}: {found[0]}" for found in PRIVATE.finditer(text)]


@pytest.mark.parametrize("path", files())
def test_no_private_words(path):
    assert private_words((ROOT / path).read_text(encoding="utf-8")) == []


def test_private_words_are_found_unless_they_are_code():
    assert private_words("a\nSomebody\nis A\nhair away") == ["line 2: Somebody", "line 3: A\nhair"]
    assert private_words('<i aria-hidden="true" style="overflow: hidden"> `hidden`') == []
    assert private_words("hidden_cells = 1  # hidden") == ["line 1: hidden"]
