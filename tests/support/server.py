"""An HTTP server on 127.0.0.1 at a port that the system chose, gone with the block that it was opened in."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tests.support.record import Record

PATIENCE_S = 60.0
"""Nothing here waits longer."""


class LocalServer:
    """Owns the socket, its threads (daemons) and the record. `closing` is set when it is about to end."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.record = Record()
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_S)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"
