"""Values that the store's tests keep and read back."""

from __future__ import annotations

from foldstate.kernel.event import Disposition, Event
from foldstate.kernel.state import Item, State
from foldstate.kernel.values import Change, Json, Result
from foldstate.kernel.verdict import ItemChange, Receipt, Record
from foldstate.sidecar.store.session_store import SessionStore

SESSION = "session-one"
NOON = "2026-05-01T12:00:00Z"


def at(second: int) -> str:
    """A time that many seconds after noon, up to an hour."""
    return f"2026-05-01T12:{second // 60:02}:{second % 60:02}Z"


def event(name: str, channel: str = "email", text: str = "something happened") -> Event:
    return Event(id=name, channel=channel, speaker="someone", at=NOON, text=text)


def add(store: SessionStore, *events: Event, heard_at: str = NOON) -> list[bool]:
    with store.transaction():
        return [store.add_event(one, digest="d", heard_at=heard_at) for one in events]


def item(name: str, title: str = "A title") -> Item:
    return Item(id=name, parent=None, title=title, weight="low", kind="fyi", created_at=NOON, updated_at=NOON)


def record(
    batch_id: str,
    revision: int,
    *,
    batch: Json = None,
    changes: dict[str, Change] | None = None,
    acknowledged: tuple[str, ...] = (),
    dispositions: tuple[Disposition, ...] = (),
    result: Result = "commit",
) -> Record:
    done = tuple(ItemChange(one, change) for one, change in sorted((changes or {}).items()))
    receipt = Receipt(batch_id, result, revision, NOON, False, done, acknowledged, {})
    return Record(
        batch_id=batch_id,
        at=NOON,
        result=result,
        revision=revision,
        base_revision=None,
        batch=batch or {"declarations": [], "acknowledges": []},
        fingerprint=batch_id,
        receipt=receipt,
        dispositions=dispositions,
    )


def state(revision: int, *items: Item, touched: int | None = None) -> State:
    return State(
        revision=revision,
        recorded_at=NOON,
        items={one.id: one for one in items},
        touched={one.id: revision if touched is None else touched for one in items},
    )
