"""One connection to one SQLite file: statements, transactions, and SQLite's errors as the store's own.

WAL and `synchronous=FULL`: a transaction that has ended well is on disk. Every transaction that writes begins with
`BEGIN IMMEDIATE`, since one that upgrades later can fail in spite of the busy timeout. Not thread-safe: one caller at a
time, from whatever thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from foldstate.sidecar.store.errors import StoreDamaged, StoreReadOnly, StoreUnavailable

Value: TypeAlias = int | str | bytes | None
Row: TypeAlias = Sequence[Value]
T = TypeVar("T")

_BUSY_S: Final = 5.0
_CACHE_KIB: Final = 256
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_PRIMARY: Final = 0xFF
"""The part of an extended result code that names its family."""


class Database:
    """An open connection. `damaged` turns true at the first sign that the file's content is not sound."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Opens the file, which must exist.

        :raises StoreUnavailable: where it cannot be opened.
        :raises StoreDamaged: where it is no SQLite database.
        """
        self.path = path
        self.read_only = read_only
        self.damaged = False
        mode = "ro" if read_only else "rw"
        with self._translated():
            self._connection = sqlite3.connect(
                f"file:{quote(path.absolute().as_posix())}?mode={mode}",
                uri=True,
                timeout=_BUSY_S,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        self.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        if self.read_only:
            self.execute("PRAGMA query_only=ON")
            return
        if self.one(tuple[str], "PRAGMA journal_mode=WAL") != ("wal",):
            raise StoreUnavailable(
                f"{self.path.name} lies on a file system without shared memory; move the data folder"
            )
        self.execute("PRAGMA synchronous=FULL")

    def close(self) -> None:
        """Closes the connection; the last owner's close folds the WAL back into the file."""
        with self._translated():
            self._connection.close()

    def execute(self, sql: str, values: Row = ()) -> int:
        """Runs one statement and returns how many rows it changed."""
        with self._translated():
            return self._connection.execute(sql, values).rowcount

    def execute_many(self, sql: str, rows: Iterable[Row]) -> None:
        with self._translated():
            self._connection.executemany(sql, rows)

    def one(self, shape: type[T], sql: str, values: Row = ()) -> T | None:
        """The first row as `shape` (a tuple type, one member a column), or none.

        :raises StoreDamaged: where the row is of another shape.
        """
        with self._translated():
            cursor = self._connection.execute(sql, values)
            row = cursor.fetchone()
            cursor.close()
        return None if row is None else self._shaped(row, shape)

    def all(self, shape: type[T], sql: str, values: Row = ()) -> Generator[T, None, None]:
        """The rows one by one, as for `one`; the caller need not take them all."""
        with self._translated():
            cursor = self._connection.execute(sql, values)
        try:
            while True:
                with self._translated():
                    row = cursor.fetchone()
                if row is None:
                    return
                yield self._shaped(row, shape)
        finally:
            cursor.close()

    def decode(self, body: bytes, kind: type[T]) -> T:
        """A stored value.

        :raises StoreDamaged: where the bytes are none of that kind.
        """
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self.damage(f"a stored {kind.__name__} cannot be read: {error}") from error

    def damage(self, detail: str) -> StoreDamaged:
        """Takes note that the content is not sound, and gives the error to raise."""
        self.damaged = True
        return StoreDamaged(self.path, detail)

    def _shaped(self, row: object, shape: type[T]) -> T:
        try:
            return msgspec.convert(row, type=shape)
        except msgspec.ValidationError as error:
            raise self.damage(f"a row has an unexpected shape: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is durable when the block has ended, or nothing of it is kept.

        On a read-only connection a block of reads that all see one commit.
        """
        self.execute("BEGIN" if self.read_only else "BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self._roll_back("ROLLBACK")
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction that can fail alone; may be nested."""
        self.execute("SAVEPOINT part")
        try:
            yield
            self.execute("RELEASE part")
        except BaseException:
            self._roll_back("ROLLBACK TO part")
            self._roll_back("RELEASE part")
            raise

    def _roll_back(self, sql: str) -> None:
        """SQLite ends the transaction itself on some errors (a full disk); there is nothing left to roll back then."""
        if self._connection.in_transaction:
            self.execute(sql)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
            if code in _DAMAGE:
                raise self.damage(str(error)) from error
            if code == sqlite3.SQLITE_READONLY and self.read_only:
                raise StoreReadOnly(self.path) from error
            if isinstance(error, sqlite3.OperationalError):
                raise StoreUnavailable(f"{self.path.name}: {error}") from error
            raise
