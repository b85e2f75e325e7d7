"""History: every accepted batch with its dispositions and receipt, and what it did to the rows that others read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import json

from foldstate.kernel.state import State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Record
from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.events import defer_events, link_events, take_up_events
from foldstate.sidecar.store.state_rows import save_state

_EVENT_REF: Final = "event:"


def save_batch(database: Database, record: Record, state: State, changed: frozenset[str]) -> int:
    """Appends the batch and brings the rows to `state`; returns the batch's number, from 1.

    Only the items of `changed` and the annotations that the batch acknowledged are written. Of the events it disposes
    of, those deferred are kept for a later review, and those cited or disposed of otherwise are taken up (R7).
    """
    database.execute("INSERT INTO batches (batch_id, body) VALUES (?, ?)", (record.batch_id, json.encode(record)))
    row = database.one(tuple[int], "SELECT last_insert_rowid()")
    number = 0 if row is None else row[0]
    save_state(database, state, changed, record.receipt.acknowledged)
    database.execute_many(
        "INSERT OR IGNORE INTO item_batches (item, batch) VALUES (?, ?)",
        ((change.item, number) for change in record.receipt.changes),
    )
    cited = list(_citations(record.batch))
    put_off = [one.event for one in record.dispositions if one.disposition == "deferred"]
    defer_events(database, put_off)
    take_up_events(database, (one.event for one in record.dispositions if one.disposition != "deferred"))
    take_up_events(database, (event for _, event in cited))
    link_events(database, cited)
    link_events(database, ((item, one.event) for one in record.dispositions for item in one.related))
    return number


def record(database: Database, batch_id: str) -> Record | None:
    """The batch that was accepted under this id, which is for ever (B5)."""
    row = database.one(tuple[bytes], "SELECT body FROM batches WHERE batch_id = ?", (batch_id,))
    return None if row is None else database.decode(row[0], Record)


def records(database: Database, after: int, limit: int) -> list[tuple[int, Record]]:
    """Batches with their numbers, from the one after `after` on, oldest first."""
    sql = "SELECT n, body FROM batches WHERE n > ? ORDER BY n LIMIT ?"
    rows = database.all(tuple[int, bytes], sql, (after, limit))
    return [(number, database.decode(body, Record)) for number, body in rows]


def item_records(database: Database, item: str, limit: int) -> list[tuple[int, Record]]:
    """The newest batches that changed the item, oldest of them first."""
    sql = """SELECT batches.n, batches.body FROM item_batches JOIN batches ON batches.n = item_batches.batch
        WHERE item_batches.item = ? ORDER BY item_batches.batch DESC LIMIT ?"""
    rows = database.all(tuple[int, bytes], sql, (item, limit))
    return [(number, database.decode(body, Record)) for number, body in rows][::-1]


def _citations(batch: Json) -> Iterator[tuple[str, str]]:
    """(item, event) for each event that a declaration cites, nested ones too."""
    if not isinstance(batch, dict):
        return
    declarations = batch.get("declarations")
    pending = list(declarations) if isinstance(declarations, list) else []
    while pending:
        one = pending.pop()
        if not isinstance(one, dict):
            continue
        item, sources, children = one.get("id"), one.get("sources"), one.get("children")
        for source in sources if isinstance(sources, list) else []:
            ref = source.get("ref") if isinstance(source, dict) else None
            if isinstance(item, str) and isinstance(ref, str) and ref.startswith(_EVENT_REF):
                yield item, ref.removeprefix(_EVENT_REF)
        if isinstance(children, list):
            pending.extend(children)
