"""Writing files and folders so that a reader, or a crash, meets the old or the new one, never a part."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

ASIDE = ".foldstate-"
"""What the names of unfinished or replaced folders begin with; `replace_folder` clears those of an earlier crash."""


def write_file(path: Path, content: bytes, mode: int) -> None:
    """Puts a complete file in the place of `path`, with the permission bits `mode`; its folder must exist."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_folder(folder: Path) -> dict[str, bytes] | None:
    """The files directly in a folder by name, or None where there is no such folder."""
    if not folder.is_dir():
        return None
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def replace_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Makes `folder` hold exactly these files. They are written beside it first, then take its place.

    Whoever calls this holds the lock that keeps others from the same parent folder.
    """
    parent = folder.parent
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{ASIDE}*"):
        remove(left)
    draft = parent / f"{ASIDE}{secrets.token_hex(6)}"
    replaced = parent / f"{ASIDE}{secrets.token_hex(6)}"
    try:
        draft.mkdir()
        for name, content in files.items():
            write_file(draft / name, content, 0o644)
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            folder.rename(replaced)
        try:
            draft.rename(folder)
        except OSError:
            if replaced.exists():
                replaced.rename(folder)
            raise
    finally:
        for left in (draft, replaced):
            remove(left)


def remove(path: Path) -> None:
    """Takes away a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
