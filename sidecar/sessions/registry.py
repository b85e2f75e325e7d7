"""Which sessions are open, and how many files: those least used are put away and come back when asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct

from foldstate.sidecar.sessions.session import Session, Surroundings
from foldstate.sidecar.store.errors import StoreError
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.wire.errors import InvalidRequest, SessionNotOpen, StorageUnavailable

R = TypeVar("R")

OPEN_LIMIT: Final = 32
"""Files open at a time, and more only while more sessions are at work: each costs three descriptors, and some systems
allow a process 256."""

LOCK_WAIT_S: Final = 3.0
"""How long opening waits for another owner before it only reads."""


class Away(Struct, frozen=True):
    """What `health/get` still tells of a session whose file is put away."""

    pending: int
    skipped: Mapping[str, int]


class _Errand(Generic[R]):
    """Work that goes on to its end though whoever asked for it was cancelled."""

    def __init__(self, work: Callable[[], Awaitable[R]]) -> None:
        self._work = work
        self._done = anyio.Event()
        self._result: list[R] = []
        self._error: Exception | None = None

    async def run(self) -> None:
        try:
            self._result = [await self._work()]
        except Exception as error:  # noqa: BLE001  raised again before whoever asked
            self._error = error
        finally:
            self._done.set()

    async def outcome(self) -> R:
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]


class Registry:
    """Owns the open sessions and the map from a subagent's session to its parent.

    A session that was opened stays known until it is closed, also while its file is put away.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._heads: dict[str, Head] = {}
        self._live: dict[str, Session] = {}
        self._away: dict[str, Away] = {}
        self._parents: dict[str, str] = {}
        self._gate = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._ending = False

    @property
    def live(self) -> tuple[Session, ...]:
        """The sessions whose files are open."""
        return tuple(self._live.values())

    @property
    def away(self) -> tuple[Away, ...]:
        """The sessions whose files are put away."""
        return tuple(self._away.values())

    @property
    def known(self) -> int:
        """How many sessions were opened and not closed."""
        return len(self._heads)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the sessions' tasks; at the end each is closed, with all that was accepted durable."""
        async with anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._ending = True
                with anyio.CancelScope(shield=True):
                    async with self._gate:
                        for session_id in list(self._live):
                            await self._put_away(session_id)
            self._tasks.cancel_scope.cancel()

    def map_child(self, child: str, parent: str) -> str:
        """Remembers whose subagent a session is, and returns its root as far as it is known."""
        self._parents[child] = parent
        return self.root(child)

    def root(self, session_id: str) -> str:
        """The session that holds the state: itself, or the one that its chain of parents leads to."""
        passed = {session_id}
        while (parent := self._parents.get(session_id)) is not None and parent not in passed:
            passed.add(parent)
            session_id = parent
        return session_id

    async def open(self, head: Head) -> Session:
        """Opens a session, or the one that is open already; one that another process owned is claimed if it is free.

        :raises StorageUnavailable: where its file cannot be used, with what to do about it.
        """
        return await self._see_to(lambda: self._open(head))

    async def use(self, session_id: str) -> Session:
        """An opened session, its file brought back if it was put away, and what another process wrote read anew.

        :raises SessionNotOpen: where it was never opened, or closed.
        :raises StorageUnavailable: where its file cannot be used.
        """
        session = self._live.get(session_id)
        if session is None:
            session = await self._see_to(lambda: self._bring_back(session_id))
        else:
            self._live[session_id] = self._live.pop(session_id)
        if session.desk.read_only:
            await session.refresh()
        return session

    async def close(self, session_id: str) -> None:
        """Forgets a session; its file keeps all of it. A subagent's is only mapped, and mapped no more.

        :raises SessionNotOpen: where it isn't open.
        """
        if self._parents.pop(session_id, None) is None:
            await self._see_to(lambda: self._close(session_id))

    async def _see_to(self, work: Callable[[], Awaitable[R]]) -> R:
        """Does the work in a task of the registry's, one such work at a time.

        :raises InvalidRequest: where the process is ending.
        """
        if self._tasks is None or self._ending:
            raise InvalidRequest("the sidecar is ending; start another")

        async def alone() -> R:
            async with self._gate:
                if self._ending:
                    raise InvalidRequest("the sidecar is ending; start another")
                return await work()

        errand = _Errand(alone)
        self._tasks.start_soon(errand.run)
        return await errand.outcome()

    async def _open(self, head: Head) -> Session:
        session_id = head.session
        was_known = session_id in self._heads
        self._heads.setdefault(session_id, head)
        live = self._live.get(session_id)
        try:
            if live is None:
                return await self._start(session_id, LOCK_WAIT_S)
            if live.desk.read_only or live.damaged:
                await self._put_away(session_id)
                return await self._start(session_id, 0)
        except BaseException:
            if not was_known:
                self._heads.pop(session_id, None)
            raise
        return live

    async def _bring_back(self, session_id: str) -> Session:
        if session_id not in self._heads:
            raise SessionNotOpen(f"session {session_id!r} is not open; call session/open first")
        return self._live.get(session_id) or await self._start(session_id, LOCK_WAIT_S)

    async def _close(self, session_id: str) -> None:
        if self._heads.pop(session_id, None) is None:
            raise SessionNotOpen(f"session {session_id!r} is not open")
        await self._put_away(session_id)
        self._away.pop(session_id, None)
        self._parents = {child: parent for child, parent in self._parents.items() if self.root(child) != session_id}

    async def _start(self, session_id: str, lock_wait_s: float) -> Session:
        assert self._tasks is not None, "sessions are opened inside `running` alone"
        await self._make_room()
        try:
            session = await Session.open(self._heads[session_id], self._surroundings, lock_wait_s)
        except StoreError as error:
            raise StorageUnavailable(str(error)) from None
        self._live[session_id] = session
        self._away.pop(session_id, None)
        await self._tasks.start(self._serve, session_id, session)
        return session

    async def _serve(self, session_id: str, session: Session, *, task_status: TaskStatus[None]) -> None:
        """Runs one session; what brings it down leaves the others alone, and it is opened anew when asked for."""
        try:
            await session.serve(task_status=task_status)
        except Exception as error:  # noqa: BLE001  counted by the alarm, shown by health/get
            self._surroundings.outlet.alarm("session", error)
        finally:
            if self._live.get(session_id) is session:
                del self._live[session_id]

    async def _make_room(self) -> None:
        for session_id, session in list(self._live.items()):
            if len(self._live) < OPEN_LIMIT:
                return
            if session.idle:
                await self._put_away(session_id)

    async def _put_away(self, session_id: str) -> None:
        session = self._live.pop(session_id, None)
        if session is not None:
            await session.close()
            self._away[session_id] = Away(session.desk.waiting.count, session.desk.skipped)
