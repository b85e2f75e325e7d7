"""The last resort of an ending: a process that hangs is not left behind."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Final

_log: Final = logging.getLogger(__name__)


def exit_after(seconds: float, code: int) -> None:
    """Ends the process in `seconds` unless it has ended by then, whatever its event loop and its threads are at.

    Nothing that was acknowledged is lost by it: an acknowledgement follows its commit.
    """

    def wait() -> None:
        time.sleep(seconds)
        _log.error("did not end within %s s", seconds)
        time.sleep(0.02)
        os._exit(code)

    threading.Thread(target=wait, name="deadline", daemon=True).start()
