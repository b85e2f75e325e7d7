"""Which processes of this machine belong to one test: found by what they were given, not by what they are called."""

from __future__ import annotations

import os
import time
from pathlib import Path

from msgspec import Struct


class Left(Struct, frozen=True):
    """A process that is still there. `words` is its command line."""

    pid: int
    words: str


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended while we looked, or it is another user's
        return b""


def _ended(folder: Path) -> bool:
    stat = _read(folder / "stat").rpartition(b")")[2].split()
    return not stat or stat[0] == b"Z"


def belonging_to(mark: str) -> list[Left]:
    """The living processes whose environment or command line holds `mark`; the caller itself isn't one."""
    wanted = mark.encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        words = _read(folder / "cmdline")
        if (wanted in words or wanted in _read(folder / "environ")) and not _ended(folder):
            found.append(Left(int(folder.name), words.replace(b"\0", b" ").decode(errors="replace").strip()))
    return found


def left_after(mark: str, within_s: float) -> list[Left]:
    """The processes that are still there after `within_s` at most; none as soon as none is."""
    deadline = time.monotonic() + within_s
    while (left := belonging_to(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def working_time_s(pid: int) -> float:
    """Processor time that a process has used so far, in seconds; 0 for one that is gone."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
