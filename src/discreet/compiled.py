"""Compiled functions. The compiled code is cached in a file beside the source, once per machine and version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., object])


class _Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """A cache that recompiles if its file names classes that no longer exist, as files of earlier versions may."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError, TypeError):
            self.flush()  # type: ignore[no-untyped-call]
            return None


def compiled(function: Function) -> Function:
    """The function, compiled at the first call for each combination of argument types; it releases the GIL."""
    dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
    dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return dispatcher  # type: ignore[no-any-return]
