"""What a session is: its id, names and settings, one row, and the State's own scalars beside it."""

from __future__ import annotations

from msgspec import Struct, json

from foldstate.kernel.values import Language
from foldstate.kernel.view import Profile
from foldstate.sidecar.store.database import Database


class Head(Struct, frozen=True, omit_defaults=True):
    """`parent` is the session that this one was forked from.

    The next signal's window begins where the last accepted round did: `window_to` is when that was, null before the
    first, and `window_number` the number that the ledger's last event had then. The window's events are counted by
    number, since a clock may be set back and two events may share an instant.
    """

    session: str
    title: str | None = None
    cwd: str | None = None
    parent: str | None = None
    locale: Language | None = None
    profile: Profile | None = None
    window_to: str | None = None
    window_number: int = 0


def create_head(database: Database, head: Head) -> None:
    """Writes the row of a file that was just made; does nothing where there is one."""
    database.execute("INSERT OR IGNORE INTO head (only_one, body) VALUES (1, ?)", (json.encode(head),))


def load_head(database: Database) -> Head | None:
    row = database.one(tuple[bytes], "SELECT body FROM head")
    return None if row is None else database.decode(row[0], Head)


def save_head(database: Database, head: Head) -> None:
    database.execute("UPDATE head SET body = ?", (json.encode(head),))
