"""A data file of a job and its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.argus.paths import Paths
from discreet.errors import InputError
from discreet.io.argus.metadata import Metadata, Variable
from discreet.io.argus.text import nearest


@dataclass(frozen=True)
class DataFile:
    """Records or a table in a file, the metadata that describe it, and where the files are that these name."""

    file: Path
    metadata: Metadata
    paths: Paths

    def variable(self, name: str) -> Variable:
        found = self.metadata.find(name)
        if found is None:
            known = [one.name for one in self.metadata.variables]
            raise InputError(f"{self.metadata.path.name} has no variable {name!r}.{nearest(name, known)}", [name])
        return found

    def spanning(self, name: str) -> Variable:
        found = self.variable(name)
        if not found.categorical:
            raise InputError(
                f"variable {name!r} cannot span a table: it is not <RECODEABLE>. Name another, or declare it in the metadata.",
                [name],
            )
        return found

    def number(self, name: str) -> Variable:
        found = self.variable(name)
        if not found.numeric:
            raise InputError(
                f"variable {name!r} is not <NUMERIC>. Name another one, or declare it in the metadata.", [name]
            )
        return found

    def single(self, attribute: str, fault: str) -> str:
        """The name of the variable that is the weight, the holding …"""
        found = self.metadata.single(attribute)
        if found is None:
            raise InputError(f"{fault}, and {self.metadata.path.name} has none.")
        return found.name
