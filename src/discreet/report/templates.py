"""HTML pages from templates."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from discreet.languages import Lang, language
from discreet.report import words

Row = dict[str, Any]  # content of a template


def render(template: str, room: str = "report", lang: Lang = "en", **content: Any) -> str:
    """The page of a template in a room, with its content, the date and the language of its readers."""
    page, said_in = _environment(room).get_template(template), language(lang)
    return page.render(date=said_in.moment(datetime.now().astimezone()), language=said_in, say=said_in.say, **content)


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
