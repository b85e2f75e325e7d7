"""One task a session that alone writes its file: every change goes through it, in order, and nothing cancels a commit.

A command is a plain function of the desk (what is in memory), the store and the time, which returns the new desk and a
reply. The commands that wait are run together in one transaction on a worker thread, each in a savepoint of its own;
they are answered once that transaction is durable. Whoever asked may have gone away meanwhile: what it asked for is
done all the same, and idempotency keys tell it so when it comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final, Generic, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec import Struct

from foldstate.sidecar.clock import Clock
from foldstate.sidecar.sessions.desk import Desk
from foldstate.sidecar.store.errors import StoreUnavailable
from foldstate.sidecar.store.session_store import SessionStore
from foldstate.sidecar.wire.errors import SessionNotOpen, StorageUnavailable

R = TypeVar("R")

GROUP_LIMIT: Final = 64
"""The most commands of one transaction: enough to share a sync between all that piled up, few enough to answer soon."""


class Moment(Struct, frozen=True):
    """What a command sees of the world: the store inside its transaction, and the time."""

    store: SessionStore
    now: str


Command = Callable[[Desk, Moment], tuple[Desk, R]]


class _Job(Generic[R]):
    """A command that waits for its turn, and the place where its asker waits for the answer."""

    def __init__(self, command: Command[R]) -> None:
        self._command = command
        self._done = anyio.Event()
        self._reply: list[R] = []
        self._error: Exception | None = None

    def run(self, desk: Desk, moment: Moment) -> Desk:
        """Runs the command in a savepoint; a command that raises leaves the desk and the file as they were."""
        try:
            with moment.store.savepoint():
                after, reply = self._command(desk, moment)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  raised again before whoever asked, where the wire counts it
            self._error = error
            return desk
        self._reply = [reply]
        return after

    def fail(self, error: Exception) -> None:
        self._error = error

    def answer(self) -> None:
        self._done.set()

    async def outcome(self) -> R:
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._reply[0]


class Actor:
    """Owns one session's desk and its store while the session is open.

    `changed` is called on the worker thread after each durable transaction that changed the desk, with the old and the
    new one: what it writes (the surface's file) is on disk before the askers are answered. `moved` is called on the
    event loop after that.
    """

    def __init__(
        self,
        desk: Desk,
        store: SessionStore,
        clock: Clock,
        changed: Callable[[Desk, Desk], None],
        moved: Callable[[Desk, Desk], None],
    ) -> None:
        self.desk = desk
        self._store = store
        self._clock = clock
        self._changed = changed
        self._moved = moved
        self._limiter = anyio.CapacityLimiter(1)
        self._send: MemoryObjectSendStream[_Job[object]]
        self._receive: MemoryObjectReceiveStream[_Job[object]]
        self._send, self._receive = anyio.create_memory_object_stream(inf)

    async def run(self, command: Command[R]) -> R:
        """Puts a command in the queue and waits until it is durable.

        :raises Exception: what the command raised; the desk and the file are as they were.
        :raises StorageUnavailable: where the transaction could not be written; nothing of it was kept.
        :raises SessionNotOpen: where the session was closed meanwhile.
        """
        job: _Job[R] = _Job(command)
        try:
            self._send.send_nowait(job)  # type: ignore[arg-type]
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise SessionNotOpen(f"session {self.desk.head.session!r} was closed; open it again") from None
        return await job.outcome()

    async def read(self, ask: Callable[[SessionStore], R]) -> R:
        """Runs a question that writes nothing on the same thread, between two transactions."""
        return await anyio.to_thread.run_sync(ask, self._store, limiter=self._limiter)

    async def serve(self) -> None:
        """Works until `stop`; everything that was queued before it is done first."""
        async with self._receive:
            async for first in self._receive:
                jobs = [first]
                while len(jobs) < GROUP_LIMIT:
                    try:
                        jobs.append(self._receive.receive_nowait())
                    except (anyio.WouldBlock, anyio.EndOfStream):
                        break
                await self._commit(jobs)

    def stop(self) -> None:
        """Takes no more commands; `serve` returns when the queue is empty."""
        self._send.close()

    async def _commit(self, jobs: list[_Job[object]]) -> None:
        before = self.desk
        with anyio.CancelScope(shield=True):
            self.desk = await anyio.to_thread.run_sync(self._write, jobs, limiter=self._limiter)
        for job in jobs:
            job.answer()
        if self.desk is not before:
            self._moved(before, self.desk)

    def _write(self, jobs: list[_Job[object]]) -> Desk:
        before = self.desk
        after = before
        try:
            with self._store.transaction():
                moment = Moment(self._store, self._clock.now())
                for job in jobs:
                    after = job.run(after, moment)
        except StoreUnavailable as error:
            for job in jobs:
                job.fail(StorageUnavailable(str(error)))
            return before
        if after is not before:
            self._changed(before, after)
        return after
