"""Which sessions are open, and how many files: those least used are put away and come back when asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from foldstate.sidecar.sessions.session import Session, Surroundings
from foldstate.sidecar.store.errors import StoreError
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.wire.errors import SessionNotOpen, StorageUnavailable

OPEN_LIMIT: Final = 32
"""Files open at a time: each costs three descriptors, and some systems allow a process 256."""

LOCK_WAIT_S: Final = 3.0
"""How long opening waits for another owner before it only reads."""


class Registry:
    """Owns the open sessions and the map from a subagent's session to its root.

    A session that was opened stays known until it is closed, also while its file is put away.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._heads: dict[str, Head] = {}
        self._live: dict[str, Session] = {}
        self._roots: dict[str, str] = {}
        self._gate = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @property
    def live(self) -> tuple[Session, ...]:
        """The sessions whose files are open."""
        return tuple(self._live.values())

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
                with anyio.CancelScope(shield=True):
                    for session in self.live:
                        await session.close()
            self._tasks.cancel_scope.cancel()

    def map_child(self, child: str, parent: str) -> str:
        """Remembers whose subagent a session is, and returns its root."""
        self._roots[child] = self.root(parent)
        return self._roots[child]

    def root(self, session: str) -> str:
        """The session that holds the state: itself, or the root of the one it is a subagent of."""
        return self._roots.get(session, session)

    async def open(self, head: Head) -> Session:
        """Opens a session, or the one that is open already.

        :raises StorageUnavailable: where its file cannot be used, with what to do about it.
        """
        async with self._gate:
            self._heads.setdefault(head.session, head)
            try:
                session = await self._bring(head.session)
            except StorageUnavailable:
                del self._heads[head.session]
                raise
            if session.desk.read_only:
                session = await self._claim(session)
            return session

    async def use(self, session_id: str) -> Session:
        """An opened session, its file brought back if it was put away.

        :raises SessionNotOpen: where it was never opened, or closed.
        :raises StorageUnavailable: where its file cannot be used.
        """
        live = self._live.get(session_id)
        if live is not None:
            self._live[session_id] = self._live.pop(session_id)
            return live
        async with self._gate:
            if session_id not in self._heads:
                raise SessionNotOpen(f"session {session_id!r} is not open; call session/open first")
            return await self._bring(session_id)

    async def close(self, session_id: str) -> None:
        """Forgets a session; its file keeps all of it.

        :raises SessionNotOpen: where it isn't open.
        """
        async with self._gate:
            if self._heads.pop(session_id, None) is None:
                raise SessionNotOpen(f"session {session_id!r} is not open")
            await self._put_away(session_id)

    async def _bring(self, session_id: str) -> Session:
        live = self._live.get(session_id)
        if live is not None:
            return live
        await self._make_room()
        return await self._start(session_id, LOCK_WAIT_S)

    async def _start(self, session_id: str, lock_wait_s: float) -> Session:
        assert self._tasks is not None, "sessions are opened inside `running` alone"
        head = self._heads[session_id]
        try:
            session = await Session.open(head, self._surroundings, lock_wait_s)
        except StoreError as error:
            raise StorageUnavailable(str(error)) from None
        self._live[session_id] = session
        self._tasks.start_soon(session.serve)
        return session

    async def _claim(self, session: Session) -> Session:
        """Tries again to own a session that another process had; reads on where it still has it."""
        session_id = session.desk.head.session
        await self._put_away(session_id)
        return await self._start(session_id, 0)

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
