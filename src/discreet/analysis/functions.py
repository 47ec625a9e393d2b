"""The aggregations that are audited, and why others are not."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from discreet.errors import InputError

COUNT, SIZE, SUM, MEAN = "count", "size", "sum", "mean"
AUDITED = (COUNT, SIZE, SUM, MEAN)
FUNCTIONS: dict[Callable[..., Any], str] = {builtins.sum: SUM, np.sum: SUM, np.mean: MEAN, len: SIZE}

_SINGLE = (
    "it is the value of one respondent, or lies between two. Cut the column into classes and count them with crosstab"
)
_SPREAD = (
    "with the mean and the number of records it gives a sum of squares, which no audit of sums covers. Publish the mean"
)
REFUSED = {
    **dict.fromkeys(("median", "quantile", "mode"), _SINGLE),
    **dict.fromkeys(("min", "max", "first", "last", "nth", "idxmin", "idxmax"), _SINGLE),
    **dict.fromkeys(("var", "std", "sem", "skew", "kurt"), _SPREAD),
    "nunique": "a number of distinct values does not add up to totals. Count the values with crosstab",
    "prod": "a product does not add up to totals. Publish the sum",
}


def function_name(given: Any) -> str:
    """The name of an audited aggregation; raises for all others, with the reason."""
    if callable(given) and given in FUNCTIONS:
        return FUNCTIONS[given]
    name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    if isinstance(given, str) and given in AUDITED:
        return given
    reason = REFUSED.get(name, "it is not known what readers can infer from it. Publish a count, a sum or a mean")
    raise InputError(f"aggfunc={name!r} is not audited: {reason}. Audited are {', '.join(AUDITED)}.", [name])


def heading(given: Any) -> Hashable:
    """The heading that pandas gives to the columns of an aggregation in a list."""
    found: Hashable = getattr(given, "__name__", given)
    return found
