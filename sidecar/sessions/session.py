"""An open session: its actor, its rounds, and what is told to the host whenever it changes."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
from msgspec import Struct

from foldstate.kernel.surface import Surface, surface
from foldstate.kernel.values import Language
from foldstate.sidecar.clock import Clock
from foldstate.sidecar.intake.fold import IntakeState
from foldstate.sidecar.rounds.driver import Driver, Editor, Settings, Tally
from foldstate.sidecar.sessions.actor import Actor
from foldstate.sidecar.sessions.desk import Desk
from foldstate.sidecar.sessions.outlet import Outlet
from foldstate.sidecar.store.errors import StoreUnavailable
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
    """Owns everything of one session that lives while it is open. `serve` runs it until `close`.

    :raises StoreError: from `open`, where the file cannot be used.
    """

    def __init__(self, desk: Desk, store: SessionStore, surroundings: Surroundings) -> None:
        self._store = store
        self._manner = surroundings.manner
        self._outlet = surroundings.outlet
        self._unwritten: StoreUnavailable | None = None
        self.surface = self._render(desk)
        self.actor = Actor(desk, store, surroundings.clock, self._write_surface, self._tell)
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
        """Opens the session's file, as its owner if that is free within `lock_wait_s`, else to read."""
        folder = surroundings.manner.folder
        store, desk = await anyio.to_thread.run_sync(_load, folder, head.session, lock_wait_s)
        session = cls(desk, store, surroundings)
        if not store.read_only:
            await anyio.to_thread.run_sync(session._write_surface, None, desk)
        return session

    @property
    def desk(self) -> Desk:
        return self.actor.desk

    @property
    def moved_aside(self) -> Path | None:
        return self._store.moved_aside

    @property
    def idle(self) -> bool:
        """Whether nothing is under way that closing would break off: then it may be put away and opened again later."""
        return not self.desk.rounds and not self.driver.waits

    def language(self, desk: Desk) -> Language:
        return self._manner.language or desk.head.locale or "en"

    def render(self, budget_tokens: int) -> Surface:
        """The surface within another budget than the configured one."""
        return surface(
            self.desk.state, language=self.language(self.desk), budget_tokens=budget_tokens, notes=self.desk.notes
        )

    async def serve(self) -> None:
        """Runs the session until `close`; whatever was accepted before is durable when this returns."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._drive)
                await self.actor.serve()
                self._scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._store.close)
            self._ended.set()

    async def close(self) -> None:
        """Ends the rounds, makes durable what is queued, and releases the file. Its events wait in it."""
        self._scope.cancel()
        self.actor.stop()
        await self._ended.wait()

    async def _drive(self) -> None:
        with self._scope:
            await self.driver.serve()

    def _render(self, desk: Desk) -> Surface:
        return surface(
            desk.state,
            language=self.language(desk),
            budget_tokens=self._manner.tier0_tokens,
            notes=desk.notes,
        )

    def _write_surface(self, before: Desk | None, after: Desk) -> None:
        """Renders the new surface and puts it beside the store; on the actor's thread, before its askers are answered.

        The file serves a process that starts later, so a failure to write it is told and stops nothing.
        """
        if before is not None and not surface_differs(before, after):
            return
        rendered = self._render(after)
        if before is not None and rendered == self.surface:
            return
        self.surface = rendered
        path = surface_path(self._manner.folder, after.head.session)
        try:
            write_surface(path, after.head.session, rendered.revision, rendered.text, rendered.tokens)
        except StoreUnavailable as error:
            self._unwritten = error

    def _tell(self, before: Desk, after: Desk) -> None:
        """Tells the host what changed, and the rounds that they must look again; runs on the event loop."""
        if self._unwritten is not None:
            self._outlet.alarm("surface file", self._unwritten)
            self._unwritten = None
        self._outlet.moved(before, after, self.surface)
        self.driver.poke()


def _load(folder: Path, session: str, lock_wait_s: float) -> tuple[SessionStore, Desk]:
    """The store, and the desk as the file has it. Open rounds ended with their process (R9): their events wait."""
    store = SessionStore.open(folder, session, lock_wait_s=lock_wait_s)
    try:
        with store.transaction():
            row = store.load_intake()
            desk = Desk(
                head=store.load_head(),
                state=store.load_state(),
                intake=IntakeState() if row is None else msgspec.json.decode(row.state, type=IntakeState),
                cursor=-1 if row is None else row.cursor,
                waiting=store.waiting_summary(),
                coverage=store.coverage(),
                read_only=store.read_only,
            )
    except BaseException:
        store.close()
        raise
    return store, desk


def surface_differs(before: Desk, after: Desk) -> bool:
    """Whether anything that the surface is made of may have changed."""
    return before.state is not after.state or before.notes != after.notes or before.head.locale != after.head.locale
