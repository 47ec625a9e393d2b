"""Checkpoints: work that was stopped, or killed, is not lost; and no other file is ever taken for one, or written over."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import discreet.jobs.checkpoint as module
from discreet.audit import audit
from discreet.errors import FormatError
from discreet.io import write_problem
from discreet.jobs.checkpoint import SECONDS_BETWEEN_WRITES, Checkpoint
from discreet.methods import SUPPRESSION, protect
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import cross_table, pose, random_hierarchy, random_problem, random_table


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many."""


@pytest.fixture
def problem() -> Problem:
    return pose(cross_table("abc", "def", [[5, 6, 7], [8, 7, 3], [2, 9, 4]]), {"a × d": 1.0})


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "so-far"


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def pattern(problem: Problem, *cells: int) -> np.ndarray:
    suppressed = np.zeros(len(problem), dtype=bool)
    suppressed[[*cells, *problem.primaries]] = True
    return suppressed


# -- keeping ------------------------------------------------------------------------------------------------------


def test_what_is_kept_is_there_again(problem, file):
    first = Checkpoint(file, problem)
    assert first.start is None
    first.keep(pattern(problem, 3, 15))
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 3, 15))


def test_a_person_is_told_of_it(problem, file):
    said: list[str] = []
    Checkpoint(file, problem, said.append).keep(pattern(problem, 3, 15))
    assert said == []
    Checkpoint(file, problem, said.append)
    assert said == [f"continuing from {file}, which suppresses 3 cells"]


def test_it_is_written_at_once_and_then_now_and_then(problem, file, clock):
    checkpoint = Checkpoint(file, problem)
    checkpoint.keep(pattern(problem, 1))
    clock[0] += SECONDS_BETWEEN_WRITES - 0.1
    checkpoint.keep(pattern(problem, 2))
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 1))
    clock[0] += 0.1
    checkpoint.keep(pattern(problem, 3))
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 3))


@pytest.mark.parametrize("how", [None, KeyboardInterrupt, FormatError, SystemExit, ValueError])
def test_the_last_one_is_never_lost(problem, file, clock, how):
    said: list[str] = []

    def run() -> None:
        with Checkpoint(file, problem, said.append) as checkpoint:
            checkpoint.keep(pattern(problem, 1))
            suppressed = pattern(problem, 2)
            checkpoint.keep(suppressed)
            suppressed[:] = True  # it belongs to the method
            if how is not None:
                raise how("stopped")

    if how is None:
        run()
    else:
        with pytest.raises(how):
            run()
    assert said == ([] if how is None else [f"the latest pattern is in {file}; another run can continue from it"])
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 2))


def test_where_nothing_was_kept_there_is_no_file(problem, file):
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), Checkpoint(file, problem, said.append):
        raise KeyboardInterrupt
    assert not file.exists()
    assert said == []


@pytest.mark.parametrize("status", ["optimal", "heuristic"])
def test_after_the_end_it_is_gone(problem, file, status):
    """The same command gives the same result again, not what is left of the last one."""
    with Checkpoint(file, problem) as checkpoint:
        checkpoint.keep(pattern(problem, 1))
        checkpoint.keep(pattern(problem, 2))
        checkpoint.finish(status)
    assert not file.exists()


@pytest.mark.parametrize("status", ["time_limit", "within_gap"])
def test_it_stays_where_there_is_more_to_do(problem, file, status):
    said: list[str] = []
    with Checkpoint(file, problem, said.append) as checkpoint:
        checkpoint.keep(pattern(problem, 1))
        checkpoint.keep(pattern(problem, 2))
        checkpoint.finish(status)
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 2))
    assert said == [f"{file} is kept: another run can continue from this pattern"]


def test_a_disk_that_is_full_does_not_end_the_work(problem, file, clock, monkeypatch):
    said: list[str] = []
    checkpoint = Checkpoint(file, problem, said.append)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        checkpoint.keep(pattern(problem, 1))
    assert said == [f"{file} cannot be written: No space left on device"]
    assert list(file.parent.iterdir()) == []
    with checkpoint:
        checkpoint.keep(pattern(problem, 2))
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 2))


def full(*_args, **_options):
    raise OSError(28, "No space left on device")


def test_a_failure_leaves_the_one_before(problem, file, clock, monkeypatch):
    checkpoint = Checkpoint(file, problem)
    checkpoint.keep(pattern(problem, 1))
    monkeypatch.setattr(Path, "write_bytes", full)
    clock[0] += SECONDS_BETWEEN_WRITES
    checkpoint.keep(pattern(problem, 2))
    assert np.array_equal(Checkpoint(file, problem).start, pattern(problem, 1))


# -- files that are none --------------------------------------------------------------------------------------------


def refused(file: Path, problem: Problem, says: str) -> None:
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(FormatError, match=says) as caught:
        Checkpoint(file, problem)
    assert str(file) in str(caught.value)
    assert before is None or file.read_bytes() == before


def made(file: Path, problem: Problem) -> bytes:
    Checkpoint(file, problem).keep(pattern(problem, 3))
    return file.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"cell,status\n0,published\n", bytes(range(256)), b"discreet\n"])
def test_another_file_is_refused_and_kept(problem, file, content):
    file.write_bytes(content)
    refused(file, problem, "not a checkpoint, or damaged. Delete it to begin anew, or name another file")


def test_half_a_file_is_refused(problem, file):
    whole = made(file, problem)
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        refused(file, problem, "not a checkpoint, or damaged|another version")


def test_more_than_a_file_is_refused(problem, file):
    file.write_bytes(made(file, problem) + b"\0")
    refused(file, problem, "not a checkpoint, or damaged")


def test_a_damaged_file_is_refused(problem, file):
    whole = made(file, problem)
    for at in range(len(whole)):
        for bits in (0xFF, 0x01):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ bits]) + whole[at + 1 :])
            refused(file, problem, "Delete it to begin anew")


def test_that_of_another_problem_is_refused(problem, file):
    made(file, problem)
    other = problem.with_columns(cost=problem.cost + 1)
    refused(file, other, "belongs to another problem: other data, rules, costs or attackers. Delete it")


def test_that_of_another_version_is_refused(problem, file):
    file.write_bytes(made(file, problem).replace(b"checkpoint 1", b"checkpoint 2"))
    refused(file, problem, "another version of discreet. Delete it to begin anew")


def test_a_folder_is_refused(problem, tmp_path):
    refused(tmp_path, problem, "cannot be read: Is a directory")


def test_a_missing_folder_is_named_before_any_work_is_done(problem, tmp_path):
    refused(tmp_path / "nowhere" / "x", problem, "the folder .*nowhere does not exist")


def test_a_folder_of_somebody_else_is_named_before_any_work_is_done(problem, file, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda *_: False)
    refused(file, problem, "not yours to write to")


# -- stopping and going on ------------------------------------------------------------------------------------------


class Killed(BaseException):
    """No method knows it, so none can do anything about it."""


class Impatient:
    """Keeps patterns, and ends the run after so many different ones."""

    def __init__(self, checkpoint: Checkpoint, left: int, how: type[BaseException]) -> None:
        self.checkpoint, self.left, self.how = checkpoint, left, how
        self.last = b"" if checkpoint.start is None else checkpoint.start.tobytes()

    def __call__(self, suppressed: np.ndarray) -> None:
        self.checkpoint.keep(suppressed)
        if suppressed.tobytes() != self.last:
            self.last, self.left = suppressed.tobytes(), self.left - 1
            if self.left == 0:
                raise self.how


def draw(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    shape = (random_hierarchy(rng, 4, levels=2), random_hierarchy(rng, 3, levels=2)) if seed % 2 else (2, 2, 2)
    options = {"primaries": 0.3, "must_publish": 0.0, "already_suppressed": 0.05, "sliding": seed % 2 == 1}
    return random_problem(rng, random_table(rng, shape), **options)


@pytest.mark.parametrize("method", SUPPRESSION)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_and_resumed_it_is_safe(method, seed, file, monkeypatch):
    """After any call of keep, as kill -9 would: only what is in the file is left."""
    monkeypatch.setattr(module, "SECONDS_BETWEEN_WRITES", 0.0)
    problem = draw(seed)
    for after in (1, 3, 8):
        keep = Impatient(Checkpoint(file, problem), after, Killed)
        with contextlib.suppress(Killed):
            protect(problem, method, keep=keep)
        check_resumed(problem, method, Checkpoint(file, problem))
        file.unlink()
        if keep.left:
            break


def check_resumed(problem: Problem, method: str, checkpoint: Checkpoint) -> None:
    assert checkpoint.start is not None
    found = protect(problem, method, start=checkpoint.start, keep=checkpoint.keep)
    assert audit(problem, found).passed
    if audit(problem, suppress(problem, checkpoint.start), intervals=False).passed and method != "first-model":
        assert found.report.cost <= problem.cost[checkpoint.start].sum() * (1 + 1e-9)


@pytest.mark.parametrize("method", SUPPRESSION)
def test_ctrl_c_again_and_again_comes_to_an_end(method, file, monkeypatch):
    """Each run goes on from the one before. Some methods have a safe pattern when they are stopped, and return it."""
    monkeypatch.setattr(module, "SECONDS_BETWEEN_WRITES", 0.0)
    problem = draw(1)
    for _ in range(60):
        try:
            with Checkpoint(file, problem) as checkpoint:
                found = protect(
                    problem, method, start=checkpoint.start, keep=Impatient(checkpoint, 2, KeyboardInterrupt)
                )
        except KeyboardInterrupt:
            continue
        assert audit(problem, found).passed
        return
    raise AssertionError("no progress is made")


@pytest.mark.parametrize("method", SUPPRESSION)
def test_the_last_pattern_is_kept(method, file):
    problem = draw(2)
    with Checkpoint(file, problem) as checkpoint:
        found = protect(problem, method, keep=checkpoint.keep)
    assert np.array_equal(Checkpoint(file, problem).start, found.suppressed)


@pytest.mark.slow
def test_kill_9_and_go_on(tmp_path):
    rng = np.random.default_rng(2)
    problem = random_problem(rng, random_table(rng, (13, 13, 13), zeros=0.02), must_publish=0, primaries=0.1)
    write_problem(problem, tmp_path / "hard.discreet")
    words = ["-m", "discreet", "protect", "hard.discreet", "--checkpoint", "so-far", "--out", "f.csv"]
    process = subprocess.Popen([sys.executable, *words], cwd=tmp_path)
    written: set[int] = set()
    end = time.monotonic() + 120
    while not written and process.poll() is None and time.monotonic() < end:
        if (tmp_path / "so-far").exists():
            written.add((tmp_path / "so-far").stat().st_mtime_ns)
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    start = Checkpoint(tmp_path / "so-far", problem).start
    assert (start & (problem.status == Status.FREE)).any()
    again = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0
    assert again.stderr == f"discreet: continuing from so-far, which suppresses {start.sum()} cells\n"
    assert "audit: safe" in again.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.csv", "hard.discreet"]
