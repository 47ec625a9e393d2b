"""Hooks of the documentation site (mkdocs.yml): pages from outside docs/, and nothing loaded from other hosts."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parent
# Where files of the checkout that are not in docs/ stand on the site; links to them are rewritten.
OUTSIDE = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.txt",
    "examples/README.md": "examples.md",
    "examples/turnover": "examples.md",
    "examples/analyst.ipynb": "examples.md",
}
SOURCES = {site: source for source, site in reversed(OUTSIDE.items())}
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
LOADED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
ROLE = re.compile(r":(?:class|func|meth|mod):<code>~?(?:[\w.]*\.)?(\w+)</code>")


def on_files(files: Any, config: Any) -> Any:
    for site, source in SOURCES.items():
        files.append(File.generated(config, site, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links between pages of the checkout become links between pages of the site."""
    site = page.file.src_uri
    folder = posixpath.dirname(SOURCES.get(site, f"docs/{site}"))

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        if target not in OUTSIDE and not target.startswith("docs/"):
            return link[0]
        there = OUTSIDE.get(target, target.removeprefix("docs/"))
        return f"]({posixpath.relpath(there, posixpath.dirname(site) or '.')}{link[2] or ''})"

    return LINK.sub(moved, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """References in docstrings, such as :func:`audit`, are shown by their names alone."""
    return ROLE.sub(r"<code>\1</code>", html)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    loaded = LOADED.findall(output)
    if loaded:
        raise PluginError(f"{page.file.src_uri} loads from another host: {loaded[0]}")
    return output
