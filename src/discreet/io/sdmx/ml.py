"""SDMX-ML 2.1, structure-specific: one observation per cell with its flags. Needs the extra ``sdmx``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from discreet.errors import InputError
from discreet.io.sdmx.observations import (
    CONF_STATUS,
    OBS_LOWER,
    OBS_STATUS,
    OBS_UPPER,
    OBS_VALUE,
    dataflow,
    observations,
)
from discreet.presentation import ReleaseMetadata
from discreet.release import Release

ATTRIBUTES = (OBS_STATUS, CONF_STATUS, OBS_LOWER, OBS_UPPER)


def write_release(release: Release, path: str | Path) -> None:
    """The public edition: all suppressed cells have the same flag."""
    write_observations(observations(release), release.presentation.metadata, path)


def write_observations(frame: pd.DataFrame, about: ReleaseMetadata, path: str | Path) -> None:
    """A data message of these observations. Identifier and time of the message follow from the metadata."""
    flow, sdmx = dataflow(about), _pysdmx()
    names = list(frame.columns)
    dimensions = names[: names.index(OBS_VALUE)]
    roles = sdmx.Role
    components = [_component(sdmx, name, roles.DIMENSION) for name in dimensions]
    components.append(_component(sdmx, OBS_VALUE, roles.MEASURE))
    components += [_component(sdmx, name, roles.ATTRIBUTE) for name in ATTRIBUTES if name in frame]
    schema = sdmx.Schema(
        context="dataflow",
        agency=about.agency,
        id=about.dataflow,
        version=about.version,
        components=sdmx.Components(components),
        artefacts=[flow],
    )
    data = frame.where(frame != "", None)
    header = sdmx.Header(
        id=f"{about.dataflow}-{about.date}",
        prepared=datetime.fromisoformat(about.date).replace(tzinfo=UTC),
        sender=sdmx.Organisation(id=about.agency),
    )
    text = sdmx.write([sdmx.PandasDataset(structure=schema, data=data)], header=header)
    Path(path).write_text(text, encoding="utf-8")


def _component(sdmx: Any, name: str, role: Any) -> Any:
    return sdmx.Component(
        name,
        required=role != sdmx.Role.ATTRIBUTE and name != OBS_VALUE,
        role=role,
        concept=sdmx.Concept(name, dtype=sdmx.DataType.STRING if name != OBS_VALUE else sdmx.DataType.DOUBLE),
        **({"attachment_level": "O"} if role == sdmx.Role.ATTRIBUTE else {}),
    )


def _pysdmx() -> Any:
    """What is used of pysdmx."""
    try:
        from types import SimpleNamespace

        from pysdmx.io.pd import PandasDataset
        from pysdmx.io.xml.sdmx21.writer.structure_specific import write
        from pysdmx.model import Component, Components, Concept, DataType, Organisation, Role, Schema
        from pysdmx.model.message import Header
    except ImportError:
        raise InputError("SDMX-ML needs pysdmx: pip install 'discreet[sdmx]'. SDMX-CSV does not.") from None
    return SimpleNamespace(
        PandasDataset=PandasDataset,
        write=write,
        Component=Component,
        Components=Components,
        Concept=Concept,
        DataType=DataType,
        Organisation=Organisation,
        Role=Role,
        Schema=Schema,
        Header=Header,
    )
