"""The lock that DSH itself takes to change a profile's package.json, taken the way DSH takes it.

It is a file beside the profile's, made exclusively, that names its holder's process; a holder that is gone loses it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT_S = 30.0
"""Longer than DSH needs to write a manifest; an installation through pnpm may hold it for longer, and is said to."""

NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""How a file system says that it has no hard links; some say so by refusing."""


class LockHeldError(Exception):
    """Somebody else held the lock all the time that we waited."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is held")
        self.path = path


@contextmanager
def host_lock(file: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Keeps DSH's own package manager from changing `file` meanwhile.

    :raises LockHeldError: after `wait_s` seconds.
    """
    lock = file.with_name(f"{file.name}.lock")
    until = time.monotonic() + wait_s
    while not _make(lock):
        if _take_over(lock):
            continue
        if time.monotonic() >= until:
            raise LockHeldError(lock)
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _make(path: Path) -> bool:
    """Makes the file unless it is there. It names us from its first instant: an unnamed one is never taken over."""
    if os.path.lexists(path):
        return False
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        _write(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            return _make_where_nothing_links(path)
        return True
    finally:
        draft.unlink(missing_ok=True)


def _make_where_nothing_links(path: Path) -> bool:
    try:
        _write(path)
    except FileExistsError:
        return False
    return True


def _write(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")


def _take_over(lock: Path) -> bool:
    """Removes the lock of a process that is gone. A claim, named after what the lock says, lets one contender do so."""
    record = _record(lock)
    if record is None or not _gone(record):
        return False
    claim = lock.with_name(f"{lock.name}.takeover-{hashlib.sha256(record.encode()).hexdigest()[:16]}")
    if not _make(claim):
        return False
    try:
        if _record(lock) != record or not _gone(record):
            return False
        lock.unlink(missing_ok=True)
        return True
    finally:
        claim.unlink(missing_ok=True)


def _record(lock: Path) -> str | None:
    try:
        return lock.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None


def _gone(record: str) -> bool:
    """Whether the process that a lock names surely doesn't run any more. On Windows that isn't known: then it counts
    as running, and DSH itself takes the lock over."""
    if os.name == "nt" or not re.fullmatch(r"[1-9][0-9]{0,9}\n", record):
        return False
    try:
        os.kill(int(record), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
