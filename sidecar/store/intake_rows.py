"""Where intake stands in the host's log: the cursor, the fold's state, and which of the newest entries were taken.

The host re-uses sequence numbers after it was killed, since it writes its log up to 200 ms late: an entry is known by
seq, time and type together, and what was taken stays taken although the host may no longer have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from foldstate.sidecar.store.database import Database

EntryKey: TypeAlias = tuple[int, int, str]
"""seq, time in milliseconds since 1970, type."""

KEPT_ENTRIES: Final = 4096
"""How many keys are remembered: far more than any host writes in the window that is sent again."""
_WINDOW_MS: Final = 10_000
"""How far before the cursor's time the two logs may differ: 50 times the host's write delay."""


class IntakeRow(Struct, frozen=True):
    """`cursor` is the last sequence number taken, -1 before the first; `cursor_time` that of the last entry read, in
    milliseconds, null where none was. `state` is the fold's own.
    """

    cursor: int
    cursor_time: int | None
    state: bytes


def load_intake(database: Database) -> IntakeRow | None:
    row = database.one(tuple[int, int | None, bytes], "SELECT cursor, cursor_time, state FROM intake")
    return None if row is None else IntakeRow(*row)


def save_intake(database: Database, cursor: int, cursor_time: int | None, state: bytes) -> None:
    database.execute(
        "INSERT OR REPLACE INTO intake (only_one, cursor, cursor_time, state) VALUES (1, ?, ?, ?)",
        (cursor, cursor_time, state),
    )


def entry_taken(database: Database, seq: int, time: int, type_: str) -> bool:
    """Whether this very entry was taken before; also true for one older than all that is still remembered."""
    known = database.one(
        tuple[int], "SELECT 1 FROM entries WHERE seq = ? AND time = ? AND type = ?", (seq, time, type_)
    )
    if known is not None:
        return True
    oldest = database.one(tuple[int, int, int], "SELECT n, seq, time FROM entries ORDER BY n LIMIT 1")
    return oldest is not None and oldest[0] > 1 and seq < oldest[1] and time < oldest[2]


def take_entries(database: Database, keys: Iterable[EntryKey]) -> None:
    """Remembers the entries, the newest `KEPT_ENTRIES` of all."""
    database.execute_many("INSERT OR IGNORE INTO entries (seq, time, type) VALUES (?, ?, ?)", keys)
    database.execute("DELETE FROM entries WHERE n <= (SELECT max(n) FROM entries) - ?", (KEPT_ENTRIES,))


def lose_entries(database: Database, after: int, through: int, sent: Iterable[EntryKey]) -> int:
    """Compares what was taken out of `(after, through]` with all the wanted entries that the host now has there.

    Returns how many are gone from the host's log that were there before. They stay taken, and are no common ground any
    more. A non-zero count means that the ledger holds what the host forgot.
    """
    still = set(sent)
    sql = "SELECT n, seq, time, type FROM entries WHERE seq > ? AND seq <= ? AND lost = 0"
    rows = list(database.all(tuple[int, int, int, str], sql, (after, through)))
    gone = [n for n, *key in rows if tuple(key) not in still]
    database.execute_many("UPDATE entries SET lost = 1 WHERE n = ?", ((n,) for n in gone))
    return len(gone)


def resend_from(database: Database, head: tuple[int, int] | None) -> int:
    """The first sequence number that the host must send, so that nothing it has is missed.

    :param head: seq and time of the last entry in the host's log, null where it did not say.

    1. Nothing was taken: from the log's start.
    2. The head was taken, as it is: all before it agrees, so what comes after it.
    3. The head is unknown (the host went on, or lost its tail and went on from there): what follows the last entry that
       both surely have, one taken more than 10 s before the cursor's time. Any number after it may have been used
       again, also one before the first that was taken: entries that nobody wanted are lost as well.
    """
    row = load_intake(database)
    if row is None or row.cursor < 0:
        return 0
    if head is not None:
        known = database.one(tuple[int], "SELECT 1 FROM entries WHERE seq = ? AND time = ? AND lost = 0", head)
        if known is not None:
            return head[0] + 1
    newest = database.one(tuple[int, int], "SELECT seq, time FROM entries ORDER BY n DESC LIMIT 1")
    if newest is None:
        return 0
    edge = (newest[1] if row.cursor_time is None else row.cursor_time) - _WINDOW_MS
    loose = database.one(tuple[int], "SELECT seq FROM entries WHERE time >= ? ORDER BY seq LIMIT 1", (edge,))
    end = row.cursor + 1 if loose is None else min(loose[0], row.cursor + 1)
    # An entry with a larger number than a later one is of a log that a kill cut off: the host has it no more.
    sql = "SELECT seq FROM entries WHERE time < ? AND seq < ? AND lost = 0 ORDER BY n DESC LIMIT 1"
    agreed = database.one(tuple[int], sql, (edge, end))
    start = 0 if agreed is None else agreed[0] + 1
    return start if head is None else min(start, head[0] + 1)


def count_skips(database: Database, counts: Mapping[str, int]) -> None:
    """Adds to the counts of what was seen and became no event."""
    database.execute_many(
        "INSERT INTO skips (kind, n) VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET n = n + excluded.n",
        counts.items(),
    )


def skips(database: Database) -> dict[str, int]:
    return dict(database.all(tuple[str, int], "SELECT kind, n FROM skips ORDER BY kind"))
