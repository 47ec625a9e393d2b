"""SDMX-ML 2.1 structure messages: the dataflow, its structure definition, and code lists with labels and hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from discreet.io.cube import CubeAxis, axes_of, table_title
from discreet.io.sdmx.code_lists import XML_LANG
from discreet.io.sdmx.observations import (
    CONF_STATUS,
    OBS_LOWER,
    OBS_STATUS,
    OBS_UPPER,
    OBS_VALUE,
    Identifiers,
    dataflow,
    identifiers,
)
from discreet.printable import FORBIDDEN
from discreet.release import Release

BASE = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
MESSAGE, STRUCTURE, COMMON = f"{BASE}/message", f"{BASE}/structure", f"{BASE}/common"
PREFIXES = {"mes": MESSAGE, "str": STRUCTURE, "com": COMMON}


def write_release(release: Release, path: str | Path) -> None:
    """The structure of the data messages of the release."""
    about, ids = release.presentation.metadata, identifiers(release)
    dataflow(about)  # refuses missing identifiers
    for prefix, uri in PREFIXES.items():
        ET.register_namespace(prefix, uri)
    root = ET.Element(f"{{{MESSAGE}}}Structure")
    header = _add(root, MESSAGE, "Header")
    _add(header, MESSAGE, "ID").text = f"{about.dataflow}-structure-{about.date}"
    _add(header, MESSAGE, "Test").text = "false"
    _add(header, MESSAGE, "Prepared").text = f"{about.date}T00:00:00Z"
    _add(header, MESSAGE, "Sender", id=about.agency)
    structures = _add(root, MESSAGE, "Structures")
    axes, artefact = axes_of(release), {"agencyID": about.agency, "version": about.version}
    flow = _named(
        _add(structures, STRUCTURE, "Dataflows"),
        "Dataflow",
        about.dataflow,
        _in(release, table_title(release)),
        artefact,
    )
    _reference(_add(flow, STRUCTURE, "Structure"), f"{about.dataflow}_DSD", artefact, "datastructure", "DataStructure")
    lists = _add(structures, STRUCTURE, "Codelists")
    for axis in axes:
        _code_list(lists, release, axis, ids, artefact)
    for name, codes in _flags(release).items():
        _plain_list(lists, release, name, codes, artefact)
    concepts = _add(structures, STRUCTURE, "Concepts")
    scheme = _named(concepts, "ConceptScheme", f"{about.dataflow}_CS", _in(release, table_title(release)), artefact)
    for axis in axes:
        _named(scheme, "Concept", ids.columns[axis.column], _in(release, axis.title))
    for name, title in _measures(release).items():
        _named(scheme, "Concept", name, _in(release, title))
    _definition(structures, release, axes, ids, artefact)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _measures(release: Release) -> dict[str, str]:
    """The names of the measure and of the attributes."""
    title, say = release.title(release.response), release.language.say
    names = {OBS_VALUE: title, OBS_STATUS: say("Status of the value"), CONF_STATUS: say("Confidentiality")}
    return names | {
        name: f"{title} {say(side)}"
        for name, side, _ in zip((OBS_LOWER, OBS_UPPER), ("lower", "upper"), release.ends, strict=False)
    }


def _flags(release: Release) -> dict[str, dict[str, str]]:
    """The codes of both flags of the public edition, with their meaning."""
    flags, say = release.presentation.sdmx, release.language.say
    return {
        OBS_STATUS: {flags.published: say("published"), flags.status: say("suppressed")},
        CONF_STATUS: {flags.free: say("published"), flags.flag: say("suppressed")},
    }


def _code_list(
    lists: ET.Element, release: Release, axis: CubeAxis, ids: Identifiers, artefact: Mapping[str, str]
) -> None:
    given, hierarchy = ids.codes[axis.column], release.hierarchies.get(axis.column)
    found = _named(lists, "Codelist", _list_id(ids.columns[axis.column]), _in(release, axis.title), artefact)
    for code, label, parent in zip(axis.codes, axis.labels, axis.parents, strict=True):
        names = _in(release, label)
        if hierarchy is not None:
            names = {lang: of[code] for lang, of in hierarchy.labels.items() if lang and code in of} | names
        element = _named(found, "Code", given[code], names)
        if parent >= 0:
            _add(_add(element, STRUCTURE, "Parent"), "", "Ref", id=given[axis.codes[parent]])


def _plain_list(
    lists: ET.Element, release: Release, name: str, codes: Mapping[str, str], artefact: Mapping[str, str]
) -> None:
    found = _named(lists, "Codelist", _list_id(name), _in(release, _measures(release)[name]), artefact)
    for code, label in codes.items():
        _named(found, "Code", code, _in(release, label))


def _definition(
    structures: ET.Element, release: Release, axes: Iterable[CubeAxis], ids: Identifiers, artefact: Mapping[str, str]
) -> None:
    about = release.presentation.metadata
    found = _named(
        _add(structures, STRUCTURE, "DataStructures"),
        "DataStructure",
        f"{about.dataflow}_DSD",
        _in(release, table_title(release)),
        artefact,
    )
    parts = _add(found, STRUCTURE, "DataStructureComponents")
    dimensions = _add(parts, STRUCTURE, "DimensionList", id="DimensionDescriptor")
    for position, axis in enumerate(axes, start=1):
        name = ids.columns[axis.column]
        _component(dimensions, "Dimension", name, artefact, about.dataflow, coded=True, position=str(position))
    attributes = _add(parts, STRUCTURE, "AttributeList", id="AttributeDescriptor")
    for name in _measures(release):
        if name != OBS_VALUE:
            element = _component(
                attributes,
                "Attribute",
                name,
                artefact,
                about.dataflow,
                coded=name in (OBS_STATUS, CONF_STATUS),
                assignmentStatus="Conditional",
            )
            relation = _add(element, STRUCTURE, "AttributeRelationship")
            _add(_add(relation, STRUCTURE, "PrimaryMeasure"), "", "Ref", id=OBS_VALUE)
    measures = _add(parts, STRUCTURE, "MeasureList", id="MeasureDescriptor")
    _component(measures, "PrimaryMeasure", OBS_VALUE, artefact, about.dataflow, coded=False)


def _component(
    parent: ET.Element, kind: str, name: str, artefact: Mapping[str, str], flow: str, *, coded: bool, **options: str
) -> ET.Element:
    found = _add(parent, STRUCTURE, kind, id=name, **options)
    concept = _add(found, STRUCTURE, "ConceptIdentity")
    version = artefact["version"]
    _add(
        concept,
        "",
        "Ref",
        id=name,
        maintainableParentID=f"{flow}_CS",
        maintainableParentVersion=version,
        agencyID=artefact["agencyID"],
        package="conceptscheme",
        **{"class": "Concept"},
    )
    local = _add(found, STRUCTURE, "LocalRepresentation")
    if coded:
        _reference(_add(local, STRUCTURE, "Enumeration"), _list_id(name), artefact, "codelist", "Codelist")
    else:
        _add(local, STRUCTURE, "TextFormat", textType="Double")
    return found


def _list_id(name: str) -> str:
    return f"CL_{name}"


def _reference(parent: ET.Element, name: str, artefact: Mapping[str, str], package: str, kind: str) -> None:
    _add(parent, "", "Ref", id=name, **artefact, package=package, **{"class": kind})


def _in(release: Release, text: str) -> dict[str, str]:
    """A name in the language of the release."""
    return {release.lang: text}


def _named(
    parent: ET.Element, kind: str, name: str, names: Mapping[str, str], artefact: Mapping[str, str] | None = None
) -> ET.Element:
    found = _add(parent, STRUCTURE, kind, id=name, **(artefact or {}))
    for lang, text in names.items():
        label = _add(found, COMMON, "Name")
        label.set(XML_LANG, lang)
        label.text = FORBIDDEN.sub("", text)
    return found


def _add(parent: ET.Element, space: str, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, f"{{{space}}}{tag}" if space else tag, attributes)
