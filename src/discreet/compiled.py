"""Functions that are compiled once they are worth it. Until then they run as plain Python, with the same results.

Loading a compiler takes half a second and compiling some seconds, more than small tables take in plain Python. Compiled code is
kept in a file beside the source, once per machine and version.
"""

from __future__ import annotations

import glob
import logging
from collections.abc import Callable, Iterable
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from threading import local
from time import perf_counter
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., object])
_LOGGER = logging.getLogger("discreet")
PLAIN_SECONDS = 1.0  # of a process in plain Python in all, before it compiles for some seconds
PLAIN_SECONDS_IF_KEPT = 0.3  # the same if compiled code is kept: about what loading it takes (0.3 to 0.4 s measured)
MAX_PLAIN_SIZE = 5_000  # entries of an array: with more a single call in plain Python may take many seconds


class _Running(local):
    """Whether a thread is inside a plain function, which calls others in plain Python."""

    plain = False


class Kernel:
    """A function in plain Python, or compiled for each combination of argument types; compiled code releases the GIL."""

    seconds = 0.0  # of this process in plain functions
    running = _Running()

    def __init__(self, function: Callable[..., object]) -> None:
        self.plain = cast(FunctionType, function)
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self.running.plain:
            return self.plain(*arguments)
        limit = PLAIN_SECONDS_IF_KEPT if self.is_kept else PLAIN_SECONDS
        if Kernel.seconds > limit or _largest(arguments) > MAX_PLAIN_SIZE:
            return self.compiled(*arguments)
        begun, self.running.plain = perf_counter(), True
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return self.plain(*arguments)
        finally:
            self.running.plain = False
            Kernel.seconds += perf_counter() - begun

    @cached_property
    def is_kept(self) -> bool:
        """Whether a file with compiled code of the function is beside its source."""
        source = Path(self.plain.__code__.co_filename)
        return any((source.parent / "__pycache__").glob(f"{source.stem}.{glob.escape(self.plain.__qualname__)}-*.nbi"))

    @cached_property
    def compiled(self) -> Any:
        """The same function for the compiler, which must find compiled ones for those that it calls."""
        plain = self.plain
        called = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
        others = {name: other.compiled for name, other in called.items() if isinstance(other, Kernel)}
        function = FunctionType(plain.__code__, {**plain.__globals__, **others}, plain.__name__, plain.__defaults__)
        function.__qualname__, function.__module__ = plain.__qualname__, plain.__module__
        return _compiler()(function)


def compiled(function: Function) -> Function:
    """The function as a :class:`Kernel`."""
    return cast(Function, Kernel(function))


def _largest(arguments: Iterable[Any]) -> int:
    """The size of the largest array, also within tuples."""
    sizes = (
        each.size if isinstance(each, np.ndarray) else _largest(each) if isinstance(each, tuple) else 0
        for each in arguments
    )
    return max(sizes, default=0)


@cache
def _compiler() -> Callable[[FunctionType], Any]:
    """Numba, with a cache on disk."""
    from numba import njit
    from numba.core.caching import FunctionCache

    class Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
        """A cache that recompiles if its file names classes that no longer exist, as files of earlier versions may."""

        announced = False  # whether a line said that something is compiled

        def load_overload(self, signature: Any, target: Any) -> Any:
            try:
                found = super().load_overload(signature, target)  # type: ignore[no-untyped-call]
            except (AttributeError, ImportError, TypeError):
                self.flush()  # type: ignore[no-untyped-call]
                found = None
            if found is None and not Cache.announced:
                Cache.announced = True
                _LOGGER.info("compiling algorithms for large tables: once per machine and version, a few seconds.")
            return found

    def compile_function(function: FunctionType) -> Any:
        dispatcher: Any = njit(nogil=True, error_model="numpy")(function)
        dispatcher._cache = Cache(function)  # type: ignore[no-untyped-call]
        return dispatcher

    return compile_function
