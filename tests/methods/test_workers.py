"""Tables spread over processes, or a cluster: the same pattern, wherever the work is done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import pytest

from discreet.audit import audit
from discreet.executors import in_order, spread
from discreet.io import write_problem
from discreet.io.pattern import read_pattern
from discreet.methods import protect
from discreet.problem import Problem
from discreet.testing import random_hierarchy, random_problem, random_table

METHODS = ("kelly", "modular", "hypercube")


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many."""


@pytest.fixture(scope="module")
def problem() -> Problem:
    """A dozen tables, most of which share no cell."""
    rng = np.random.default_rng(4)
    table = random_table(rng, (random_hierarchy(rng, 5, levels=2), random_hierarchy(rng, 4, levels=2)))
    return random_problem(rng, table, primaries=0.3, must_publish=0.0)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with spread(2) as executor:
        assert executor is not None
        yield executor


@pytest.mark.parametrize("method", METHODS)
def test_processes_find_what_one_finds(method, problem, processes):
    alone, several = protect(problem, method), protect(problem, method, executor=processes)
    assert np.array_equal(alone.suppressed, several.suppressed)
    assert audit(problem, several, executor=processes).passed


def test_the_command_writes_the_same_pattern(problem, tmp_path):
    write_problem(problem, tmp_path / "p.discreet")
    words = ["protect", "p.discreet", "--method", "modular", "--workers", "2", "--out", "f.csv"]
    subprocess.run([sys.executable, "-m", "discreet", *words], cwd=tmp_path, check=True, timeout=300)
    assert np.array_equal(read_pattern(problem, tmp_path / "f.csv").suppressed, protect(problem, "modular").suppressed)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_dask_cluster_finds_what_processes_find(method, problem, processes):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        found = protect(problem, method, executor=client.get_executor())
        assert audit(problem, found, executor=client.get_executor()).passed
    assert np.array_equal(found.suppressed, protect(problem, method, executor=processes).suppressed)


@pytest.mark.slow
def test_errors_of_a_dask_cluster_come_through():
    """Also one that looks like that of a wait."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        assert list(in_order(executor, abs, [-1, 2, -3])) == [1, 2, 3]
        with pytest.raises(TimeoutError, match="of the work itself"):
            list(in_order(executor, too_late, [1]))


def too_late(_: int) -> None:
    raise TimeoutError("of the work itself")


def test_threads_solve_integer_programs_at_the_same_time(problem):
    """The solver has one background for all models, which only one thread may use."""
    alone = protect(problem, "modular")
    with ThreadPoolExecutor(2) as threads:
        for _ in range(2):
            assert np.array_equal(protect(problem, "modular", executor=threads).suppressed, alone.suppressed)
