"""The refusal of a written release that differs from what was audited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.errors import NotSafeError, some

WRITTEN_TOLERANCE = 1e-15  # relative: workbooks have sixteen digits


def refuse(what: str, which: Sequence[Any]) -> NoReturn:
    """Raise the error that names what differs; cells are given as tuples of codes, or by label."""
    named = [LABEL_SEPARATOR.join(one) if isinstance(one, tuple) else str(one) for one in which]
    raise NotSafeError(
        f"Not published: as written the release has other {what} than were audited, e.g. {some(named)}.", list(which)
    )
