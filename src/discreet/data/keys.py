"""Random keys of records, from which perturbed counts get the same noise wherever the same records are counted."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.secret import Secret

BITS = 24
KEYS = 1 << BITS  # keys are whole numbers below this: sums over half a billion records are exact in a double


def record_keys(identifiers: Iterable[Any], *, secret: Secret | str) -> NDArray[np.int64]:
    """A key for every record, a whole number from 0 to 2²⁴ − 1 that depends on its identifier and the secret alone.

    Whoever knows the secret and the identifiers can work out the noise. Keep it: the same records need the same keys again.
    """
    if secret is None:
        raise InputError("Keys need a secret that is kept, so that the same records get the same keys again.")
    key = Secret.of(secret).key("record keys")
    texts = [_text(identifier) for identifier in identifiers]
    missing = sum(text is None for text in texts)
    if missing:
        raise InputError(f"{missing:,} records have no identifier. Give every record one of its own.")
    if len(set(texts)) < len(texts):
        twice = len(texts) - len(set(texts))
        raise InputError(f"{twice:,} records have the identifier of another one. Give every record one of its own.")
    digests = (blake2b(str(text).encode(), digest_size=4, key=key).digest() for text in texts)
    numbers = np.frombuffer(b"".join(digests), dtype="<u4")
    return (numbers % KEYS).astype(np.int64)


def _text(identifier: Any) -> str | None:
    """As tables of records are read: 7 and 7.0 are the same, and nothing is no identifier."""
    if identifier is None or identifier != identifier or str(identifier) in ("", "<NA>"):
        return None
    if isinstance(identifier, float | np.floating) and float(identifier).is_integer():
        identifier = int(identifier)
    return str(identifier)
