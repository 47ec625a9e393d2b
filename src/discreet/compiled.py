"""Compiled functions. What was compiled is kept in a file beside the source, so that it is done once per machine and version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., object])


class _Kept(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Files of an earlier version may name classes that there are no more: they are made again."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError, TypeError):
            self.flush()  # type: ignore[no-untyped-call]
            return None


def compiled(function: Function) -> Function:
    """The function, compiled when it is first called with arguments of some kinds; it runs beside other threads."""
    dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
    dispatcher._cache = _Kept(function)  # type: ignore[no-untyped-call]
    return dispatcher  # type: ignore[no-any-return]
