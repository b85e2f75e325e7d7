"""Unexpected errors: each gets a reference, stands whole in the log, and is counted where a user can see it."""

from __future__ import annotations

import logging
import uuid
from collections import deque
from datetime import UTC, datetime
from typing import Final

from foldstate.sidecar.wire.frames.process import Incident

KEPT: Final = 20
"""How many of the newest incidents are kept for `health/get`."""

_log: Final = logging.getLogger(__name__)


class Incidents:
    """Keeps the newest incidents. One belongs to a process; not for use from other threads."""

    def __init__(self) -> None:
        self._newest: deque[Incident] = deque(maxlen=KEPT)

    @property
    def newest(self) -> tuple[Incident, ...]:
        """The newest incidents, oldest first. They name the error's class and never its text, which may hold paths."""
        return tuple(self._newest)

    def record(self, where: str, error: BaseException) -> str:
        """Logs the error with its traceback and returns the reference under which the log has it."""
        reference = uuid.uuid4().hex[:12]
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self._newest.append(Incident(reference, at, where, type(error).__name__))
        _log.error("unexpected error in %s", where, exc_info=error, extra={"reference": reference})
        return reference
