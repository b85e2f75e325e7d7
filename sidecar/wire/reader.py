"""From the host's bytes to frame bodies, bounded, and from a descriptor to the host's bytes."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final, Protocol

MAX_BODY: Final = 8 * 1024 * 1024
"""Bytes of one frame's body."""
MAX_HEADERS: Final = 8 * 1024
"""Bytes of one frame's header section."""
CHUNK: Final = 64 * 1024

_log: Final = logging.getLogger(__name__)


class StreamBroken(Exception):
    """The framing is not what the protocol says: where the next frame begins can't be known any more."""


class FrameParser:
    """Cuts a stream of bytes into frame bodies. Holds at most one body, one header section and the last chunk."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        self._headers = 0
        self._body = False

    @property
    def midway(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._buffer) or self._headers > 0 or self._body

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that `data` completes. Raises `StreamBroken`, after which the parser must not be fed again."""
        self._buffer += data
        while True:
            if not self._body and not self._take_headers():
                return
            length = self._length or 0
            if len(self._buffer) < length:
                return
            with memoryview(self._buffer) as view:
                body = bytes(view[:length])
            del self._buffer[:length]
            self._length, self._headers, self._body = None, 0, False
            yield body

    def _take_headers(self) -> bool:
        """Takes header lines off the buffer; true once the section is whole."""
        while True:
            end = self._buffer.find(b"\n")
            size = self._headers + (len(self._buffer) if end < 0 else end + 1)
            if size > MAX_HEADERS:
                raise StreamBroken(f"a frame's header section is longer than {MAX_HEADERS} bytes")
            if end < 0:
                return False
            line = bytes(self._buffer[:end]).strip()
            del self._buffer[: end + 1]
            self._headers = size
            if line:
                self._take_header(line)
            elif self._length is None:
                raise StreamBroken("a frame's header section has no Content-Length")
            else:
                self._body = True
                return True

    def _take_header(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon:
            raise StreamBroken("a header line has no colon")
        if name.strip().lower() != b"content-length":
            return
        digits = value.strip()
        if not digits.isdigit():
            raise StreamBroken("Content-Length is not a whole number of bytes")
        length = int(digits) if len(digits) < 20 else MAX_BODY + 1
        if length > MAX_BODY:
            raise StreamBroken(f"Content-Length is over {MAX_BODY} bytes")
        if self._length not in (None, length):
            raise StreamBroken("Content-Length is given twice, and differs")
        self._length = length


class Source(Protocol):
    """Where the host's bytes come from. On the event loop, `take` is called with each chunk, and at last `end` once."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


async def open_source(fd: int, take: Callable[[bytes], None], end: Callable[[], None], *, threads: bool) -> Source:
    """Starts reading `fd`, which it owns from now on. `threads` is for where an event loop can't wait for pipes."""
    if threads:
        return _ThreadSource(fd, take, end)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: _PipeProtocol(take, end), os.fdopen(fd, "rb", 0)
    )
    return _PipeSource(transport)


class _PipeProtocol(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._take, self._end = take, end

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            _log.warning("reading from the host failed: %s", exc)
        self._end()


class _PipeSource:
    def __init__(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport

    def pause(self) -> None:
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    def close(self) -> None:
        self._transport.close()


class _ThreadSource:
    """Reads in a daemon thread, at most one chunk ahead: a thread that waits for input can't be called off."""

    def __init__(self, fd: int, take: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._fd, self._take, self._end = fd, take, end
        self._loop = asyncio.get_running_loop()
        self._go = threading.Event()
        self._go.set()
        self._paused = self._closed = False
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._go.set()

    def close(self) -> None:
        self._closed = True
        self._go.set()

    def _read(self) -> None:
        while True:
            self._go.wait()
            if self._closed:
                return
            try:
                data = os.read(self._fd, CHUNK)
            except OSError as error:
                _log.warning("reading from the host failed: %s", error)
                data = b""
            self._go.clear()
            try:
                self._loop.call_soon_threadsafe(self._deliver, data)
            except RuntimeError:  # the event loop has ended, and with it the wish for more
                return
            if not data:
                return

    def _deliver(self, data: bytes) -> None:
        if self._closed:
            return
        if not data:
            self._end()
            return
        self._take(data)
        if not self._paused:
            self._go.set()
