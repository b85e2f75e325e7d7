"""Who may write a session: the process that owns its file."""

from __future__ import annotations

from foldstate.sidecar.sessions.registry import Registry
from foldstate.sidecar.sessions.session import Session
from foldstate.sidecar.wire.errors import ReadOnly


async def writable(registry: Registry, session_id: str) -> Session:
    """The opened session, if this process owns it.

    :raises ReadOnly: where another process does.
    """
    session = await registry.use(session_id)
    if session.desk.read_only:
        raise ReadOnly(f"another process writes session {session_id!r}; end it, or open the session again later")
    return session
