"""What can go wrong with a session's file; each error says in its message what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(Exception):
    """Base of the store's errors."""


class StoreUnavailable(StoreError):
    """The file cannot be read or written now (disk full, I/O error, no permission). Nothing of the call was kept."""


class StoreMissing(StoreUnavailable):
    """A reader asked for a session that has no file yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name} does not exist: nothing of this session was recorded yet")


class StoreReadOnly(StoreUnavailable):
    """Another process owns the session, so this one only reads."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name} is owned by another process; end that one, or open the session again later")


class StoreDamaged(StoreUnavailable):
    """The file's content is not sound. The next owner that opens it checks it whole and sets it aside if need be."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path.name} is damaged ({detail}); open the session again to set it aside and begin afresh")


class StoreNewer(StoreError):
    """A later version of Foldstate made the file; it is left alone."""

    def __init__(self, path: Path, version: int, known: int) -> None:
        super().__init__(
            f"{path.name} has format {version}; this program knows formats up to {known}: upgrade it to read the file"
        )


class EventConflict(StoreError):
    """An event with this id is in the ledger with other content; the ledger's one stays."""

    def __init__(self, event: str) -> None:
        super().__init__(f"event {event!r} is already recorded with other content; send new content under a new id")


@contextmanager
def unavailable(what: str) -> Iterator[None]:
    """Says an error of the operating system as the store's own, with `what` could not be done.

    :raises StoreUnavailable:
    """
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{what}: {error.strerror or error}") from error
