"""Who owns a session's file: a lock of the operating system, which ends with its process however that ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from foldstate.sidecar.store.errors import unavailable

PRIVATE_FILE: Final = 0o600
_POLL_S: Final = 0.02


class OwnerLock:
    """The lock of one session; held from a successful `acquire` to `release`."""

    def __init__(self, path: Path) -> None:
        # The threads of a pool take turns on one store, so the lock must not belong to one thread. A lock that is a
        # file's mere existence would outlive its process, so where the system has no other this is an error.
        self._lock = FileLock(path, mode=PRIVATE_FILE, thread_local=False, fallback_to_soft=False)
        self._path = path

    def acquire(self, wait_s: float) -> bool:
        """Waits up to `wait_s` seconds; false where another holder kept it.

        :raises StoreUnavailable: where the lock's file cannot be made.
        """
        with unavailable(f"{self._path.name} cannot be locked"), suppress(Timeout):
            self._lock.acquire(timeout=max(wait_s, 0.0), poll_interval=_POLL_S)
        return self._lock.is_locked

    def release(self) -> None:
        """:raises StoreUnavailable: where the system reports an error."""
        with unavailable(f"{self._path.name} cannot be unlocked"):
            self._lock.release()
