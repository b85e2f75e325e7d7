"""What an event is: one fact from outside, word for word, with who said it and when."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from foldstate.kernel.values import Meaning, Status, Via


class Origin(Struct, frozen=True):
    """Where in a host's log the event came from."""

    session: str
    seq: int


class Feedback(Struct, frozen=True, omit_defaults=True):
    """What the user did about an item; five different facts, none inferred from another."""

    target: str
    action: str
    meaning: Meaning
    via: Via
    value: str | None = None
    until: str | None = None


class Reminder(Struct, frozen=True):
    """A reminder that came due. `target` is the original id, `target_now` its last successor or the same.

    `late_s` is in whole seconds.
    """

    feedback: str
    target: str
    target_status: Status
    target_now: str
    requested_for: str
    requested_at: str
    late_s: int


class Event(Struct, frozen=True, omit_defaults=True):
    """One entry of a session's ledger. `text` is kept as it came, up to 64 KiB; `length` counts its code points whole.

    `cut` says that the whole was longer than what is kept.
    """

    id: str
    channel: str
    speaker: str = field(name="from")
    at: str
    text: str
    feedback: Feedback | None = None
    reminder: Reminder | None = None
    origin: Origin | None = None
    length: int | None = None
    cut: Literal[True] | None = None


class Disposition(Struct, frozen=True):
    """What the editor made of one event, with its reason (R1, R2)."""

    event: str
    disposition: Literal["noise", "duplicate", "used", "deferred"]
    why: str
    related: tuple[str, ...] = ()
