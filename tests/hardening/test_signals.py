"""Ctrl-C and SIGTERM end the program with the same words and code, whenever they come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import discreet
from discreet.drafts import DRAFT_PREFIX
from discreet.jobs.demo import write_demo

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

STOPPED = "discreet: stopped; no result was written.\n"
PROGRAM = [sys.executable, "-m", "discreet"]

# Tells when the program begins to load, and when it is about to end.
WATCHED = """
import runpy, sys, threading
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "discreet.cli.lists":
            print("loading", flush=True)
sys.meta_path.insert(0, Watch())
import atexit, time
def last():
    print("ending", flush=True)
    time.sleep(20)
atexit.register(last)
sys.argv = ["discreet", *sys.argv[1:]]
runpy.run_module("discreet", run_name="__main__")
"""


def started(*words: str, folder: Path, watched: bool = False) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", WATCHED] if watched else PROGRAM
    source = str(Path(discreet.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*program, *words], cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("later", [0.0, 0.2, 0.6])
def test_while_it_loads(tmp_path, number, later):
    process = started("rules", folder=tmp_path, watched=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    time.sleep(later)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (1, STOPPED)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_at_the_end_the_result_stands(tmp_path, number):
    """What was to be done is done: the code is that of the result, and there is nothing to say."""
    process = started("rules", folder=tmp_path, watched=True)
    assert process.stdout is not None
    while process.stdout.readline() not in ("ending\n", ""):
        pass
    process.send_signal(number)
    _, said = process.communicate(timeout=10)
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_in_the_middle(tmp_path, workers):
    """To all processes at once, as a service manager does."""
    job = write_demo(tmp_path / "d")
    text = job.read_text().replace('method = "kelly"', f'method = "optimal"\nworkers = {workers}')
    job.write_text(text.replace('folder = "."', 'folder = "o"'))
    process = started("run", "d/job.toml", folder=tmp_path)
    assert process.stdout is not None
    while "assessed" not in process.stdout.readline():
        pass
    time.sleep(2)
    os.killpg(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert (process.returncode, said.strip()) == (1, STOPPED.strip())
    assert not [file for file in tmp_path.rglob("*") if file.name.startswith(DRAFT_PREFIX)]
    assert list((tmp_path / "d" / "o").iterdir()) == []


def test_what_nohup_ignores_stays_ignored(tmp_path):
    ran = subprocess.run(
        ["sh", "-c", f"trap '' INT; exec {sys.executable} -m discreet rules & sleep 0.5; kill -INT $!; wait $!"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(discreet.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_package_loads_nothing_until_asked_and_functions_come_before_modules_of_the_same_name():
    code = (
        "import sys, discreet\n"
        "assert 'numpy' not in sys.modules\n"
        "import discreet.audit, discreet.data.link, discreet.assess, discreet.data.hierarchy\n"
        "from discreet import audit, link, assess, Hierarchy\n"
        "assert callable(audit) and callable(link) and callable(assess) and discreet.audit is audit\n"
        "assert discreet.data.hierarchy.Hierarchy is Hierarchy\n"
        "assert set(discreet.__all__) <= set(dir(discreet))\n"
        "assert callable(discreet.tabulate) and 'numpy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
