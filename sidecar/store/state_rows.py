"""The state as it stands, one row an item and an annotation: loading it costs the same after 10 and 10,000 batches."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import json

from foldstate.kernel.state import Annotation, Item, State
from foldstate.sidecar.store.database import Database


def load_state(database: Database) -> State:
    row = database.one(
        tuple[int, str | None, str | None], "SELECT revision, recorded_at, last_checked_at FROM head"
    ) or (0, None, None)
    items: dict[str, Item] = {}
    touched: dict[str, int] = {}
    for revision, body in database.all(tuple[int, bytes], "SELECT touched, body FROM items ORDER BY n"):
        item = database.decode(body, Item)
        items[item.id] = item
        touched[item.id] = revision
    annotations = (
        database.decode(body, Annotation)
        for (body,) in database.all(tuple[bytes], "SELECT body FROM annotations ORDER BY n")
    )
    return State(
        revision=row[0],
        recorded_at=row[1],
        last_checked_at=row[2],
        items=items,
        annotations={one.id: one for one in annotations},
        touched=touched,
    )


def save_state(database: Database, state: State, items: Iterable[str], annotations: Iterable[str]) -> None:
    """Writes the scalars, the named items, and the named annotations, which `add_annotation` once added."""
    database.execute(
        "UPDATE head SET revision = ?, recorded_at = ?, last_checked_at = ?",
        (state.revision, state.recorded_at, state.last_checked_at),
    )
    database.execute_many(
        """INSERT INTO items (id, touched, body) VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET touched = excluded.touched, body = excluded.body""",
        ((one, state.touched.get(one, state.revision), json.encode(state.items[one])) for one in sorted(items)),
    )
    database.execute_many(
        "UPDATE annotations SET body = ? WHERE id = ?",
        ((json.encode(state.annotations[one]), one) for one in annotations),
    )


def add_annotation(database: Database, annotation: Annotation) -> bool:
    """Keeps a new annotation; false where its id is there already. It is remembered after which batch it came."""
    added = database.execute(
        """INSERT OR IGNORE INTO annotations (id, after_batch, body)
        VALUES (?, (SELECT coalesce(max(n), 0) FROM batches), ?)""",
        (annotation.id, json.encode(annotation)),
    )
    return added == 1


def annotations_with_batch(database: Database) -> list[tuple[int, Annotation]]:
    """Every annotation with the number of the batch that it came after (0: before any), for replaying to a revision."""
    rows = database.all(tuple[int, bytes], "SELECT after_batch, body FROM annotations ORDER BY n")
    return [(after, database.decode(body, Annotation)) for after, body in rows]
