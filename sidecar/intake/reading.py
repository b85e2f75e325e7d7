"""Reading JSON that may be anything: each function gives what it was asked for or a plain nothing, and never raises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from foldstate.kernel.values import Json

_MAX_WHOLE: Final = 2**53


def member(value: Json, *path: str) -> Json:
    """What lies at the path of member names; null where the path breaks off."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def string(value: Json) -> str:
    """The text, with what no encoding can carry (lone surrogates) replaced; empty where it is none."""
    return clean(value) if isinstance(value, str) else ""


def whole(value: Json) -> int | None:
    """The number, where it is a whole one that every JSON reader keeps as it is."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_WHOLE
    return value if good and isinstance(value, int) else None


def clean(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def texts(content: Json) -> list[str]:
    """The text blocks of a message's content that aren't empty, in order."""
    return [text for text in (string(member(block, "text")) for block in _blocks(content, "text")) if text]


def others(content: Json) -> list[str]:
    """The types of the blocks of a message's content that are no text: images, files."""
    listed = content if isinstance(content, list) else []
    kinds = (string(member(block, "type")) for block in listed)
    return [kind for kind in kinds if kind and kind != "text"]


def _blocks(content: Json, kind: str) -> Iterator[Json]:
    for block in content if isinstance(content, list) else []:
        if member(block, "type") == kind:
            yield block
