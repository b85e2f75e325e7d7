"""One session's file as its owner or a reader holds it.

Owns the lock, the connection and the file's soundness; what each call does is told where its table is (`events`,
`batches`, `state_rows`, `intake_rows`, `coverage_rows`, `head`). All of it blocks, and one caller at a time uses it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

from foldstate.kernel.event import Event
from foldstate.kernel.signal import Coverage
from foldstate.kernel.signals import Waiting
from foldstate.kernel.state import Annotation, State
from foldstate.kernel.verdict import Record
from foldstate.sidecar.store import batches, coverage_rows, events, intake_rows, quarantine, state_rows
from foldstate.sidecar.store import head as heads
from foldstate.sidecar.store.coverage_rows import Heard
from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.errors import (
    StoreDamaged,
    StoreMissing,
    StoreNewer,
    StoreUnavailable,
    unavailable,
)
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.store.intake_rows import EntryKey, IntakeRow
from foldstate.sidecar.store.lock import PRIVATE_FILE, OwnerLock
from foldstate.sidecar.store.migrations import MIGRATIONS, migrate, version_of
from foldstate.sidecar.store.names import database_path, lock_path
from foldstate.sidecar.store.soundness import check

T = TypeVar("T")

_PRIVATE_FOLDER: Final = 0o700


class SessionStore:
    """An open session. As owner it reads and writes; `read_only`, while another process owns it, it only reads.

    `moved_aside` is where a damaged or condemned file was put when this one was made in its place.
    """

    def __init__(self, database: Database, lock: OwnerLock | None, moved_aside: Path | None = None) -> None:
        self._database = database
        self._lock = lock
        self.moved_aside = moved_aside

    @classmethod
    def open(cls, folder: Path, session: str, *, lock_wait_s: float, condemned: bool = False) -> SessionStore:
        """Opens or makes the session's file in `folder` as its owner; read-only where the lock stays held elsewhere.

        :param condemned: whoever reads the stored values found that they are of no use although the file is sound: the
            owner sets it aside whole and begins afresh. One who only reads changes nothing.
        :raises StoreNewer: where a later version made the file, which is left alone.
        :raises StoreUnavailable: where the file or folder cannot be used, or the file is another session's.
        """
        _make_folder(folder)
        path = database_path(folder, session)
        lock = OwnerLock(lock_path(folder, session))
        if not lock.acquire(lock_wait_s):
            return cls(_open_for_reading(path, session), None)
        try:
            database, moved_aside = _open_or_make(path, session, condemned=condemned)
        except BaseException:
            lock.release()
            raise
        return cls(database, lock, moved_aside)

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def read_only(self) -> bool:
        return self._lock is None

    @property
    def damaged(self) -> bool:
        """Whether a stored value that was read so far was not sound."""
        return self._database.damaged

    def close(self) -> None:
        """Ends the ownership. A file that showed damage is marked, so that the next owner checks all of it.

        :raises StoreUnavailable: where the mark cannot be made; the file and the lock are let go of all the same.
        """
        with ExitStack() as last:
            if self._lock is not None:
                last.callback(self._lock.release)
                last.callback(self._mark)
            last.callback(self._database.close)

    def _mark(self) -> None:
        if self.damaged:
            quarantine.mark_suspect(self.path)

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, and durable at the end of the block; for a reader, reads that all see one commit."""
        return self._database.transaction()

    def savepoint(self) -> AbstractContextManager[None]:
        """A part of a transaction that is undone alone where it raises."""
        return self._database.savepoint()

    def decode(self, body: bytes, kind: type[T]) -> T:
        """A value that was stored as bytes whose meaning the store doesn't know (intake's state).

        :raises StoreDamaged: where the bytes are none of that kind; the store counts as damaged from then on.
        """
        return self._database.decode(body, kind)

    def load_head(self) -> Head:
        head = heads.load_head(self._database)
        if head is None:
            raise self._database.damage("its head is gone")
        return head

    def save_head(self, head: Head) -> None:
        heads.save_head(self._database, head)

    def load_state(self) -> State:
        return state_rows.load_state(self._database)

    def save_batch(self, record: Record, state: State, changed: frozenset[str]) -> int:
        return batches.save_batch(self._database, record, state, changed)

    def record(self, batch_id: str) -> Record | None:
        return batches.record(self._database, batch_id)

    def records(self, after: int, limit: int) -> list[tuple[int, Record]]:
        return batches.records(self._database, after, limit)

    def item_records(self, item: str, limit: int) -> list[tuple[int, Record]]:
        return batches.item_records(self._database, item, limit)

    def add_annotation(self, annotation: Annotation) -> bool:
        return state_rows.add_annotation(self._database, annotation)

    def annotations_with_batch(self) -> list[tuple[int, Annotation]]:
        return state_rows.annotations_with_batch(self._database)

    def add_event(self, event: Event, *, digest: str, heard_at: str) -> bool:
        return events.add_event(self._database, event, digest=digest, heard_at=heard_at)

    def event(self, event_id: str) -> Event | None:
        return events.event(self._database, event_id)

    def events(self, ids: Iterable[str]) -> dict[str, Event]:
        return events.events(self._database, ids)

    def event_digest(self, event_id: str) -> str | None:
        return events.digest(self._database, event_id)

    def waiting_summary(self) -> Waiting:
        return events.waiting_summary(self._database)

    def waiting(self, limit: int, exclude: Collection[str] = ()) -> list[Event]:
        return events.waiting(self._database, limit, exclude)

    def judge_events(self, ids: Iterable[str], batch_id: str) -> None:
        events.judge_events(self._database, ids, batch_id)

    def deferred(self, limit: int) -> list[Event]:
        return events.deferred(self._database, limit)

    def last_event_number(self) -> int:
        return events.last_event_number(self._database)

    def count_outside_after(self, number: int) -> int:
        return events.count_outside_after(self._database, number)

    def item_events(self, item: str, limit: int = 100) -> list[Event]:
        return events.item_events(self._database, item, limit)

    def load_intake(self) -> IntakeRow | None:
        return intake_rows.load_intake(self._database)

    def save_intake(self, cursor: int, cursor_time: int | None, state: bytes) -> None:
        intake_rows.save_intake(self._database, cursor, cursor_time, state)

    def entry_taken(self, seq: int, time: int, type_: str) -> bool:
        return intake_rows.entry_taken(self._database, seq, time, type_)

    def take_entries(self, keys: Iterable[EntryKey]) -> None:
        intake_rows.take_entries(self._database, keys)

    def lose_entries(self, after: int, through: int, sent: Iterable[EntryKey]) -> int:
        return intake_rows.lose_entries(self._database, after, through, sent)

    def resend_from(self, head: tuple[int, int] | None) -> int:
        return intake_rows.resend_from(self._database, head)

    def count_skips(self, counts: Mapping[str, int]) -> None:
        intake_rows.count_skips(self._database, counts)

    def skips(self) -> dict[str, int]:
        return intake_rows.skips(self._database)

    def coverage(self) -> dict[str, Coverage]:
        return coverage_rows.coverage(self._database)

    def set_coverage(self, channel: str, status: Heard, since: str) -> Coverage:
        return coverage_rows.set_coverage(self._database, channel, status, since)


def open_reader(folder: Path, session: str) -> SessionStore:
    """Opens the session's file to read, beside whoever owns it, without the lock.

    Nothing that is recorded changes. SQLite makes the `-wal` and `-shm` files beside it where they are not there, and
    a reader leaves them; so it needs leave to write in the folder.

    :raises StoreMissing: where there is no such file.
    :raises StoreNewer: where a later version made it.
    :raises StoreUnavailable: where it cannot be read.
    """
    return SessionStore(_open_for_reading(database_path(folder, session), session), None)


def _open_for_reading(path: Path, session: str) -> Database:
    with unavailable(f"{path.name} cannot be looked at"):
        if not path.exists():
            raise StoreMissing(path)
    database = Database(path, read_only=True)
    try:
        version = version_of(database)
        _refuse_newer(path, version)
        if version < len(MIGRATIONS):
            raise StoreUnavailable(
                f"{path.name} has an older format; open it once with the sidecar to bring it up to date"
            )
        head = heads.load_head(database)
        if head is None:
            raise StoreUnavailable(f"{path.name} is just being made; try again")
        _refuse_another(path, head, session)
    except BaseException:
        database.close()
        raise
    return database


def _open_or_make(path: Path, session: str, *, condemned: bool) -> tuple[Database, Path | None]:
    """The owner's way in: a later version's file is refused unread and another session's left alone, a damaged or
    condemned one set aside, a missing one made.
    """
    with unavailable(f"{path.name} cannot be looked at"):
        found = path.exists() and path.stat().st_size > 0
    aside = found and (not _is_sound(path, session) or condemned)
    moved_aside = quarantine.set_aside(path) if aside else None
    _make_private(path)
    database = Database(path, read_only=False)
    try:
        migrate(database)
        with database.transaction():
            heads.create_head(database, Head(session))
        quarantine.clear_suspect(path)
    except BaseException:
        database.close()
        raise
    return database, moved_aside


def _is_sound(path: Path, session: str) -> bool:
    """Looks at the file without changing a byte of it.

    :raises StoreNewer: where a later version made it.
    :raises StoreUnavailable: where it cannot be read now, or is another session's.
    """
    try:
        with closing(Database(path, read_only=True)) as database:
            version = version_of(database)
            _refuse_newer(path, version)
            check(database, whole=quarantine.is_suspect(path), empty=version == 0)
            head = heads.load_head(database) if version > 0 else None
            if head is not None:
                _refuse_another(path, head, session)
    except StoreDamaged:
        return False
    return True


def _refuse_newer(path: Path, version: int) -> None:
    if version > len(MIGRATIONS):
        raise StoreNewer(path, version, len(MIGRATIONS))


def _refuse_another(path: Path, head: Head, session: str) -> None:
    if head.session != session:
        raise StoreUnavailable(f"{path.name} holds session {head.session!r}, not {session!r}; move it away")


def _make_folder(folder: Path) -> None:
    with unavailable(f"the folder {folder.name} cannot be made"):
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE_FOLDER)


def _make_private(path: Path) -> None:
    """Makes the file, if need be, for its owner alone; SQLite gives its WAL the same mode, whatever the umask."""
    with unavailable(f"{path.name} cannot be made"):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
        path.chmod(PRIVATE_FILE)
