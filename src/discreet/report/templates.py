"""HTML pages from templates."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from discreet.report import words

Row = dict[str, Any]  # content of a template


def render(template: str, room: str = "report", **content: Any) -> str:
    """The page of a template in a room, with its content and the date."""
    now = datetime.now().astimezone()
    return _environment(room).get_template(template).render(date=f"{now.day} {now:%B %Y, %H:%M (UTC%z)}", **content)


@cache
def _environment(room: str) -> Environment:
    """The templates of a room and of ``report``; stored because compiling them takes longer than filling them in."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("discreet", room), PackageLoader("discreet", "report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=words.number, percent=words.percent, seconds=words.seconds)
    return environment
