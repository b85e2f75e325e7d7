"""Which channels were heard, and since when that is so."""

from __future__ import annotations

from typing import Literal, TypeAlias

from foldstate.kernel.signal import Coverage
from foldstate.sidecar.store.database import Database

Heard: TypeAlias = Literal["ok", "disconnected", "unknown"]


def coverage(database: Database) -> dict[str, Coverage]:
    rows = database.all(tuple[str, Heard, str], "SELECT channel, status, since FROM coverage ORDER BY channel")
    return {channel: Coverage(status, since) for channel, status, since in rows}


def set_coverage(database: Database, channel: str, status: Heard, since: str) -> Coverage:
    """Says how the channel stands, and returns what then holds: the same status again keeps its older `since`."""
    database.execute(
        """INSERT INTO coverage (channel, status, since) VALUES (?, ?, ?) ON CONFLICT (channel)
        DO UPDATE SET status = excluded.status, since = excluded.since WHERE status <> excluded.status""",
        (channel, status, since),
    )
    held = database.one(tuple[Heard, str], "SELECT status, since FROM coverage WHERE channel = ?", (channel,))
    return Coverage(status, since) if held is None else Coverage(*held)
