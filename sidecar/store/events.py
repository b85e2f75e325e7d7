"""The ledger: every event word for word, which of them wait, and which were deferred and not taken up since (R7).

Events are numbered from 1 in the order of their arrival. An event waits until a batch judged it; deferred ones no
longer wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import json

from foldstate.kernel.event import Event
from foldstate.kernel.instant import parse
from foldstate.kernel.signal import Reason
from foldstate.kernel.signals import Waiting
from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.errors import EventConflict

_URGENT: Final[tuple[Reason, ...]] = ("approval", "question", "feedback")
"""The channels whose events call the editor at once; each is the reason's name too."""
_CHUNK: Final = 500
"""Fewer than the 999 variables that old builds of SQLite take in a statement."""


def add_event(database: Database, event: Event, *, digest: str, heard_at: str) -> bool:
    """Puts the event into the ledger, waiting; false where it is there already.

    :param digest: sha256 of the whole text, hex, also where only a part is kept.
    :param heard_at: when it arrived, by the session's clock: quiet times are counted by it, since `at` is whatever the
        sender says.
    :raises EventConflict: where the id is there with another event or digest.
    :raises ValueError: where `heard_at` is no time with an offset.
    """
    body = json.encode(event)
    known = database.one(tuple[str, bytes], "SELECT digest, body FROM events WHERE id = ?", (event.id,))
    if known is not None:
        if known != (digest, body):
            raise EventConflict(event.id)
        return False
    if parse(heard_at) is None:
        raise ValueError(f"{heard_at!r} is not an RFC 3339 time with an offset")
    database.execute(
        "INSERT INTO events (id, channel, heard_at, digest, body) VALUES (?, ?, ?, ?, ?)",
        (event.id, event.channel, heard_at, digest, body),
    )
    if event.feedback is not None:
        _link(database, event.feedback.target, event.id)
    return True


def event(database: Database, event_id: str) -> Event | None:
    return events(database, (event_id,)).get(event_id)


def events(database: Database, ids: Iterable[str]) -> dict[str, Event]:
    """Those of the ids that are in the ledger."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Event] = {}
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        for (body,) in database.all(tuple[bytes], f"SELECT body FROM events WHERE id IN ({marks})", chunk):
            one = database.decode(body, Event)
            found[one.id] = one
    return found


def digest(database: Database, event_id: str) -> str | None:
    """sha256 of the event's whole text, hex."""
    row = database.one(tuple[str], "SELECT digest FROM events WHERE id = ?", (event_id,))
    return None if row is None else row[0]


def waiting_summary(database: Database) -> Waiting:
    """What waits, in the time of a few look-ups however much it is."""
    counts = dict(database.all(tuple[str, int], "SELECT channel, n FROM waiting_counts WHERE n > 0"))
    return Waiting(
        count=sum(counts.values()),
        first_at=_heard_at(database, "SELECT heard_at FROM events WHERE judged_by IS NULL ORDER BY n LIMIT 1"),
        last_at=_heard_at(database, "SELECT heard_at FROM events WHERE judged_by IS NULL ORDER BY n DESC LIMIT 1"),
        urgent=tuple(reason for reason in _URGENT if reason in counts),
    )


def waiting(database: Database, limit: int, exclude: Collection[str] = ()) -> list[Event]:
    """The events that wait, oldest first, without those that an open round has (R9)."""
    chosen: list[Event] = []
    rows = database.all(tuple[str, bytes], "SELECT id, body FROM events WHERE judged_by IS NULL ORDER BY n")
    for event_id, body in rows:
        if len(chosen) >= limit:
            break
        if event_id not in exclude:
            chosen.append(database.decode(body, Event))
    rows.close()
    return chosen


def judge_events(database: Database, ids: Iterable[str], batch_id: str) -> None:
    """The events wait no longer. One that was judged before keeps the batch that first did it."""
    database.execute_many(
        "UPDATE events SET judged_by = ? WHERE id = ? AND judged_by IS NULL", ((batch_id, one) for one in ids)
    )


def defer_events(database: Database, ids: Iterable[str]) -> None:
    database.execute_many("UPDATE events SET deferred = 1 WHERE id = ? AND deferred = 0", ((one,) for one in ids))


def take_up_events(database: Database, ids: Iterable[str]) -> None:
    """What was deferred is so no longer: cited, or given another disposition (R7)."""
    database.execute_many("UPDATE events SET deferred = 0 WHERE id = ? AND deferred = 1", ((one,) for one in ids))


def deferred(database: Database, limit: int) -> list[Event]:
    """The newest deferred events that were not taken up, oldest of them first (R7)."""
    sql = "SELECT body FROM events WHERE deferred = 1 ORDER BY n DESC LIMIT ?"
    found = [database.decode(body, Event) for (body,) in database.all(tuple[bytes], sql, (limit,))]
    return found[::-1]


def last_event_number(database: Database) -> int:
    """The number of the event that arrived last, 0 where there is none."""
    row = database.one(tuple[int | None], "SELECT max(n) FROM events")
    return 0 if row is None or row[0] is None else row[0]


def count_outside_after(database: Database, number: int) -> int:
    """How many events from outside arrived after the one of that number. Reminders are our own."""
    row = database.one(tuple[int], "SELECT count(*) FROM events WHERE channel <> 'reminder' AND n > ?", (number,))
    return 0 if row is None else row[0]


def link_events(database: Database, links: Iterable[tuple[str, str]]) -> None:
    """Records (item, event) pairs: evidence cited for the item, or a disposition that names it."""
    for item, event_id in links:
        _link(database, item, event_id)


def item_events(database: Database, item: str, limit: int) -> list[Event]:
    """The newest events that have to do with the item (cited, related, feedback on it), oldest of them first."""
    sql = """SELECT events.body FROM item_events JOIN events ON events.id = item_events.event
        WHERE item_events.item = ? ORDER BY events.n DESC LIMIT ?"""
    found = [database.decode(body, Event) for (body,) in database.all(tuple[bytes], sql, (item, limit))]
    return found[::-1]


def _link(database: Database, item: str, event_id: str) -> None:
    database.execute("INSERT OR IGNORE INTO item_events (item, event) VALUES (?, ?)", (item, event_id))


def _heard_at(database: Database, sql: str) -> str | None:
    row = database.one(tuple[str], sql)
    return None if row is None else row[0]
