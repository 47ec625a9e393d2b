"""The secret key of the random numbers that protect data."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from discreet.errors import InputError

DRAWN_BYTES = 32  # of a new secret: 256 bits
MIN_SECRET_DIGITS = 32  # hexadecimal: 128 bits, too many for an exhaustive search
MAX_SECRET_DIGITS = 1024  # a longer file is not a key
MIN_DISTINCT_DIGITS = 8  # of 16 digits: a random secret has fewer once in 20 million draws


@dataclass(frozen=True, repr=False)
class Secret:
    """At least 128 random bits as hexadecimal digits. Confidential, as are the random numbers made from it."""

    digits: str

    def __post_init__(self) -> None:
        digits = self.digits.strip().lower() if isinstance(self.digits, str) else ""
        if not re.fullmatch(rf"[0-9a-f]{{{MIN_SECRET_DIGITS},{MAX_SECRET_DIGITS}}}", digits):
            raise InputError(
                f"A secret has at least {MIN_SECRET_DIGITS} hexadecimal digits (128 bits): anything shorter, such as a seed, can "
                "be tried out. Leave it out to draw one, or make one with `discreet secret FILE`."
            )
        if len(set(digits)) < MIN_DISTINCT_DIGITS:
            raise InputError("This secret was not drawn at random. Make one with `discreet secret FILE`.")
        object.__setattr__(self, "digits", digits)

    def __repr__(self) -> str:
        return "Secret(…)"

    @classmethod
    def drawn(cls) -> Secret:
        """A new secret from the operating system."""
        while True:
            digits = secrets.token_hex(DRAWN_BYTES)
            if len(set(digits)) >= MIN_DISTINCT_DIGITS:
                return cls(digits)

    @classmethod
    def of(cls, given: Secret | str | None) -> Secret:
        """The given secret, or a new one for None."""
        if isinstance(given, Secret):
            return given
        return cls.drawn() if given is None else cls(given)

    @classmethod
    def read(cls, path: str | Path) -> Secret:
        """The secret in a file that holds only its digits."""
        try:
            text = Path(path).read_bytes()[: 2 * MAX_SECRET_DIGITS].decode("ascii")
        except FileNotFoundError:
            raise InputError(
                f"The file of the secret, {path}, does not exist. Make one: discreet secret {path}"
            ) from None
        except (OSError, UnicodeDecodeError):
            raise InputError(
                f"The file of the secret, {path}, cannot be read. "
                "It holds hexadecimal digits only, and you must be allowed to read it."
            ) from None
        try:
            return cls(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def key(self, purpose: str) -> bytes:
        """64 bytes for one purpose. They reveal neither the secret nor the bytes of other purposes."""
        return blake2b(purpose.encode(), key=blake2b(self.digits.encode()).digest(), digest_size=64).digest()

    def generator(self, purpose: str) -> np.random.Generator:
        """Random numbers for one purpose: Philox, with a key and a counter that depend on the secret."""
        words = np.frombuffer(self.key(purpose), dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=words[:2], counter=words[2:6]))
