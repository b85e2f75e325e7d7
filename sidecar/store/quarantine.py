"""Setting a damaged file aside whole, so that nothing in it is lost and a fresh one can be made.

A mark beside the file says that damage showed while it was open; the next owner then checks all of it, which an
ordinary opening does not, since that would cost more with every batch.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Final

from foldstate.sidecar.store.errors import unavailable
from foldstate.sidecar.store.lock import PRIVATE_FILE

_PARTS: Final = ("", "-wal", "-shm")


def set_aside(path: Path) -> Path:
    """Renames the file with its WAL to `<stem>.damaged-<UTC>.sqlite` and returns the new path; nothing is overwritten.

    Only for the owner: no one else makes such names for this session.

    :raises StoreUnavailable: where it cannot be renamed; the next opening sets aside what is left.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (f"{path.stem}.damaged-{stamp}{extra}{path.suffix}" for extra in chain([""], map("-{}".format, count(2))))
    with unavailable(f"{path.name} cannot be set aside"):
        target = next(
            name for name in map(path.with_name, names) if not any(_part(name, part).exists() for part in _PARTS)
        )
        # The file goes last: a kill in between leaves it in place, and the next opening sets aside what is left.
        for part in reversed(_PARTS):
            if _part(path, part).exists():
                _part(path, part).rename(_part(target, part))
    clear_suspect(path)
    return target


def mark_suspect(path: Path) -> None:
    """:raises StoreUnavailable: where the mark cannot be made."""
    with unavailable(f"{_mark(path).name} cannot be made"):
        _mark(path).touch(mode=PRIVATE_FILE)


def is_suspect(path: Path) -> bool:
    """:raises StoreUnavailable: where it cannot be told."""
    with unavailable(f"{_mark(path).name} cannot be looked at"):
        return _mark(path).exists()


def clear_suspect(path: Path) -> None:
    """:raises StoreUnavailable: where the mark cannot be removed."""
    with unavailable(f"{_mark(path).name} cannot be removed"):
        _mark(path).unlink(missing_ok=True)


def _mark(path: Path) -> Path:
    return path.with_suffix(".suspect")


def _part(path: Path, part: str) -> Path:
    return path.with_name(path.name + part)
