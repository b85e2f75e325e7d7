"""How a provider bills a prompt: what stood at the head of an earlier request is read from its cache."""

from __future__ import annotations

from msgspec import Struct

from tests.support.messages import Request

BYTES_PER_TOKEN = 4
"""The estimate that every figure rests on; what matters is that all requests are counted alike."""
GRAIN = 64
"""A cache is kept in blocks of this many tokens; a part of one is billed in full."""


class Usage(Struct, frozen=True):
    """In tokens. The prompt is `fresh` + `cached`."""

    fresh: int
    cached: int
    output: int

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.fresh + other.fresh, self.cached + other.cached, self.output + other.output)


def tokens(size: int) -> int:
    """How many tokens `size` bytes are taken for."""
    return -(-size // BYTES_PER_TOKEN)


def _common(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class PromptCache:
    """Remembers every prompt that came, as bytes. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self._prompts: list[bytes] = []

    def bill(self, request: Request, output: int) -> Usage:
        """:param output: the answer's size in bytes."""
        prompt = b"\n".join(request.parts)
        known = max((_common(prompt, earlier) for earlier in self._prompts), default=0)
        self._prompts.append(prompt)
        cached = known // BYTES_PER_TOKEN // GRAIN * GRAIN
        return Usage(fresh=tokens(len(prompt)) - cached, cached=cached, output=tokens(output))
