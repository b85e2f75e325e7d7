"""What one entry or fact comes to, and how an event is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

from msgspec import Struct, field

from foldstate.kernel.event import Event, Origin
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.reading import clean
from foldstate.sidecar.intake.state import IntakeState
from foldstate.sidecar.intake.words import Words

PREFIX: Final = "h:"
"""What the ids of the host's events begin with; nothing posted may."""

_ID_LENGTH: Final = 32
_SPEAKER_LENGTH: Final = 128
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = (datetime(9998, 12, 31, 23, 59, 59, 999000, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


class Entry(Struct, frozen=True):
    """One entry of the host's log. `time` is in milliseconds since 1970."""

    seq: int
    time: int
    type: str
    data: Json


class Taken(Struct, frozen=True):
    """The new state, the events made, and what was seen and made none, counted by kind.

    `digests` holds sha256 of each event's whole text by id. `event` names the event that a subagent's fact stands in,
    also where it was made before; null where it makes none.
    """

    state: IntakeState
    events: tuple[Event, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    event: str | None = None


class Telling(Struct, frozen=True):
    """An event and the digest of its whole text."""

    event: Event
    digest: str


def taken(state: IntakeState, tellings: Sequence[Telling] = (), skipped: Sequence[str] = ()) -> Taken:
    counts: dict[str, int] = {}
    for kind in skipped:
        counts[kind] = counts.get(kind, 0) + 1
    return Taken(
        state=state,
        events=tuple(one.event for one in tellings),
        skipped=counts,
        digests={one.event.id: one.digest for one in tellings},
    )


def tell(event_id: str, channel: str, speaker: str, at: str, words: Words, origin: Origin | None) -> Telling:
    event = Event(
        id=event_id,
        channel=channel,
        speaker=speaker[:_SPEAKER_LENGTH],
        at=at,
        text=words.text,
        origin=origin,
        length=words.length,
        cut=None if words.length is None else True,
    )
    return Telling(event, words.digest)


def entry_id(session: str, seq: int, time: int, type_: str) -> str:
    """The id of the event that a log entry became. All three count: the host re-uses sequence numbers after a kill."""
    return _id("entry", session, str(seq), str(time), type_)


def run_id(what: str, session: str, child: str, run: str) -> str:
    """The id of what befell one run of a subagent, from whatever side it is heard."""
    return _id(what, session, child, run)


def instant(time: int) -> str:
    """An entry's time as RFC 3339 in UTC with milliseconds; one outside the kernel's years is moved to their edge."""
    moment = _EPOCH + timedelta(milliseconds=min(max(time, 0), _LAST_MS))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _id(*parts: str) -> str:
    digest = sha256()
    for part in parts:
        encoded = clean(part).encode("utf-8")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return PREFIX + digest.hexdigest()[:_ID_LENGTH]
