"""The sidecars of a home, as processes."""

from __future__ import annotations

import time
from collections.abc import Collection

from foldstate.sidecar.store.names import database_path
from tests.support.host import HostHome
from tests.support.processes import Left, belonging_to


def sidecars(home: HostHome) -> list[Left]:
    return [process for process in belonging_to(str(home.folder)) if "foldstate" in process.words.split("/")[-1]]


def wait_for_sidecar(home: HostHome, other_than: Collection[int] = (), timeout_s: float = 15.0) -> int:
    """The pid of a sidecar that runs.

    :raises TimeoutError: none came.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for process in sidecars(home):
            if process.pid not in other_than:
                return process.pid
        time.sleep(0.02)
    raise TimeoutError(f"no sidecar of {home.folder} within {timeout_s} s: {belonging_to(str(home.folder))}")


def wait_for_store(home: HostHome, session: str, timeout_s: float = 15.0) -> None:
    """Waits until a sidecar has taken up the session.

    :raises TimeoutError: none did.
    """
    deadline = time.monotonic() + timeout_s
    path = database_path(home.home / "foldstate" / "sessions", session)
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no sidecar has taken up session {session} within {timeout_s} s")
        time.sleep(0.02)
