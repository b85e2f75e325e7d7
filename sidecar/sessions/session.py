"""An open session: its actor, its rounds, and what is told to the host whenever it changes."""

from __future__ import annotations

from pathlib import Path

import anyio
from anyio.abc import TaskStatus
from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel.surface import Surface, surface
from foldstate.kernel.values import Language
from foldstate.sidecar.clock import Clock
from foldstate.sidecar.desk.actor import Actor
from foldstate.sidecar.desk.desk import Desk
from foldstate.sidecar.intake.fold import IntakeState
from foldstate.sidecar.rounds.driver import Driver, Settings, Tally
from foldstate.sidecar.rounds.editor import Editor
from foldstate.sidecar.sessions.outlet import Outlet
from foldstate.sidecar.store.errors import StoreDamaged, StoreUnavailable
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.store.names import surface_path
from foldstate.sidecar.store.session_store import SessionStore
from foldstate.sidecar.store.surface_file import write_surface


class Manner(Struct, frozen=True):
    """What of the configuration concerns a session: where its file is, its surface's budget, its language if set."""

    folder: Path
    tier0_tokens: int
    language: Language | None
    rounds: Settings


class Surroundings(Struct, frozen=True):
    """What all sessions of the process share."""

    manner: Manner
    clock: Clock
    editor: Editor
    outlet: Outlet
    tally: Tally


class Session:
    """Owns everything of one session that lives while it is open. `serve` runs it until `close`."""

    def __init__(self, desk: Desk, store: SessionStore, surroundings: Surroundings) -> None:
        self._store = store
        self._manner = surroundings.manner
        self._outlet = surroundings.outlet
        self._clock = surroundings.clock
        self._on_disk: Surface | None = None
        self._unwritten: StoreUnavailable | None = None
        self.surface = self._render(desk)
        self.actor = Actor(desk, store, surroundings.clock, self._put_surface, self._tell)
        self.driver = Driver(
            self.actor,
            surroundings.editor,
            surroundings.clock,
            surroundings.manner.rounds,
            surroundings.tally,
            self.language,
            surroundings.outlet.alarm,
        )
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()

    @classmethod
    async def open(cls, head: Head, surroundings: Surroundings, lock_wait_s: float) -> Session:
        """Opens the session's file, as its owner if that is free within `lock_wait_s`, else to read.

        :raises StoreError: where the file cannot be used.
        """
        folder = surroundings.manner.folder
        store, desk = await anyio.to_thread.run_sync(_open, folder, head.session, lock_wait_s)
        session = cls(desk, store, surroundings)
        if not store.read_only:
            await anyio.to_thread.run_sync(session._put_surface, desk, desk)
        return session

    @property
    def desk(self) -> Desk:
        return self.actor.desk

    @property
    def moved_aside(self) -> Path | None:
        return self._store.moved_aside

    @property
    def damaged(self) -> bool:
        """Whether the file showed damage while it was open: opening it anew sets it aside."""
        return self._store.damaged

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost or late if its file were put away until it is asked for again."""
        return not self.desk.without_old_rounds(self._clock.now()).rounds and not self.driver.engaged

    def language(self, desk: Desk) -> Language:
        return self._manner.language or desk.head.locale or "en"

    def render(self, budget_tokens: int) -> Surface:
        """The surface within another budget than the configured one."""
        return surface(
            self.desk.state, language=self.language(self.desk), budget_tokens=budget_tokens, notes=self.desk.notes
        )

    async def refresh(self) -> None:
        """Reads anew what another process wrote, where that one owns the session."""
        fresh = await self.actor.read(_load)
        await self.actor.change(lambda desk: replace(fresh, heard=desk.heard, heard_at=desk.heard_at))

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        """Runs the session until `close`; whatever was accepted before is durable when this returns."""
        try:
            async with anyio.create_task_group() as group:
                await group.start(self._drive)
                task_status.started()
                await self.actor.serve()
                self._scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._release()
            self._ended.set()

    async def close(self) -> None:
        """Ends the rounds, makes durable what is queued, and releases the file. Its events wait in it."""
        self._scope.cancel()
        self.actor.stop()
        await self._ended.wait()

    async def _drive(self, *, task_status: TaskStatus[None]) -> None:
        with self._scope:
            await self.driver.serve(task_status=task_status)

    async def _release(self) -> None:
        """Closes the file; nothing uses it any more."""
        try:
            await anyio.to_thread.run_sync(self._store.close)
        except StoreUnavailable as error:
            self._outlet.alarm("closing a session's file", error)

    def _render(self, desk: Desk) -> Surface:
        return surface(
            desk.state,
            language=self.language(desk),
            budget_tokens=self._manner.tier0_tokens,
            notes=desk.notes,
        )

    def _put_surface(self, before: Desk, after: Desk) -> None:
        """Renders the surface where it may have changed, and puts it beside the store unless it lies there.

        Runs on a worker thread, before whoever brought the change about is answered. The file serves a process that
        starts later, so a failure to write it is told, tried again with the next change, and stops nothing.
        """
        if _may_differ(before, after):
            self.surface = self._render(after)
        if after.read_only or self.surface == self._on_disk:
            return
        session = after.head.session
        path = surface_path(self._manner.folder, session)
        try:
            write_surface(path, session, self.surface.revision, self.surface.text, self.surface.tokens)
        except StoreUnavailable as error:
            self._unwritten = error
        else:
            self._on_disk = self.surface

    def _tell(self, before: Desk, after: Desk) -> None:
        """Tells the host what changed, and the rounds that they must look again; runs on the event loop."""
        if self._unwritten is not None:
            self._outlet.alarm("surface file", self._unwritten)
            self._unwritten = None
        self._outlet.moved(before, after, self.surface)
        self.driver.poke()


def _open(folder: Path, session: str, lock_wait_s: float) -> tuple[SessionStore, Desk]:
    """The store and its desk. A file whose rows can't be read any more is set aside whole, and a fresh one begun."""
    try:
        return _opened(SessionStore.open(folder, session, lock_wait_s=lock_wait_s))
    except StoreDamaged:
        return _opened(SessionStore.open(folder, session, lock_wait_s=lock_wait_s, condemned=True))


def _opened(store: SessionStore) -> tuple[SessionStore, Desk]:
    try:
        with store.transaction():
            return store, _load(store)
    except BaseException:
        store.close()
        raise


def _load(store: SessionStore) -> Desk:
    """The desk as the file has it. Open rounds ended with their process (R9): their events wait."""
    row = store.load_intake()
    return Desk(
        head=store.load_head(),
        state=store.load_state(),
        intake=IntakeState() if row is None else store.decode(row.state, IntakeState),
        cursor=-1 if row is None else row.cursor,
        waiting=store.waiting_summary(),
        coverage=store.coverage(),
        skipped=store.skips(),
        read_only=store.read_only,
    )


def _may_differ(before: Desk, after: Desk) -> bool:
    """Whether anything that the surface is made of may have changed."""
    return before.state is not after.state or before.notes != after.notes or before.head.locale != after.head.locale
