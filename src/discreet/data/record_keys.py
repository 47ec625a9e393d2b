"""Record keys of the cell-key method: the same records get the same noise in every table."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import InputError
from discreet.secret import Secret

N_KEYS = 1 << 24  # keys are integers below this number: their sums over half a billion records are exact in a double


def record_keys(identifiers: Iterable[Any], *, secret: Secret | str) -> IntArray:
    """A key for every record: an integer from 0 to 2²⁴ − 1 that depends only on its identifier and the secret.

    The noise follows from the secret and the identifiers. Keep the secret confidential, and use it again for the same records.
    """
    if secret is None:
        raise InputError("Keys need a secret. Keep it, so that the same records get the same keys again.")
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
    return (numbers % N_KEYS).astype(np.int64)


def _text(identifier: Any) -> str | None:
    """The identifier as text, as in tables of records: 7.0 is 7; None if it is missing or empty."""
    if identifier is None or identifier != identifier or str(identifier) in ("", "<NA>"):
        return None
    if isinstance(identifier, float | np.floating) and float(identifier).is_integer():
        identifier = int(identifier)
    return str(identifier)
