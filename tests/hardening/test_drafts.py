"""Drafts are private, and those of a run that was killed are removed by the next one; confidential files are their owner's."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import ibis
import pandas as pd
import pyarrow as pa
import pytest

from discreet import assess, audit, protect, publish, tabulate, write_problem, write_release
from discreet.audit import certificate, write_certificate
from discreet.data.survey import business_survey
from discreet.drafts import DRAFT_PREFIX, draft_file, draft_folder, sweep
from discreet.io import bundle, writing
from discreet.io.pattern import write_pattern
from discreet.jobs.demo import write_demo
from discreet.jobs.job import run_job
from discreet.jobs.job_file import read_job
from discreet.report import write_report

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and signals")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def drafts(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(DRAFT_PREFIX)]


WRITER = """
import sys, time
from pathlib import Path
from discreet.io import writing
from discreet.drafts import draft_folder
with draft_folder() as spill, writing(Path(sys.argv[1]) / "out.csv") as draft:
    (spill / "secret").write_text("secret")
    draft.write_text("secret")
    print(draft, spill, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def killed(tmp_path):
    """Start a run that writes a draft, and kill it."""

    def start(number: signal.Signals | None) -> tuple[subprocess.Popen[str], Path, Path]:
        (tmp_path / "temporary").mkdir(exist_ok=True)
        environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
        words = [sys.executable, "-c", WRITER, str(tmp_path)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        draft, spill = map(Path, process.stdout.readline().split())
        if number is not None:
            process.send_signal(number)
            process.wait(30)
        return process, draft, spill

    started = []

    def keep(number: signal.Signals | None = None):
        started.append(start(number))
        return started[-1]

    yield keep
    for process, _, _ in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_drafts_of_a_killed_run_are_private_and_go_with_the_next(tmp_path, killed, monkeypatch):
    _, draft, spill = killed(signal.SIGKILL)
    assert mode(draft) == 0o600
    assert mode(spill) == 0o700
    monkeypatch.setattr(tempfile, "tempdir", str(spill.parent))
    with writing(tmp_path / "other.csv") as mine:
        assert drafts(tmp_path) == [mine.name]
    with draft_folder() as mine:
        assert drafts(spill.parent) == [mine.name]
    assert drafts(tmp_path) == drafts(spill.parent) == []
    assert not (tmp_path / "out.csv").exists()


def test_drafts_of_a_run_at_work_stay(tmp_path, killed, monkeypatch):
    process, draft, spill = killed()
    monkeypatch.setattr(tempfile, "tempdir", str(spill.parent))
    with writing(tmp_path / "other.csv"), draft_folder():
        pass
    assert draft.read_text() == (spill / "secret").read_text() == "secret"
    process.kill()
    process.wait()
    sweep(tmp_path)
    assert not draft.exists()


def test_files_of_others_stay(tmp_path):
    """Only what looks like a draft, is a file or folder, and is ours."""
    (tmp_path / "target").write_text("keep")
    (tmp_path / ".draft-mine.csv").write_text("keep")
    (tmp_path / f"{DRAFT_PREFIX}link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / f"{DRAFT_PREFIX}pipe")
    sweep(tmp_path)
    assert (tmp_path / "target").read_text() == "keep"
    assert (tmp_path / ".draft-mine.csv").exists()
    assert (tmp_path / f"{DRAFT_PREFIX}link").is_symlink()


def test_a_draft_that_is_swept_before_it_is_locked(tmp_path, monkeypatch):
    """Another run may look between making and locking a draft: then it is made again."""
    from discreet import drafts as module

    lock, calls = module._lock, []

    def slow(handle: int, *, wait: bool) -> bool:
        if not calls:
            calls.append(True)
            for name in drafts(tmp_path):
                (tmp_path / name).unlink()
        return lock(handle, wait=wait)

    monkeypatch.setattr(module, "_lock", slow)
    with draft_file(tmp_path, ".csv") as draft:
        assert calls
        assert draft.exists()
    assert drafts(tmp_path) == []


def test_a_folder_that_is_swept_before_it_is_opened(tmp_path, monkeypatch):
    """Several jobs at once in one folder for drafts: the folder of one was removed by another, and it ended with an error."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, made = tempfile.mkdtemp, []

    def swept(**options: str) -> str:
        made.append(make(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    with draft_folder() as folder:
        assert (len(made), str(folder)) == (2, made[1])
        assert folder.is_dir()
    assert drafts(tmp_path) == []


def test_drafts_in_a_folder_without_locks(tmp_path, monkeypatch):
    """Without locks the owner of a draft is unknown: no draft is removed, and writing works."""
    from discreet import drafts as module

    monkeypatch.setattr(module, "_lock", lambda *_, **__: False)
    (tmp_path / f"{DRAFT_PREFIX}x").write_text("")
    with writing(tmp_path / "out.csv") as draft:
        draft.write_text("x")
    assert (tmp_path / "out.csv").read_text() == "x"
    assert (tmp_path / f"{DRAFT_PREFIX}x").exists()


# -- permissions --------------------------------------------------------------------------------------------------


@pytest.fixture
def open_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_what_a_job_writes(tmp_path, open_umask, monkeypatch):
    small = business_survey(seed=1, establishments=120)
    monkeypatch.setattr("discreet.jobs.demo.business_survey", lambda seed: small)
    job = write_demo(tmp_path / "demo")
    text = (
        job.read_text()
        .replace('folder = "."', 'folder = "out"\nshare = true')
        .replace('attacks = ["exact", "fit"]', "")
        .replace("[protect]", '[protect]\nlevel = "cells"')
    )
    job.write_text(text)
    left = tmp_path / "demo" / "out" / f"{DRAFT_PREFIX}left"
    left.parent.mkdir()
    left.write_text("secret")
    result = run_job(read_job(job))
    assert not left.exists()
    modes = {file.name: mode(file) for file in result.files}
    public = {name for name in modes if name.startswith("release.") or name == "report-shareable.html"}
    assert len(public) == 4
    assert {modes[name] for name in public} == {0o644}
    assert {modes[name] for name in set(modes) - public} == {0o600}
    assert mode(tmp_path / "demo" / "survey.csv") == 0o644


def test_what_the_library_writes(tmp_path, open_umask):
    frame = pd.DataFrame({"g": list("aabbccdd"), "v": [1, 20, 30, 40, 50, 60, 70, 80]})
    table = tabulate(frame, "g", "v")
    problem = assess(table, ["P(10)"])
    protection = protect(problem, "kelly")
    checked = audit(problem, protection, certify=True)
    bundle.write_table(table, tmp_path / "t.discreet")
    write_problem(problem, tmp_path / "p.discreet")
    write_problem(problem, tmp_path / "p.jj.gz")
    write_pattern(protection, tmp_path / "pattern.csv")
    write_report(tmp_path / "report.html", problem, protection, checked)
    write_certificate(certificate(checked, protection), tmp_path / "c.json.gz")
    assert {mode(file) for file in tmp_path.iterdir()} == {0o600}
    write_release(publish(problem, protection, checked), tmp_path / "release.csv")
    assert mode(tmp_path / "release.csv") == 0o644


def test_records_spill_somewhere_private(tmp_path, monkeypatch):
    """Reading all records left its spill in the working folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    from discreet.data import records as microdata

    with microdata._engine() as (connection, spill):
        assert mode(spill) == 0o700
        [[used]] = connection.con.execute("select current_setting('temp_directory')").fetchall()
        assert Path(used) == spill
    assert list(tmp_path.iterdir()) == []


def test_few_records_spill_nowhere_and_are_seen_by_nobody_else():
    """All files and frames with few records are opened in one engine, so that none may see those of another."""
    from discreet.data import records as microdata

    with microdata._engine(shared=True) as (one, _), microdata._engine(shared=True) as (other, _):
        assert one.con.execute("select current_setting('temp_directory')").fetchall() == [("",)]
        one.con.register("records", pa.table({"firm": ["a secret"]}))
        one.con.execute("create temp table more as select * from records")
        assert one.con.execute("show all tables").fetchall()
        assert other.con.execute("show all tables").fetchall() == []
    with microdata._engine(shared=True) as (later, _):
        assert later.con.execute("show all tables").fetchall() == []
    mine = microdata._shared_engine(os.getpid())
    assert microdata._shared_engine(0) is not mine, "a process does not use that of another"


def test_an_engine_that_is_shared_gets_small_files_only(tmp_path, monkeypatch):
    """Those of unknown size may need space on disk: a compressed file can contain anything."""
    from discreet.data import records as microdata

    started, connect = [], ibis.duckdb.connect
    monkeypatch.setattr(ibis.duckdb, "connect", lambda **given: started.append(given) or connect(**given))
    frame = pd.DataFrame({"a": ["x"]})
    for name, write in (("r.csv", frame.to_csv), ("r.csv.gz", frame.to_csv), ("r.parquet", frame.to_parquet)):
        write(tmp_path / name, index=False)
        tabulate(tmp_path / name, "a")
        assert bool(started) == (name != "r.csv")
        started.clear()
    tabulate(frame, "a")
    assert not started
    monkeypatch.setattr(microdata, "MAX_BYTES_SHARED", 5)
    tabulate(tmp_path / "r.csv", "a")
    assert not started
    monkeypatch.setattr(microdata, "MAX_BYTES_SHARED", 0)
    tabulate(tmp_path / "r.csv", "a")
    tabulate(frame, "a")
    assert len(started) == 2
