"""Tells the host what changed in its sessions, each thing once."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from foldstate.kernel.surface import Surface
from foldstate.sidecar.desk.desk import Desk
from foldstate.sidecar.wire.frames import StateChanged, SurfaceChanged
from foldstate.sidecar.wire.incidents import Incidents


class Notifier(Protocol):
    """Notifies the host over the wire; never waits."""

    def notify(self, method: str, params: Struct) -> None: ...


class HostOutlet:
    """Remembers the surface that the host was last told of, for each session."""

    def __init__(self, host: Notifier, incidents: Incidents) -> None:
        self._host = host
        self._incidents = incidents
        self._told: dict[str, Surface] = {}

    def moved(self, before: Desk, after: Desk, surface: Surface) -> None:
        self.show(after.head.session, surface)
        if after.state.revision != before.state.revision:
            changed = StateChanged(session=after.head.session, revision=after.state.revision, cause="commit")
            self._host.notify("state/changed", changed)
        if len(after.state.annotations) > len(before.state.annotations):
            noted = StateChanged(session=after.head.session, revision=after.state.revision, cause="annotation")
            self._host.notify("state/changed", noted)

    def show(self, session: str, surface: Surface) -> None:
        """Sends the surface unless the host has it."""
        if self._told.get(session) == surface:
            return
        self._told[session] = surface
        told = SurfaceChanged(session=session, text=surface.text, tokens=surface.tokens, revision=surface.revision)
        self._host.notify("surface/changed", told)

    def forget(self, session: str) -> None:
        """The session was closed: whoever opens it again is told anew."""
        self._told.pop(session, None)

    def alarm(self, where: str, error: Exception) -> None:
        self._incidents.record(where, error)
