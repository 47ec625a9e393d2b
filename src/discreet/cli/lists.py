"""The commands rules and methods, which list rules, costs, methods and formats."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.common import console
from discreet.costs import COSTS
from discreet.costs import usage as cost_usage
from discreet.io import FORMATS
from discreet.methods import METHODS, options_of
from discreet.rules import RULES, usage


@click.command("rules")
def rules_command() -> None:
    """List the rules, costs and their notation."""
    for name, rule in RULES.items():
        console.print(f"[bold]{usage(name)}[/]".replace("[,", "\\[,"), _first_line(rule))
    console.print(f"\nCosts: {', '.join(map(cost_usage, COSTS))}", markup=False)


@click.command("methods")
def methods_command() -> None:
    """List the methods with their options, and the file formats."""
    for name, method in METHODS.items():
        console.print(f"[bold]{name}[/]", _first_line(method))
        for option in options_of(method):
            default = f", default {option.default}" if option.default else ""
            console.print(f"  {option.name} ({option.type}{default}): {option.meaning}", markup=False)
    console.print(f"\nFormats: {', '.join(FORMATS)}", markup=False)


def _first_line(documented: Any) -> str:
    return (documented.__doc__ or "").strip().splitlines()[0].replace("``", "")
