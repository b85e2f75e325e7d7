"""`python -m foldstate.sidecar`: the sidecar on stdin and stdout.

It says that it is starting before anything slow is loaded, which is why this module imports so little at its head.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

FAILED = 70
"""The exit code where the sidecar could not be loaded or came down; the log says why."""
LOG_S = 0.2
"""How long the last log lines may take to get out."""


def fill_standard() -> None:
    """Puts the null device where a standard descriptor is closed, before another file can get its number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def announce() -> None:
    """Sends `sidecar/starting`. A host that is gone already ends the process, with nothing lost."""
    body = b'{"jsonrpc":"2.0","method":"sidecar/starting","params":{"pid":%d}}' % os.getpid()
    try:
        os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    except OSError:
        os._exit(0)


def main() -> NoReturn:
    """Runs the sidecar until its input ends, and ends the process without waiting for threads that hang."""
    for number in (signal.SIGTERM, signal.SIGINT):  # until the wire takes over, nothing was accepted
        signal.signal(number, lambda _number, _frame: os._exit(0))
    fill_standard()
    announce()
    from foldstate.sidecar.log import configure

    log = configure()
    try:
        from foldstate.sidecar.service import run

        code = run()
    except Exception:
        import logging

        logging.getLogger(__name__).exception("the sidecar came down")
        code = FAILED
    log.wait(LOG_S)
    os._exit(code)


if __name__ == "__main__":
    main()
