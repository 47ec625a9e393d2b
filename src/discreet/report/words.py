"""Numbers, names and statuses as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.errors import plural as plural
from discreet.languages import Language, language

STATUS = {
    "optimal": "optimal: no safe result costs less",
    "within_gap": "within the accepted gap of the cheapest safe pattern",
    "time_limit": "the best pattern found within the time limit",
    "interrupted": "the best pattern found before the interruption",
    "heuristic": "heuristic: a cheaper safe pattern may exist",
    "infeasible": "no safe pattern was found",
}


def number(x: float | None) -> str:
    """Integers in full, other numbers to five digits, and ``∞``."""
    if x is None:
        return "–"
    size = abs(x)
    if math.isinf(size):
        text = "∞"
    elif size >= 1e15 or 0 < size < 1e-6:
        text = f"{size:.4g}"
    elif abs(size - round(size)) <= 1e-9 * size:
        text = f"{size:,.0f}"
    else:
        decimals = max(4 - math.floor(math.log10(size)), 0)
        text = f"{size:,.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{size:,.0f}"
    return f"−{text}" if x < 0 else text


def percent(share: float | None) -> str:
    """A share in percent; ``< 0.1 %`` and ``> 99.9 %`` so that only 0 and 1 are shown as 0 % and 100 %."""
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.0f} %" if share in (0, 1) else f"{100 * share:.1f} %"


def slack(ratio: float, safe: bool) -> str:
    """A slack as ``1.23 ×``, rounded so that it does not contradict the verdict: 0.999 of an exposed cell is ``0.99 ×``."""
    ratio = max(ratio, 1.0) if safe else min(math.floor(min(ratio, 1.0) * 100) / 100, 0.99)
    return "∞" if math.isinf(ratio) else f"{ratio:,.0f} ×" if ratio >= 100 else f"{ratio:.2f} ×"


def seconds(time: float) -> str:
    if time < 120:
        return "< 0.01 s" if time < 0.01 else f"{time:.2g} s" if time < 10 else f"{time:.0f} s"
    return f"{time // 60:,.0f} min {time % 60:.0f} s"


def listed(names: Sequence[str], limit: int = 5, said_in: Language | None = None) -> str:
    """``a, b and c``, or the first names and the number of others; in English by default."""
    say = (said_in or language("en")).say
    shown = [*names[:limit], say("{n} more", n=len(names) - limit)] if len(names) > limit else list(names)
    return say("{first} and {last}", first=", ".join(shown[:-1]), last=shown[-1]) if shown[1:] else "".join(shown)
