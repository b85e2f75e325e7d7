"""The surface beside the store: what the bridge puts before the agent while no sidecar runs."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct, json

from foldstate.sidecar.store.errors import unavailable
from foldstate.sidecar.store.lock import PRIVATE_FILE


class SurfaceFile(Struct, frozen=True):
    """The file's content, one JSON object."""

    session: str
    revision: int
    text: str
    tokens: int


def write_surface(path: Path, session: str, revision: int, text: str, tokens: int) -> None:
    """Replaces the file in one step: a reader finds the old content or the new, whole. One writer a session.

    :raises StoreUnavailable: where it cannot be written; the old content stays.
    """
    fresh = path.with_name(f"{path.name}.new")
    with unavailable(f"{path.name} cannot be written"):
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        with open(handle, "wb") as file:  # noqa: PTH123  the mode must be set before the first byte
            file.write(json.encode(SurfaceFile(session, revision, text, tokens)))
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(PRIVATE_FILE)
        fresh.replace(path)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the renaming durable where folders can be opened (not on Windows, which keeps its own journal of it)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
