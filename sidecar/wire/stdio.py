"""The process's own stdin and stdout, taken out of everybody else's reach."""

from __future__ import annotations

import os
import stat


def claim() -> tuple[int, int]:
    """Moves stdin and stdout to private descriptors and returns them.

    Descriptor 0 reads from the null device afterwards and 1 writes to stderr, so that a stray `print`, a library or a
    child process can neither take bytes from the wire nor put any on it. The private ones are not inherited.
    """
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reading, writing


def pollable(fd: int) -> bool:
    """Whether an event loop can wait for the descriptor: a pipe, a socket or a terminal, no file and no null device."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
