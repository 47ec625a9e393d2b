"""Progress: seen by people, silent in scripts; and budgets of time."""

from __future__ import annotations

import re
import sys

import pytest

from discreet.progress import Budget, Silent, on_terminal


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


def test_silent_when_standard_error_is_no_terminal(no_terminal, capsys):
    with on_terminal() as progress:
        assert isinstance(progress, Silent)
        work(progress)
    assert capsys.readouterr() == ("", "")


def test_silent_when_told_to_be_quiet(a_terminal, capsys):
    with on_terminal(quiet=True) as progress:
        work(progress)
    assert capsys.readouterr() == ("", "")


def test_bars_on_a_terminal_go_to_standard_error(a_terminal, capsys):
    with on_terminal() as progress:
        progress.stage("protect", 1200)
        progress.update(600, "345 suppressed")
    out, err = capsys.readouterr()
    assert out == ""
    assert "protect" in plain(err)
    assert "600/1,200" in plain(err)
    assert "345 suppressed" in plain(err)


def test_rounds_without_end_have_no_total(a_terminal, capsys):
    with on_terminal() as progress:
        progress.stage("intervals", 0)
        progress.update(17, "8 demands missed")
    err = plain(capsys.readouterr().err)
    assert re.search(r"━ 17 0:00:0\d 8 demands missed", err)
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
