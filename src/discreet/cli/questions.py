"""Questions to users: a faulty answer gets a message, and the question is asked again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from discreet.cli.common import console
from discreet.errors import DiscreetError

Meaning = TypeVar("Meaning")


def asks() -> bool:
    """Whether questions can be asked: input comes from a terminal."""
    return sys.stdin.isatty()


def ask(question: str, default: str, understood: Callable[[str], Meaning]) -> Meaning:
    """What an answer means."""
    while True:
        answer = str(click.prompt(question, default=default)).strip()
        try:
            return understood(answer)
        except DiscreetError as error:
            console.print(f"  {error}", markup=False)


def ask_yes(question: str, *, default: bool) -> bool:
    return click.confirm(question, default=default)
