"""One task a session that alone changes its desk and its file: in order, and nothing cancels a commit.

Three kinds of jobs wait in one queue. A command is a plain function of the desk (what is in memory), the store and the
time, which returns the new desk and a reply; commands that wait together share one transaction, each in a savepoint of
its own, and are answered once it is durable. A change concerns memory alone, so it can't fail with the file. A question
reads the file and changes nothing.

Whoever asked may have gone away meanwhile: what a command did stays done, and idempotency keys tell it so when it comes
back, unless it came with an `undo`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from math import inf
from typing import Final, Generic, TypeAlias, TypeVar, assert_never

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec import Struct

from foldstate.kernel import instant as instants
from foldstate.sidecar.clock import Clock
from foldstate.sidecar.desk.desk import Desk
from foldstate.sidecar.store.errors import StoreUnavailable
from foldstate.sidecar.store.session_store import SessionStore
from foldstate.sidecar.wire.errors import SessionNotOpen, StorageUnavailable

R = TypeVar("R")

GROUP_LIMIT: Final = 64
"""The most jobs taken from the queue at a time: enough to share a sync between all that piled up, few enough to answer
soon."""


class Moment(Struct, frozen=True):
    """What a command sees of the world: the store inside its transaction, and the time, never before a recorded one."""

    store: SessionStore
    now: str


Command: TypeAlias = Callable[[Desk, Moment], tuple[Desk, R]]
Change: TypeAlias = Callable[[Desk], Desk]
Question: TypeAlias = Callable[[SessionStore], R]


class _Job(Generic[R]):
    """The place where an asker waits for its answer."""

    def __init__(self) -> None:
        self._done = anyio.Event()
        self._reply: list[R] = []
        self._error: Exception | None = None
        self.deserted = False

    @property
    def reply(self) -> R | None:
        """What came of it; null until it is done, and where it failed."""
        return self._reply[0] if self._reply else None

    def succeed(self, reply: R) -> None:
        self._reply = [reply]

    def fail(self, error: Exception) -> None:
        self._reply = []
        self._error = error

    def answer(self) -> None:
        self._done.set()

    async def outcome(self) -> R:
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._reply[0]


class _Commanded(_Job[R]):
    def __init__(self, command: Command[R], undo: Callable[[R], Change] | None) -> None:
        super().__init__()
        self._command = command
        self._undo = undo

    def run(self, desk: Desk, moment: Moment) -> Desk:
        """Runs the command in a savepoint; one that raises leaves the desk and the file as they were."""
        try:
            with moment.store.savepoint():
                after, reply = self._command(desk, moment)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  raised again before whoever asked, where the wire counts it
            self.fail(error)
            return desk
        self.succeed(reply)
        return after

    @property
    def undoing(self) -> Change | None:
        """What takes it back, where its asker has gone and it came with a way."""
        if not self.deserted or self._undo is None or self.reply is None:
            return None
        return self._undo(self.reply)


class _Changed(_Job[None]):
    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change


class _Asked(_Job[R]):
    def __init__(self, question: Question[R]) -> None:
        super().__init__()
        self._question = question

    def run(self, store: SessionStore) -> None:
        try:
            self.succeed(self._question(store))
        except StoreUnavailable as error:
            self.fail(StorageUnavailable(str(error)))
        except Exception as error:  # noqa: BLE001  raised again before whoever asked, where the wire counts it
            self.fail(error)


_AnyJob: TypeAlias = "_Commanded[object] | _Changed | _Asked[object]"


class Actor:
    """Owns one session's desk and its store while the session is open.

    `changed` is called on a worker thread after everything that changed the desk, with the old and the new one: what it
    writes (the surface's file) is on disk before the askers are answered. `moved` is called on the event loop after.
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
        self._send: MemoryObjectSendStream[_AnyJob]
        self._receive: MemoryObjectReceiveStream[_AnyJob]
        self._send, self._receive = anyio.create_memory_object_stream(inf)

    async def run(self, command: Command[R], undo: Callable[[R], Change] | None = None) -> R:
        """Puts a command in the queue and waits until it is durable.

        :param undo: what takes back a command whose asker went away before it had the answer.
        :raises Exception: what the command raised; the desk and the file are as they were.
        :raises StorageUnavailable: where the transaction could not be written; nothing of it was kept.
        :raises SessionNotOpen: where the session was closed meanwhile.
        """
        job = _Commanded(command, undo)
        self._put(job)  # type: ignore[arg-type]  # the queue holds jobs of every reply
        try:
            return await job.outcome()
        except anyio.get_cancelled_exc_class():
            job.deserted = True
            if (undoing := job.undoing) is not None:
                self._put(_Changed(undoing))
            raise

    async def change(self, change: Change) -> None:
        """Changes what is in memory alone.

        :raises SessionNotOpen: where the session was closed meanwhile.
        """
        job = _Changed(change)
        self._put(job)
        await job.outcome()

    async def read(self, question: Question[R]) -> R:
        """Asks the file between two transactions.

        :raises StorageUnavailable: where it can't be read.
        :raises SessionNotOpen: where the session was closed meanwhile.
        """
        job = _Asked(question)
        self._put(job)  # type: ignore[arg-type]  # the queue holds jobs of every reply
        return await job.outcome()

    async def serve(self) -> None:
        """Works until `stop`; everything that was queued before it is done first. Then nothing uses the store."""
        async with self._receive:
            async for first in self._receive:
                jobs = [first]
                while len(jobs) < GROUP_LIMIT:
                    try:
                        jobs.append(self._receive.receive_nowait())
                    except (anyio.WouldBlock, anyio.EndOfStream):
                        break
                for _, group in groupby(jobs, type):
                    with anyio.CancelScope(shield=True):
                        await self._do(list(group))

    def stop(self) -> None:
        """Takes no more jobs; `serve` returns when the queue is empty."""
        self._send.close()

    def _put(self, job: _AnyJob) -> None:
        try:
            self._send.send_nowait(job)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise SessionNotOpen(f"session {self.desk.head.session!r} was closed; open it again") from None

    async def _do(self, jobs: list[_AnyJob]) -> None:
        before = self.desk
        self.desk = await anyio.to_thread.run_sync(self._work, before, jobs, limiter=self._limiter)
        for job in jobs:
            job.answer()
        if self.desk is not before:
            self._moved(before, self.desk)

    def _work(self, before: Desk, jobs: list[_AnyJob]) -> Desk:
        now = self._now(before)
        desk = before.without_old_rounds(now)
        commands: list[_Commanded[object]] = []
        for job in jobs:
            match job:
                case _Commanded():
                    commands.append(job)
                case _Changed():
                    desk = job.change(desk)
                    job.succeed(None)
                case _Asked():
                    job.run(self._store)
                case _:
                    assert_never(job)
        if commands:
            desk = self._commit(desk, commands, now)
        if desk is not before:
            self._changed(before, desk)
        return desk

    def _commit(self, before: Desk, jobs: list[_Commanded[object]], now: str) -> Desk:
        """All the commands in one transaction; the desk as it was where that could not be written."""
        after = before
        try:
            with self._store.transaction():
                moment = Moment(self._store, now)
                for job in jobs:
                    after = job.run(after, moment)
        except StoreUnavailable as error:
            for job in jobs:
                job.fail(StorageUnavailable(str(error)))
            return before
        for job in jobs:
            if (undoing := job.undoing) is not None:
                after = undoing(after)
        return after

    def _now(self, desk: Desk) -> str:
        """The clock's time, or the last recorded one where the clock was set back behind it (B7)."""
        return instants.later(instants.later(self._clock.now(), desk.state.recorded_at), desk.head.window_to)
