"""The log: one JSON object a line on stderr, written by a thread of its own.

Whoever started the process may stop reading stderr. Lines wait in a queue of 1,000 then; further ones are dropped and
counted, and the count stands in the next line that is written, as `dropped`. Nothing that serves the wire waits for it.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import traceback
from datetime import UTC, datetime
from typing import Final

import msgspec

WAITING: Final = 1000
MAX_TEXT: Final = 16_000
"""Code points of a message or a traceback that are kept, the end of it."""


class JsonLines(logging.Handler):
    """Formats each record and hands it to the writing thread."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._lines: queue.Queue[bytes] = queue.Queue(WAITING)
        self._dropped = 0
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self._line(record)
        except (TypeError, ValueError):  # a record whose arguments do not fit its own message
            self.handleError(record)
            return
        try:
            self._lines.put_nowait(line)
            self._dropped = 0
        except queue.Full:
            self._dropped += 1

    def wait(self, timeout_s: float) -> None:
        """Waits until what was logged is written, at most `timeout_s`."""
        end = time.monotonic() + timeout_s
        while self._lines.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _line(self, record: logging.LogRecord) -> bytes:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields: dict[str, object] = {
            "at": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _text(record.getMessage()),
        }
        reference = getattr(record, "reference", None)
        if reference is not None:
            fields["reference"] = reference
        if record.exc_info and record.exc_info[0] is not None:
            fields["traceback"] = _text("".join(traceback.format_exception(*record.exc_info)))
        if self._dropped:
            fields["dropped"] = self._dropped
        return msgspec.json.encode(fields) + b"\n"

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except BlockingIOError:  # stderr shares its description with a pipe that somebody made non-blocking
                time.sleep(0.05)
            except OSError:  # nobody reads stderr any more: there is no other place to say so
                pass
            finally:
                self._lines.task_done()


def configure() -> JsonLines:
    """Sends all logging of the process to stderr, and of the libraries' own what is a warning or worse.

    A second call finds it done, and gives back the same.
    """
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, JsonLines):
            return handler
    lines = JsonLines(2)
    root.handlers = [lines]
    root.setLevel(logging.WARNING)
    logging.getLogger("foldstate").setLevel(logging.INFO)
    logging.captureWarnings(True)
    return lines


def _text(text: str) -> str:
    """The text's end, with what no UTF-8 can hold replaced."""
    return text[-MAX_TEXT:].encode("utf-8", "replace").decode("utf-8")
