"""From frame bodies to the host's bytes, bounded, for a host that may stop reading.

Nothing here ever waits, so that timers and commits go on. What the host does not take waits in a queue:

- notifications of one method about one session stand in it once: a newer one takes the older one's place;
- replies and requests are never dropped. Past `FULL` bytes `full` is true: the peer then reads no further requests,
  and its own requests wait for room, until the queue is down to half. So it grows by no more than the replies to what
  was in flight by then, whose number is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

import anyio

FULL: Final = 16 * 1024 * 1024
"""Bytes of waiting frames from which on no more work is taken in."""
CHUNK: Final = 64 * 1024

_log: Final = logging.getLogger(__name__)

Subject: TypeAlias = tuple[str, str]
"""A notification's method and session."""


class Sink(Protocol):
    """Where bytes go. `write` says whether they are out already; else the writer's `drained` is called once they are.

    It is not called again before.
    """

    def write(self, data: bytes) -> bool: ...

    def close(self) -> None: ...


class FrameWriter:
    """Frames bodies and sends them in order. `on_room` is called when the queue has drained after being full.

    `on_gone` is called once, when the host's end is gone; whatever is written after that is dropped.
    """

    def __init__(self, on_room: Callable[[], None], on_gone: Callable[[], None]) -> None:
        self._on_room, self._on_gone = on_room, on_gone
        self._sink: Sink | None = None
        self._busy = self._gone = self._was_full = False
        self._waiting: OrderedDict[int | Subject, bytes] = OrderedDict()
        self._size = 0
        self._number = 0
        self._room = anyio.Event()
        self._room.set()
        self._empty = anyio.Event()
        self._empty.set()

    @property
    def full(self) -> bool:
        return self._was_full

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self._pump()

    def write(self, body: bytes, subject: Subject | None = None) -> None:
        """Queues a body. With a `subject` it takes the place of a waiting one of the same subject."""
        if self._gone:
            return
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self._number += 1
        key: int | Subject = self._number if subject is None else subject
        self._size += len(frame) - len(self._waiting.get(key, b""))
        self._waiting[key] = frame
        if self._empty.is_set():
            self._empty = anyio.Event()
        if self._size > FULL and not self._was_full:
            self._was_full = True
            self._room = anyio.Event()
            _log.warning("the host does not read: %d bytes wait, and no more work is taken in", self._size)
        self._pump()

    async def room(self) -> None:
        """Waits while the queue is full."""
        await self._room.wait()

    async def flushed(self) -> None:
        """Waits until everything is out, or the host's end is gone."""
        await self._empty.wait()

    def close(self) -> None:
        if self._sink is not None and not self._gone:
            self._sink.close()
        self._gone = True

    def drained(self) -> None:
        """The sink's word that what it was given is out."""
        self._busy = False
        self._pump()

    def lost(self, error: BaseException | None) -> None:
        """The sink's word that the host's end is gone."""
        if self._gone:
            return
        self._gone = True
        self._waiting.clear()
        self._size = 0
        self._settle()
        _log.info("the host's end of stdout is gone: %s", error or "closed")
        self._on_gone()

    def _pump(self) -> None:
        while self._sink is not None and not self._busy and self._waiting:
            chunk: list[bytes] = []
            size = 0
            while self._waiting and (not chunk or size < CHUNK):
                _, frame = self._waiting.popitem(last=False)
                chunk.append(frame)
                size += len(frame)
            self._size -= size
            self._busy = not self._sink.write(b"".join(chunk))
        self._settle()

    def _settle(self) -> None:
        if self._was_full and self._size <= FULL // 2:
            self._was_full = False
            self._room.set()
            self._on_room()
        if not self._waiting and (self._gone or not self._busy):
            self._empty.set()


async def open_sink(fd: int, writer: FrameWriter, *, threads: bool) -> Sink:
    """Starts writing to `fd`, which it owns from now on. `threads` is for where an event loop can't wait for pipes."""
    if threads:
        return _ThreadSink(fd, writer)
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(
        lambda: _PipeProtocol(writer), os.fdopen(fd, "wb", 0)
    )
    transport.set_write_buffer_limits(high=0)
    return _PipeSink(transport)


class _PipeProtocol(asyncio.BaseProtocol):
    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer

    def resume_writing(self) -> None:
        self._writer.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writer.lost(exc)


class _PipeSink:
    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport

    def write(self, data: bytes) -> bool:
        self._transport.write(data)
        return not self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._transport.abort()


class _ThreadSink:
    """Writes in a daemon thread, one chunk at a time: a thread that waits for the host can't be called off."""

    def __init__(self, fd: int, writer: FrameWriter) -> None:
        self._fd, self._writer = fd, writer
        self._loop = asyncio.get_running_loop()
        self._chunks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> bool:
        self._chunks.put(data)
        return False

    def close(self) -> None:
        self._chunks.put(None)

    def _run(self) -> None:
        while (data := self._chunks.get()) is not None:
            error: OSError | None = None
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError as failed:
                error = failed
            try:
                if error is None:
                    self._loop.call_soon_threadsafe(self._writer.drained)
                else:
                    self._loop.call_soon_threadsafe(self._writer.lost, error)
            except RuntimeError:  # the event loop has ended, and with it the wish to know
                return
            if error is not None:
                return
