"""The tables of format 1.

`events.judged_by` is null while the event waits. What must stay cheap in a long session has a partial index, or a count
kept by a trigger: the events that wait, those deferred, and those from outside after a number.
"""

from __future__ import annotations

from typing import Final

FIRST: Final[tuple[str, ...]] = (
    """CREATE TABLE head (
        only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
        body BLOB NOT NULL,
        revision INTEGER NOT NULL DEFAULT 0,
        recorded_at TEXT,
        last_checked_at TEXT
    )""",
    """CREATE TABLE events (
        n INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        channel TEXT NOT NULL,
        heard_at TEXT NOT NULL,
        digest TEXT NOT NULL,
        body BLOB NOT NULL,
        judged_by TEXT,
        deferred INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX events_waiting ON events (n) WHERE judged_by IS NULL",
    "CREATE INDEX events_deferred ON events (n) WHERE deferred = 1",
    "CREATE INDEX events_outside ON events (n) WHERE channel <> 'reminder'",
    "CREATE TABLE waiting_counts (channel TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TRIGGER event_waits AFTER INSERT ON events WHEN NEW.judged_by IS NULL BEGIN
        INSERT INTO waiting_counts (channel, n) VALUES (NEW.channel, 1) ON CONFLICT (channel) DO UPDATE SET n = n + 1;
    END""",
    """CREATE TRIGGER event_judged AFTER UPDATE OF judged_by ON events
        WHEN OLD.judged_by IS NULL AND NEW.judged_by IS NOT NULL BEGIN
        UPDATE waiting_counts SET n = n - 1 WHERE channel = NEW.channel;
    END""",
    """CREATE TABLE batches (
        n INTEGER PRIMARY KEY,
        batch_id TEXT NOT NULL UNIQUE,
        body BLOB NOT NULL
    )""",
    "CREATE TABLE items (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, touched INTEGER NOT NULL, body BLOB NOT NULL)",
    """CREATE TABLE item_batches (
        item TEXT NOT NULL,
        batch INTEGER NOT NULL,
        PRIMARY KEY (item, batch)
    ) WITHOUT ROWID""",
    """CREATE TABLE item_events (
        item TEXT NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (item, event)
    ) WITHOUT ROWID""",
    """CREATE TABLE annotations (
        n INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        after_batch INTEGER NOT NULL,
        body BLOB NOT NULL
    )""",
    """CREATE TABLE intake (
        only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
        cursor INTEGER NOT NULL,
        cursor_time INTEGER,
        state BLOB NOT NULL
    )""",
    """CREATE TABLE entries (
        n INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        type TEXT NOT NULL,
        lost INTEGER NOT NULL DEFAULT 0,
        UNIQUE (seq, time, type)
    )""",
    "CREATE TABLE skips (kind TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE coverage (channel TEXT PRIMARY KEY, status TEXT NOT NULL, since TEXT NOT NULL) WITHOUT ROWID",
)
