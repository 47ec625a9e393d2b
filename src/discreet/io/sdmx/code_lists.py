"""Code lists and hierarchies from SDMX-ML structure messages, versions 2.1 and 3.0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from discreet.data.hierarchy import Hierarchy
from discreet.data.labels import Labels, merged_labels
from discreet.errors import FormatError, placing, reading, some

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


@dataclass(frozen=True)
class SdmxList:
    """A code list, or a hierarchy of codes, as pairs of codes and the codes above them."""

    name: str
    is_hierarchy: bool
    pairs: list[tuple[str, str | None]]
    labels: Labels


def parsed_xml(path: str | Path) -> ET.Element:
    """The root of an XML file. Document types are refused: their entities can fill the memory, or read other files."""
    with reading(path, f"{path} is not an SDMX-ML file, or it is damaged.", ET.ParseError, ValueError, OSError):
        content = Path(path).read_bytes()
        if b"<!DOCTYPE" in content or b"<!\x00D\x00O" in content or b"\x00<\x00!\x00D" in content:
            raise ValueError("a document type")
        return ET.fromstring(content)


def read_hierarchy(path: str | Path, codelist: str | None = None, total: str = "Total") -> Hierarchy:
    """The hierarchy of a code list, or of an SDMX hierarchy, in a structure file; by default of the only one there.

    Codes without a code above them are below ``total``, unless there is one such code: it is the total.
    """
    lists = list(_lists(parsed_xml(path)))
    labels = merged_labels(*(one.labels for one in lists if not one.is_hierarchy))
    if codelist is not None:
        named = [one for one in lists if one.name == codelist]
        found = [one for one in named if one.is_hierarchy] or named
    else:
        found = [one for one in lists if one.is_hierarchy] or lists
    names = [one.name for one in lists]
    if not names:
        raise FormatError(f"{path} has no code list.")
    if len(found) != 1:
        what = "several code lists" if codelist is None else f"no code list {codelist!r}"
        raise FormatError(f"{path} has {what}: name one of {some(names, 9)} (codelist).", names)
    with placing(path):
        own = found[0]
        return Hierarchy.from_pairs(own.pairs, total).with_labels(
            merged_labels(labels if own.is_hierarchy else {}, own.labels)
        )


def _lists(root: ET.Element) -> Iterator[SdmxList]:
    for element in root.iter():
        kind = _tag(element)
        if kind == "Codelist":
            codes = [code for code in element if _tag(code) == "Code"]
            yield SdmxList(element.get("id", ""), False, [(_id(code), _parent(code)) for code in codes], _labels(codes))
        elif kind == "Hierarchy":
            pairs = list(_nested(element, None))
            if pairs:
                yield SdmxList(element.get("id", ""), True, pairs, {})


def _nested(element: ET.Element, above: str | None) -> Iterator[tuple[str, str | None]]:
    """The codes of a hierarchy, which contain the codes below them."""
    for child in element:
        if _tag(child) == "HierarchicalCode":
            code = _code_of(child)
            yield code, above
            yield from _nested(child, code)


def _code_of(element: ET.Element) -> str:
    """The code that an entry of a hierarchy refers to; its own id if it refers to none."""
    for child in element:
        if _tag(child) in ("Code", "CodeID"):
            found = child.find("Ref")
            if found is not None:
                return found.get("id", "")
            if child.text and child.text.strip():
                return child.text.strip().rpartition(".")[2]  # the end of a URN
            if child.get("id"):
                return child.get("id", "")
    return element.get("id", "")


def _parent(code: ET.Element) -> str | None:
    """The code above: a reference in version 2.1, text in 3.0."""
    for child in code:
        if _tag(child) == "Parent":
            found = child.find("Ref")
            return found.get("id", "") if found is not None else (child.text or "").strip() or None
    return None


def _labels(codes: list[ET.Element]) -> Labels:
    """The names of codes. SDMX takes names without a language to be English; here they count in any language, too."""
    labels: dict[str, dict[str, str]] = {}
    for code in codes:
        names = [
            (child.get(XML_LANG, "en").lower(), (child.text or "").strip()) for child in code if _tag(child) == "Name"
        ]
        for lang, text in names:
            labels.setdefault(lang, {})[_id(code)] = text
        if names:
            labels.setdefault("", {})[_id(code)] = dict(names).get("en", names[0][1])
    return labels


def _id(element: ET.Element) -> str:
    return element.get("id", "")


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
