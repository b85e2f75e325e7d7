"""The names of a session's files. The bridge computes the same ones to find the surface without the sidecar."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Final

_SLUG_LENGTH: Final = 40
_HASH_LENGTH: Final = 16
_NOT_SLUG: Final = re.compile(r"[^a-z0-9]+")


def session_stem(session: str) -> str:
    """A readable slug of the id plus a hash of all of it: two ids never share a name, on whatever file system."""
    slug = _NOT_SLUG.sub("-", session.lower())[:_SLUG_LENGTH].strip("-") or "session"
    # A lone surrogate counts as U+FFFD, as JavaScript's encoder has it.
    sound = session.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    digest = sha256(sound.encode("utf-8")).hexdigest()[:_HASH_LENGTH]
    return f"{slug}-{digest}"


def database_path(folder: Path, session: str) -> Path:
    return folder / f"{session_stem(session)}.sqlite"


def lock_path(folder: Path, session: str) -> Path:
    return folder / f"{session_stem(session)}.lock"


def surface_path(folder: Path, session: str) -> Path:
    return folder / f"{session_stem(session)}.surface.json"
