"""What is kept of a text: all of it up to 64 KiB, cut on a code point and marked honestly."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec import Struct

KEPT_BYTES: Final = 64 * 1024


class Words(Struct, frozen=True):
    """`length` is the whole's code points, null where nothing was cut; `digest` is sha256 of the whole, hex."""

    text: str
    length: int | None
    digest: str


def keep(text: str) -> Words:
    """The text as the ledger keeps it. It must hold no lone surrogates."""
    encoded = text.encode("utf-8")
    digest = sha256(encoded).hexdigest()
    if len(encoded) <= KEPT_BYTES:
        return Words(text, None, digest)
    return Words(encoded[:KEPT_BYTES].decode("utf-8", "ignore"), len(text), digest)
