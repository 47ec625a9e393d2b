"""Compiled functions, and what is kept of them on disk."""

from __future__ import annotations

import pytest
from numba.core.caching import FunctionCache

from discreet.compiled import compiled


def twice(number):
    return 2 * number


@pytest.mark.parametrize("error", [AttributeError("no class of this name any more"), ImportError("no such module")])
def test_files_of_an_earlier_version_are_made_again(monkeypatch, error):
    """They name classes by their modules: one that was renamed cannot be read."""
    flushed = []

    def stale(self, *_):
        raise error

    monkeypatch.setattr(FunctionCache, "load_overload", stale)
    monkeypatch.setattr(FunctionCache, "flush", lambda self: flushed.append(1))
    monkeypatch.setattr(FunctionCache, "save_overload", lambda self, *_: None)
    assert compiled(twice)(21) == 42
    assert flushed
