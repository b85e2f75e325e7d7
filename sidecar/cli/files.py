"""Writing files and folders so that a reader, or a crash, meets the old or the new one, never a part."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ASIDE = ".foldstate-"
"""What the names of unfinished or replaced folders begin with; `clear_unfinished` takes away those of a crash."""


def write_file(path: Path, content: bytes, mode: int) -> None:
    """Puts a complete file in the place of `path`, with the permission bits `mode`; its folder must exist.

    Where `path` is a link it stays one: the file that it leads to is replaced.
    """
    path = Path(os.path.realpath(path))
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
    """Makes `folder` hold exactly these files, all new: they are written beside it first, then take its place.

    Killed between the two renames, it leaves no folder there, never one of mixed files; `keep_folder` is for a folder
    that must not be missing. Whoever calls this holds the lock that keeps others from the same parent folder.
    """
    with _draft(folder, files) as draft:
        replaced = _aside(folder)
        try:
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists():
                folder.rename(replaced)
            try:
                draft.rename(folder)
            except BaseException:
                if replaced.exists() and not folder.exists():
                    replaced.rename(folder)
                raise
        finally:
            remove(replaced)


def keep_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Makes `folder` hold exactly these files, and at no instant be missing or unfinished.

    It is for a folder whose name stands for its content: one that is there already was whole once, so that what isn't
    as it should be is mended file by file. Whoever calls this holds the lock that keeps others away.
    """
    found = read_folder(folder)
    if found is None:
        with _draft(folder, files) as draft:
            draft.rename(folder)
        return
    for name, content in files.items():
        if found.get(name) != content:
            write_file(folder / name, content, 0o644)
    for name in found.keys() - files.keys():
        remove(folder / name)


@contextmanager
def _draft(folder: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """A complete folder beside `folder`, to be renamed; what is still there of it afterwards goes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    clear_unfinished(folder.parent)
    draft = _aside(folder)
    try:
        draft.mkdir()
        for name, content in files.items():
            write_file(draft / name, content, 0o644)
        yield draft
    finally:
        remove(draft)


def _aside(folder: Path) -> Path:
    return folder.parent / f"{ASIDE}{secrets.token_hex(6)}"


def clear_unfinished(parent: Path) -> None:
    """Takes away what a crash has left in `parent`, where nobody else writes folders now."""
    for left in parent.glob(f"{ASIDE}*"):
        remove(left)


def remove(path: Path) -> None:
    """Takes away a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
