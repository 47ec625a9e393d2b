"""PC-CubeAxis files (``.px``), which PxWeb and other databases of statistical offices publish.

Sources: PX file format, AXIS-VERSION 2013 (Statistics Sweden).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.errors import FormatError, reading, some
from discreet.io.cube import SUPPRESSED, Cube, cube_legend, number_text, table_title, unused
from discreet.release import Release

NO_FIGURE_SIGN, SUPPRESSED_SIGN = ".", ".."  # in the data; DATASYMBOL1 and DATASYMBOL2 say how they are shown
OTHER_SIGN = "x"  # shown for no figure if the suppression symbol is a dot, as in German
MAX_LINE = 220  # letters of a text on one line; readers accept up to 256
ANSI, UNICODE = "windows-1252", "utf-8"


def write_release(release: Release, path: str | Path) -> None:
    """The first dimensions are in the stub and the last in the heading. Suppressed cells are ``".."``, shown as the symbol."""
    text = px_text(release)
    try:
        content = text.encode(ANSI)
    except UnicodeEncodeError:
        content = text.replace(f'CODEPAGE="{ANSI}"', f'CODEPAGE="{UNICODE}"', 1).encode(UNICODE)
    Path(path).write_bytes(content)


def px_text(release: Release) -> str:
    """The text of the file."""
    cube, about, say = Cube.of(release), release.presentation.metadata, release.language.say
    axes, title = cube.axes, table_title(release, cube.axes)
    variables = [axis.title for axis in axes]
    variables = [
        name if variables.count(name) == 1 else axis.column for name, axis in zip(variables, axes, strict=True)
    ]
    values, codes = [axis.distinct_labels for axis in axes], [axis.codes for axis in axes]
    contents, unit = release.title(release.response), about.unit or "–"
    several = len(cube.measures) > 1
    if several:
        shown = release.in_words()
        names = (contents, *(f"{contents} {side}" for side in shown.sides))
        variables.append(unused(say("measure"), variables))
        values.append(names)
        codes.append(cube.measures)
    lines = [
        _entry("CHARSET", "ANSI"),
        _entry("AXIS-VERSION", "2013"),
        _entry("CODEPAGE", ANSI),
        _entry("LANGUAGE", release.lang),
        _entry("CREATION-DATE", f"{about.date.replace('-', '')} 00:00"),
        f"DECIMALS={cube.decimals};",
        f"SHOWDECIMALS={cube.decimals};",
        _entry("MATRIX", _matrix(about.dataflow or release.response)),
        _entry("SUBJECT-CODE", _matrix(about.subject)[:5] or "-"),
        _entry("SUBJECT-AREA", about.subject or title),
        _entry("DESCRIPTION", title),
        _entry("TITLE", title),
        _entry("CONTENTS", contents),
        _entry("UNITS", unit),
        _list("STUB", variables[:-1]) if len(variables) > 1 else "",
        _list("HEADING", variables[-1:]),
        _entry("CONTVARIABLE", variables[-1]) if several else "",
    ]
    for name, labels in zip(variables, values, strict=True):
        lines.append(_list("VALUES", labels, name))
    for name, listed in zip(variables, codes, strict=True):
        broken = [code for code in listed if _one_line(code) != code]
        if broken:
            raise FormatError(f"A .px file cannot have line breaks in codes: {some(broken)}. Rename it.", broken)
        lines.append(_list("CODES", listed, name))
    for axis, name in zip(axes, variables, strict=False):
        if axis.total is not None:
            total = axis.distinct_labels[axis.index[axis.total]]
            lines.append(_entry("ELIMINATION", total, name))
        lines.append(_entry("DOMAIN", axis.column, name))
    if several:
        lines += [_entry("UNITS", unit, label) for label in values[-1]]
        lines += [_entry("LAST-UPDATED", f"{about.date.replace('-', '')} 00:00", label) for label in values[-1]]
    else:
        lines.append(_entry("LAST-UPDATED", f"{about.date.replace('-', '')} 00:00"))
    no_figure = OTHER_SIGN if release.symbol == NO_FIGURE_SIGN else NO_FIGURE_SIGN
    legend = cube_legend(cube, no_figure)
    if no_figure in dict(legend):
        lines.append(_entry("DATASYMBOL1", no_figure))
    if release.suppressed.any():
        lines.append(_entry("DATASYMBOL2", release.symbol))
    lines += [
        _entry("SOURCE", about.source) if about.source else "",
        _entry("CONTACT", about.contact) if about.contact else "",
        _note([about.subtitle, *about.notes, *(f"{mark}: {meaning}" for mark, meaning in legend)]),
        "DATA=",
        *_rows(cube),
    ]
    return "\n".join(line for line in lines if line) + "\n;\n"


def _rows(cube: Cube) -> Iterator[str]:
    """The data, with a line for each combination in the stub."""
    columns = []
    for measure in cube.measures:
        signs = np.where(cube.kinds == SUPPRESSED, f'"{SUPPRESSED_SIGN}"', f'"{NO_FIGURE_SIGN}"').tolist()
        values = cube.values(measure).tolist()
        columns.append([number_text(x) if x == x else sign for x, sign in zip(values, signs, strict=True)])
    entries = [text for row in zip(*columns, strict=True) for text in row]
    width = len(columns) if len(columns) > 1 else cube.shape[-1]
    for start in range(0, len(entries), width):
        yield " ".join(entries[start : start + width]) + " "


def _entry(keyword: str, text: str, of: str = "") -> str:
    return f"{keyword}{_of(of)}={_text(text)};"


def _list(keyword: str, texts: Iterator[str] | tuple[str, ...] | list[str], of: str = "") -> str:
    """A list of texts, with line ends between them where a line would be too long."""
    head, lines = f"{keyword}{_of(of)}=", [""]
    for text in texts:
        quoted = _short(text)
        if lines[-1] and len(lines[-1]) + len(quoted) > MAX_LINE - len(head) * (len(lines) == 1):
            lines.append("")
        lines[-1] += quoted + ","
    return head + "\n".join(lines).removesuffix(",") + ";"


def _of(name: str) -> str:
    return f"({_short(name)})" if name else ""


def _note(paragraphs: list[str]) -> str:
    """All notes as one text: some readers know only one."""
    given = [text for text in paragraphs if text]
    return _entry("NOTE", "#".join(given)) if given else ""


def _short(text: str) -> str:
    """A name, code or label, which stands on one line."""
    if '"' in text:
        raise FormatError(
            f"A .px file cannot have quotation marks in names, codes and labels: {some([text])}. Rename it."
        )
    return f'"{_one_line(text)}"'


def _text(text: str) -> str:
    """A text in quotes; a long one on several lines. Texts cannot have quotes themselves: others stand for them."""
    text = _one_line(text).replace('"', "”")
    parts = [text[start : start + MAX_LINE] for start in range(0, len(text), MAX_LINE)] or [""]
    return "\n".join(f'"{part}"' for part in parts)


def _one_line(text: str) -> str:
    return re.sub(r"[\r\n]+", "#", text)


def _matrix(text: str) -> str:
    return re.sub(r"\W", "", text, flags=re.ASCII)[:20]


# -- reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PxFile:
    """The keywords of a file, and its data as they are written."""

    keywords: dict[tuple[str, str], list[str]]  # keyword and what it is about → texts
    data: list[str]

    def texts(self, keyword: str, of: str = "") -> list[str]:
        return self.keywords.get((keyword, of), [])


TOKEN = re.compile(r'"([^"]*)"|([^"\s,;=()]+)|([,;=()])')


def read_px(path: str | Path) -> PxFile:
    """The contents of a PC-CubeAxis file."""
    with reading(path, f"{path} is not a PC-CubeAxis file, or it is damaged.", ValueError, OSError):
        content = Path(path).read_bytes()
        page = re.search(rb'^CODEPAGE="([^"]+)"', content, flags=re.M)
        head, mark, data = content.decode(page[1].decode("ascii") if page else "cp437").partition("\nDATA=")
        if not mark:
            raise ValueError("no data")
        return PxFile(dict(_keywords(head)), [entry.strip('"') for entry in data.rpartition(";")[0].split()])


def _keywords(text: str) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """The keywords in the head of a file; the parts of a long text become one text."""
    keyword, about, texts, in_value, in_brackets, joined = "", "", list[str](), False, False, False
    for found in TOKEN.finditer(text):
        quoted, bare, sign = found.groups()
        if sign == ";":
            yield (keyword, about), texts
            keyword, about, texts, in_value = "", "", [], False
        elif sign == "=":
            in_value, joined = True, False
        elif sign in ("(", ")"):
            in_brackets = sign == "("
        elif sign == ",":
            joined = False
        elif in_brackets:
            about = quoted if quoted is not None else bare
        elif not in_value:
            keyword = bare or ""
        else:
            part = quoted if quoted is not None else bare
            if joined:
                texts[-1] += part
            else:
                texts.append(part)
            joined = True
