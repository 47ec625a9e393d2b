"""Somebody presses Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class InterruptAtHint:
    """Ctrl-C at the given report that says what Ctrl-C does; ``hint`` is what it says."""

    after: int
    hint: str = ""
    seen: int = 0

    def stage(self, name: str, total: int) -> None:
        pass

    def update(self, done: int, note: str = "") -> None:
        _, _, hint = note.partition("\n")
        if hint:
            self.seen += 1
            if self.seen == self.after + 1:
                self.hint = hint
                raise KeyboardInterrupt


@dataclass
class Interrupt:
    """Ctrl-C at the given report of a stage (of any, without a name); counts what went before."""

    after: int
    during: str | None = None
    stage_now: str = ""
    seen: int = 0

    def stage(self, name: str, total: int) -> None:
        self.stage_now = name

    def update(self, done: int, note: str = "") -> None:
        if self.during in (None, self.stage_now):
            self.seen += 1
            if self.seen == self.after + 1:
                raise KeyboardInterrupt
