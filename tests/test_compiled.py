"""Compiled functions: when they are compiled, and what is kept of them on disk."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba.core.caching import FunctionCache

from discreet import audit, protect
from discreet import compiled as module
from discreet.compiled import Kernel, compiled
from discreet.testing import random_problem, random_table


@compiled
def halved(numbers):
    return numbers / 2


@compiled
def average(numbers):
    total = 0.0
    for number in halved(numbers):
        total += 2 * number
    return total / len(numbers)


@pytest.fixture
def worth_it(monkeypatch):
    """As if plain Python had taken long enough, with nothing kept on disk."""
    monkeypatch.setattr(Kernel, "seconds", 2 * module.PLAIN_SECONDS)
    monkeypatch.setattr(FunctionCache, "load_overload", lambda self, *_: None)
    monkeypatch.setattr(FunctionCache, "save_overload", lambda self, *_: None)
    module._compiler.cache_clear()
    yield
    module._compiler.cache_clear()


def test_little_work_is_done_in_plain_python(monkeypatch):
    monkeypatch.setattr(Kernel, "seconds", 0.0)
    monkeypatch.setattr(module, "_compiler", lambda: pytest.fail("compiled"))
    assert average(np.arange(5.0)) == 2.0
    assert 0 < Kernel.seconds < module.PLAIN_SECONDS


def test_plain_and_compiled_functions_agree_and_call_their_like(worth_it):
    assert average(np.arange(5.0)) == 2.0
    assert average.compiled.signatures
    assert halved.compiled.signatures


def test_compiled_code_that_is_kept_is_used_earlier(worth_it, monkeypatch, tmp_path):
    """Loading takes less time than compiling, so that plain Python pays for less long."""
    source = tmp_path / "algorithms.py"
    source.write_text("def thirds(numbers):\n    return numbers / 3\n", encoding="utf-8")
    (tmp_path / "__pycache__").mkdir()
    for kept in (False, True):
        names: dict = {}
        exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), names)
        kernel = compiled(names["thirds"])
        monkeypatch.setattr(Kernel, "seconds", (module.PLAIN_SECONDS_IF_KEPT + module.PLAIN_SECONDS) / 2)
        monkeypatch.setattr(Kernel, "compiled", lambda *_: "compiled")
        assert (kernel(np.ones(2)) == "compiled") if kept else (kernel(np.full(2, 3.0)) == 1.0).all()
        (tmp_path / "__pycache__" / "algorithms.thirds-1.py311.nbi").touch()


def test_large_arrays_are_left_to_compiled_code(worth_it, monkeypatch):
    monkeypatch.setattr(Kernel, "seconds", 0.0)
    before = len(halved.compiled.signatures)
    assert halved(np.ones((2, module.MAX_PLAIN_SIZE), dtype=np.float32))[0, 0] == 0.5
    assert len(halved.compiled.signatures) == before + 1
    assert module._largest((1, (np.ones(7), (np.ones(9),)), np.ones(8))) == 9


def test_an_error_in_plain_python_ends_plain_python(monkeypatch):
    monkeypatch.setattr(Kernel, "seconds", 0.0)
    failing = compiled(lambda numbers: numbers["none"])
    with pytest.raises(IndexError):
        failing(np.ones(2))
    assert not Kernel.running.plain


def test_a_small_table_is_protected_without_a_compiler():
    code = """
import sys
import numpy as np
from discreet import protect
from discreet.testing import random_problem, random_table
rng = np.random.default_rng(1)
problem = random_problem(rng, random_table(rng, (8, 9)), primaries=0.2)
assert protect(problem, "kelly").report.solver == "network flow"
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("error", [AttributeError("no class of this name any more"), ImportError("no such module")])
def test_files_of_an_earlier_version_are_made_again(worth_it, monkeypatch, error):
    """They name classes by their modules: one that was renamed cannot be read."""
    flushed = []

    def stale(self, *_):
        raise error

    monkeypatch.setattr(FunctionCache, "load_overload", stale)
    monkeypatch.setattr(FunctionCache, "flush", lambda self: flushed.append(1))
    assert compiled(halved.plain)(21) == 10.5
    assert flushed


def test_compiling_is_announced_once(worth_it, caplog):
    with caplog.at_level("INFO", "discreet"):
        again = compiled(halved.plain)
        assert again(21) == 10.5
        assert again(2.5) == 1.25
    assert len(caplog.messages) == 1
    assert "once per machine" in caplog.messages[0]


@pytest.mark.parametrize("seed", range(3))
def test_plain_and_compiled_algorithms_find_the_same(monkeypatch, seed):
    """A pattern by network flows, and audit intervals by network flows."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (12, 14)), primaries=0.3, sliding=True)
    found = []
    for seconds in (0.0, 2 * module.PLAIN_SECONDS):
        for limit in ("PLAIN_SECONDS", "PLAIN_SECONDS_IF_KEPT"):
            monkeypatch.setattr(module, limit, np.inf if seconds == 0.0 else getattr(module, limit))
        monkeypatch.setattr(Kernel, "seconds", seconds)
        protection = protect(problem, "kelly")
        seen = audit(problem, protection)
        found.append((protection.suppressed.tolist(), seen.lower.tolist(), seen.upper.tolist()))
        monkeypatch.undo()
    assert found[0] == found[1]
