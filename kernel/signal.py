"""Why the editor is called, and what was heard in the meantime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Reason: TypeAlias = Literal[
    "events",
    "approval",
    "question",
    "feedback",
    "finish",
    "manual",
    "due_soon",
    "overdue",
    "stale",
    "reminder",
    "waiting",
    "annotation",
    "resume",
    "periodic",
]


class Coverage(Struct, frozen=True):
    """Whether a channel was heard. Silence means something only where `status` is `ok` for the whole window."""

    status: Literal["ok", "disconnected", "unknown"]
    since: str


class Window(Struct, frozen=True, rename={"start": "from"}):
    """From the previous accepted round's `to` (null before the first) to this round's time."""

    start: str | None
    to: str


class Signal(Struct, frozen=True):
    """`received` counts the events from outside in the window; `reminders` names the round's reminder events."""

    type: Literal["events", "review"]
    reason: tuple[Reason, ...]
    received: int
    window: Window
    coverage: Mapping[str, Coverage]
    reminders: tuple[str, ...]
