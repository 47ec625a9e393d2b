"""Progress: seen by people, silent in scripts; and budgets of time."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

import pytest

from discreet.progress import (
    SAFE_ALREADY,
    Budget,
    Heartbeat,
    Silent,
    StageTime,
    Stopwatch,
    duration,
    on_terminal,
    with_hint,
)


@pytest.fixture
def no_terminal(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def a_terminal(monkeypatch):
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "100"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)


def work(progress) -> None:
    progress.stage("protect", 1200)
    progress.update(600)
    progress.update(1200, "345 suppressed")
    progress.stage("audit", 0)
    progress.update(0)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_quick_work_writes_nothing_into_a_log(no_terminal, capsys):
    with on_terminal() as progress:
        work(progress)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("place", ["a_terminal", "no_terminal"])
def test_silent_when_told_to_be_quiet(place, request, capsys):
    request.getfixturevalue(place)
    with on_terminal(quiet=True) as progress:
        assert isinstance(progress, Silent)
        work(progress)
    assert capsys.readouterr() == ("", "")


# -- a log -------------------------------------------------------------------------------------------------------------


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("discreet.progress.time.monotonic", clock)
    return clock


@pytest.fixture
def lines() -> list[str]:
    return []


def test_a_line_of_a_log_has_the_stage_the_time_and_what_is_left(clock, lines):
    progress = Heartbeat(lines.append)
    progress.beat()  # nothing has begun
    progress.stage("clean up", 17_000)
    clock.now += 30
    progress.beat()
    progress.update(3_400, with_hint("4,310 suppressed", SAFE_ALREADY))
    clock.now += 30
    progress.beat()
    assert lines == [
        "clean up: after 30 s",
        "clean up: 3,400 of 17,000 after 1 min 0 s, about 4 min 0 s left; 4,310 suppressed; " + SAFE_ALREADY,
    ]


def test_the_log_goes_on_if_a_single_step_takes_long(no_terminal, clock, monkeypatch, capsys):
    """The thread that writes does not need a report; here its clock ticks twice and stops."""
    ticks = iter([False, False, True])
    monkeypatch.setattr("discreet.progress.threading.Event.wait", lambda self, seconds: next(ticks))
    monkeypatch.setattr("discreet.progress.threading.Thread", AtOnce)
    with on_terminal() as progress:
        progress.stage("tabulate", 0)
        AtOnce.last.run()
    assert capsys.readouterr() == ("", "discreet: tabulate: after 0 s\n" * 2)


class AtOnce:
    """A thread that runs when the test says so."""

    last: AtOnce

    def __init__(self, target, daemon) -> None:
        assert daemon  # it must not keep a process alive
        self.run = target
        AtOnce.last = self

    def start(self) -> None:
        pass

    join = start


def test_too_early_at_the_end_and_without_a_total_there_is_no_estimate(clock, lines):
    progress = Heartbeat(lines.append)
    for total, done, seconds in ((100, 1, 1), (100, 100, 60), (0, 17, 60), (100, 0, 60)):
        progress.stage("audit", total)
        progress.update(done)
        clock.now += seconds
        progress.beat()
    assert not [line for line in lines if "left" in line]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (4800, "1 h 20 min"), (4e6, "1,111 h 6 min")],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


# -- stages ------------------------------------------------------------------------------------------------------------


def test_a_stopwatch_adds_up_the_seconds_of_each_stage(clock):
    watch = Stopwatch(Silent())
    assert watch.times() == ()
    for stage, seconds in (("tabulate", 2), ("protect", 5), ("audit", 1), ("protect", 4)):
        watch.stage(stage, 10)
        watch.update(5)
        clock.now += seconds
    assert watch.times() == (StageTime("tabulate", 2), StageTime("protect", 9), StageTime("audit", 1))
    clock.now += 1
    assert watch.times()[1] == StageTime("protect", 10)  # it still runs


# -- a terminal --------------------------------------------------------------------------------------------------------


def test_bars_on_a_terminal_go_to_standard_error(a_terminal, capsys):
    with on_terminal() as progress:
        progress.stage("protect", 1200)
        progress.update(600, "345 suppressed")
    out, err = capsys.readouterr()
    assert out == ""
    assert "protect" in plain(err)
    assert "600/1,200" in plain(err)
    assert "345 suppressed" in plain(err)


def test_a_bar_says_what_is_left_and_shows_the_hint_below(a_terminal, clock, capsys):
    with on_terminal() as progress:
        progress.stage("clean up", 100)
        clock.now += 60
        progress.update(25, with_hint("345 suppressed", SAFE_ALREADY))
    err = plain(capsys.readouterr().err)
    assert re.search(rf"25/100 .* about 3 min 0 s left 345 suppressed *\n{re.escape(SAFE_ALREADY)}", err)


def test_the_hint_ends_with_its_stage(a_terminal, capsys):
    with on_terminal() as progress:
        progress.stage("clean up", 100)
        progress.update(25, with_hint("", SAFE_ALREADY))
        progress.stage("audit", 100)
        progress._bars.refresh()
    assert SAFE_ALREADY not in plain(capsys.readouterr().err).rsplit("audit", 1)[1]


def test_rounds_without_end_have_no_total(a_terminal, capsys):
    with on_terminal() as progress:
        progress.stage("intervals", 0)
        progress.update(17, "8 requirements violated")
    err = plain(capsys.readouterr().err)
    assert re.search(r"━ 17 0:00:0\d +8 requirements violated", err)
    assert "/0" not in err


def test_one_bar_at_a_time_and_none_is_left(a_terminal, capsys):
    with on_terminal() as progress:
        work(progress)
    err = capsys.readouterr().err
    last = plain(err.rsplit("\r", 2)[-2])
    assert "protect" not in last
    assert err.rstrip("\r").endswith("\x1b[2K")  # the line of the bar is wiped out


def test_an_update_before_any_stage_is_ignored(a_terminal):
    with on_terminal() as progress:
        progress.update(5)


def test_errors_pass_through_and_the_cursor_comes_back(a_terminal, capsys):
    def interrupted() -> None:
        with on_terminal() as progress:
            progress.stage("protect", 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "\x1b[?25h" in capsys.readouterr().err


def test_standard_output_in_a_file_stays_in_the_file(a_terminal, capsys):
    """Bars on the terminal, ``> log.txt`` beside them."""
    with on_terminal() as progress:
        progress.stage("protect", 10)
        print("a line of the log")
    out, err = capsys.readouterr()
    assert out == "a line of the log\n"
    assert "a line of the log" not in err


def test_standard_output_on_the_same_terminal_goes_above_the_bars(a_terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with on_terminal() as progress:
        progress.stage("protect", 10)
        print("a line in between")
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"\r\x1b\[2K.*a line in between\n", err)


# -- budgets ------------------------------------------------------------------------------------------------------------


def test_without_a_limit_a_budget_is_never_over():
    budget = Budget()
    assert not budget.over
    assert budget.seconds is None
    assert budget.gap == 0


def test_a_budget_of_nothing_is_over_at_once():
    assert Budget(0).over


def test_a_budget_runs_out(monkeypatch):
    now = 100.0
    monkeypatch.setattr("discreet.progress.time.monotonic", lambda: now)
    budget = Budget(5, gap=0.01)
    assert (budget.spent, budget.over, budget.gap) == (0, False, 0.01)
    now = 104.9
    assert not budget.over
    now = 105.0
    assert (budget.spent, budget.over) == (5, True)


def test_budgets_made_from_a_budget_are_cancelled_with_it():
    """Ctrl-C in a step ends the steps after it too, whatever time they have left."""
    budget = Budget(100.0)
    step = budget.share(0.5)
    with step.interruptible():
        raise KeyboardInterrupt
    assert budget.cancelled
    assert budget.over
    assert budget.without(1.0).over
    assert budget.ending == "interrupted"
    assert (Budget().left, Budget().over, Budget(0.0).ending) == (None, False, "time_limit")
