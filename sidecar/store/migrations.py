"""The formats of a session's file, oldest first, and the steps from each to the next.

A step and the record that it ran are one transaction, so a process killed in the middle leaves the older format whole.
A format that was released is never edited: a change is a new step at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.errors import StoreNewer
from foldstate.sidecar.store.schema import FIRST

_RECORDS: Final = (
    "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL)"
)


class Migration(Struct, frozen=True):
    """One step; its place in the sequence, from 1, is the format it leads to (`user_version`)."""

    name: str
    statements: tuple[str, ...]


MIGRATIONS: Final[tuple[Migration, ...]] = (Migration("ledger, items and intake of one session", FIRST),)


def version_of(database: Database) -> int:
    row = database.one(tuple[int], "PRAGMA user_version")
    return 0 if row is None else row[0]


def migrate(database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Brings the file to the last format.

    :raises StoreNewer: where the file's format is beyond the last one; nothing is changed.
    """
    present = version_of(database)
    if present > len(migrations):
        raise StoreNewer(database.path, present, len(migrations))
    for version, step in enumerate(migrations[present:], start=present + 1):
        with database.transaction():
            database.execute(_RECORDS)
            for statement in step.statements:
                database.execute(statement)
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            database.execute("INSERT INTO migrations (version, name, at) VALUES (?, ?, ?)", (version, step.name, at))
            database.execute(f"PRAGMA user_version = {version}")
