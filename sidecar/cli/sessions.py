"""Which sessions there are, and the one that the user means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from foldstate.sidecar.cli.failure import CommandError
from foldstate.sidecar.cli.words import Words
from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.errors import StoreError
from foldstate.sidecar.store.head import load_head
from foldstate.sidecar.store.names import database_path, session_stem
from foldstate.sidecar.store.session_store import open_reader

CANDIDATES = 10
"""So many sessions are listed where one must be chosen."""


class Found(Struct, frozen=True):
    """A session that has a file. `written` is when that last changed, in seconds since 1970."""

    session: str
    written: float


def sessions_in(folder: Path) -> list[Found]:
    """The sessions whose files can be read, the one that changed last first.

    Files that were moved aside, or that can't be read, are passed by: asked for by its whole id, a session says itself
    what is wrong with it.
    """
    found = []
    for path in folder.glob("*.sqlite"):
        written = _written(path)
        session = _session_of(path)
        if session is not None and session_stem(session) == path.stem:
            found.append(Found(session, written))
    return sorted(found, key=lambda each: (-each.written, each.session))


def choose(folder: Path, wanted: str | None, words: Words) -> str:
    """The session that is called `wanted`, or begins so; without it the newest that has a state, else the newest.

    :raises CommandError: there is none, or several begin with it; it lists them.
    """
    if wanted is not None and database_path(folder, wanted).exists():
        return wanted
    found = sessions_in(folder)
    if wanted is None:
        if not found:
            raise CommandError(words.no_state.format(path=folder))
        return next((each.session for each in found if _has_state(folder, each.session)), found[0].session)
    matching = [each.session for each in found if each.session.startswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if not found:
        raise CommandError(words.no_state.format(path=folder))
    if not matching:
        listed = _listed([each.session for each in found])
        raise CommandError(words.unknown_session.format(path=folder, session=wanted, candidates=listed))
    raise CommandError(words.ambiguous_session.format(session=wanted, candidates=_listed(matching)))


def _written(path: Path) -> float:
    """Commits go to the WAL first; an empty one is only what a reader left."""
    try:
        log = path.with_name(f"{path.name}-wal").stat()
    except FileNotFoundError:
        return path.stat().st_mtime
    return max(path.stat().st_mtime, log.st_mtime if log.st_size else 0.0)


def _session_of(path: Path) -> str | None:
    try:
        database = Database(path, read_only=True)
        try:
            head = load_head(database)
        finally:
            database.close()
    except StoreError:
        return None
    return None if head is None else head.session


def _has_state(folder: Path, session: str) -> bool:
    try:
        with open_reader(folder, session) as store:
            return store.load_state().revision > 0
    except StoreError:
        return False


def _listed(sessions: Sequence[str]) -> str:
    more = ", …" if len(sessions) > CANDIDATES else ""
    return ", ".join(sessions[:CANDIDATES]) + more
