"""Frames of the user's notes on items."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from foldstate.sidecar.wire.frames.common import Id, Params, SessionId


class AnnotationAddParams(Params, frozen=True):
    """`text` is the note, 1 to 500 code points; `at` is when it was written, by default now.

    The same `key` again is the same note; without one, every call leaves another.
    """

    TIMES: ClassVar[tuple[str, ...]] = ("at",)

    session: SessionId
    item: Id
    text: str
    key: Id | None = None
    at: str | None = None


class AnnotationAddResult(Struct, frozen=True):
    """The note's id; `duplicate` where it was there already, and nothing was added."""

    annotation: str
    duplicate: bool
