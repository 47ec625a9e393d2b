"""Publish tables without publishing anyone."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.public import *  # noqa: F403

__version__ = "0.1.0"


class _Package(ModuleType):
    """The package. Public names are imported on first access and take precedence over modules of the same name.

    Importing everything at once would take a second or two in which the command line could not answer Ctrl-C.
    """

    def __getattr__(self, name: str) -> Any:
        public = vars(import_module("discreet.public"))
        if name == "__all__":
            found: Any = sorted(listed for listed in public if not listed.startswith("_"))
        elif name in public and not name.startswith("_"):
            found = public[name]
        elif f"{self.__name__}.{name}" in sys.modules:
            found = sys.modules[f"{self.__name__}.{name}"]
        else:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType):  # the import system sets loaded modules here; __getattr__ finds them
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__all__})


sys.modules[__name__].__class__ = _Package
