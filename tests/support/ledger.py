"""What a session's store holds, read from its file by a reader that needs no lock."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct

from foldstate.kernel.event import Event
from foldstate.sidecar.store.names import session_stem
from tests.support.host import HostHome


class SurfaceFile(Struct, frozen=True):
    """What the bridge finds before the sidecar has started."""

    session: str
    revision: int
    text: str
    tokens: int


class Ledger(Struct, frozen=True):
    """`entries` are the (seq, time) of the host's log that were taken; `waiting` the ids that no batch judged yet."""

    events: tuple[Event, ...]
    waiting: frozenset[str]
    entries: frozenset[tuple[int, int]]
    skips: dict[str, int]
    revision: int

    def texts(self, channel: str) -> list[str]:
        return [event.text for event in self.events if event.channel == channel]

    def doubled(self) -> list[tuple[str, str, str]]:
        """(channel, time, text) of what stands in the ledger more than once under ids of its own."""
        seen = Counter((event.channel, event.at, event.text) for event in self.events)
        return [fact for fact, count in seen.items() if count > 1]


class NoLedger(RuntimeError):
    """There is no store of the session. The message holds what the plugin and the sidecar say of themselves."""

    def __init__(self, home: HostHome, session: str) -> None:
        data = home.home / "foldstate"
        files = (*sorted((data / "status").glob("*.json")), data / "sidecar.log")
        said = [path.read_text(errors="replace").strip() for path in files if path.exists()]
        super().__init__("\n".join((f"session {session} has no store:", *(said or ["the plugin was never loaded"]))))


def _file(home: HostHome, session: str, suffix: str) -> Path:
    return home.home / "foldstate" / "sessions" / f"{session_stem(session)}{suffix}"


def read_ledger(home: HostHome, session: str) -> Ledger:
    """:raises NoLedger: the session has no store."""
    path = _file(home, session, ".sqlite")
    if not path.exists():
        raise NoLedger(home, session)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT id, body, judged_by FROM events ORDER BY n").fetchall()
        entries = database.execute("SELECT seq, time FROM entries").fetchall()
        skips = dict(database.execute("SELECT kind, n FROM skips").fetchall())
        (revision,) = database.execute("SELECT revision FROM head").fetchone()
    return Ledger(
        events=tuple(msgspec.json.decode(body, type=Event) for _, body, _ in rows),
        waiting=frozenset(id_ for id_, _, judged in rows if judged is None),
        entries=frozenset((seq, time) for seq, time in entries),
        skips=skips,
        revision=revision,
    )


def wait_until_heard(home: HostHome, session: str, words: str, timeout_s: float = 20.0) -> None:
    """Return at the very commit of an event that says `words`: the file is asked again and again, without a pause.

    :raises TimeoutError: there was none in time.
    """
    deadline = time.monotonic() + timeout_s
    newest = "SELECT instr(body, ?) FROM events ORDER BY n DESC LIMIT 1"
    with closing(sqlite3.connect(f"file:{_file(home, session, '.sqlite')}?mode=ro", uri=True)) as database:
        while time.monotonic() < deadline:
            if (row := database.execute(newest, (words.encode(),)).fetchone()) and row[0]:
                return
    raise TimeoutError(f"{words!r} was never heard")


def read_surface(home: HostHome, session: str) -> SurfaceFile:
    """:raises NoLedger: no surface was ever written for the session."""
    path = _file(home, session, ".surface.json")
    if not path.exists():
        raise NoLedger(home, session)
    return msgspec.json.decode(path.read_bytes(), type=SurfaceFile)
