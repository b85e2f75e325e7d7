"""Methods that open sessions and bring facts into them."""

from __future__ import annotations

from typing import Final

from foldstate.kernel.event import Event
from foldstate.sidecar.clock import Clock
from foldstate.sidecar.desk.opening import opened
from foldstate.sidecar.desk.taking import posted_id, take_entries, take_fact, take_post
from foldstate.sidecar.intake.fold import Entry, Settled, Started, keep
from foldstate.sidecar.intake.fold import settled as settle
from foldstate.sidecar.intake.fold import started as start
from foldstate.sidecar.methods.access import writable
from foldstate.sidecar.sessions.host_outlet import HostOutlet
from foldstate.sidecar.sessions.registry import Registry
from foldstate.sidecar.sessions.session import Session
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.wire.errors import InvalidParams
from foldstate.sidecar.wire.frames import (
    Degraded,
    EventPostParams,
    EventResult,
    OfSession,
    SessionEventsParams,
    SessionEventsResult,
    SessionOpenParams,
    SessionOpenResult,
    SubagentSettledParams,
    SubagentSettledResult,
    SubagentStartedParams,
    SubagentStartedResult,
)

NO_LOG: Final = -1
"""The cursor of a session of which nothing was taken, and of a subagent's, which has no state of its own."""


class FactMethods:
    """Owns nothing; works on the registry's sessions."""

    def __init__(self, registry: Registry, clock: Clock, outlet: HostOutlet) -> None:
        self._registry = registry
        self._clock = clock
        self._outlet = outlet

    async def open(self, params: SessionOpenParams) -> SessionOpenResult:
        if params.origin == "subagent":
            return self._map_child(params)
        said = Head(
            session=params.session,
            title=params.title,
            cwd=params.cwd,
            parent=params.parent,
            locale=params.locale,
            profile=params.profile,
        )
        session = await self._registry.open(said)
        resend_from = session.desk.cursor + 1
        if not session.desk.read_only:
            head = None if params.head is None else (params.head.seq, params.head.time)
            resend_from = await session.actor.run(opened(said, head))
        self._outlet.show(params.session, session.surface)
        return SessionOpenResult(
            session=params.session,
            revision=session.desk.state.revision,
            cursor=session.desk.cursor,
            resend_from=resend_from,
            read_only=session.desk.read_only,
            degraded=degraded(session),
        )

    def _map_child(self, params: SessionOpenParams) -> SessionOpenResult:
        if params.parent is None:
            raise InvalidParams("a subagent's session names its parent", path="params.parent")
        root = self._registry.map_child(params.session, params.parent)
        return SessionOpenResult(session=root, revision=0, cursor=NO_LOG, resend_from=0, read_only=False)

    async def close(self, params: OfSession) -> None:
        await self._registry.close(params.session)
        self._outlet.forget(params.session)

    async def events(self, params: SessionEventsParams) -> SessionEventsResult:
        session = await writable(self._registry, params.session)
        ledger = await session.actor.run(
            take_entries(
                [Entry(entry.seq, entry.time, entry.type, entry.data.value) for entry in params.events],
                after=params.after,
                through=params.through,
                skipped=params.skipped,
                accept_gap=params.accept_gap,
            )
        )
        return SessionEventsResult(cursor=params.through, ledger=ledger)

    async def started(self, params: SubagentStartedParams) -> SubagentStartedResult:
        session = await writable(self._registry, self._registry.root(params.session))
        name = session.desk.head.session
        fact = Started(child=params.child, at=params.at, run=params.run, label=params.label)
        told = await session.actor.run(take_fact(lambda intake: start(intake, name, fact)))
        return SubagentStartedResult(told.event)

    async def settled(self, params: SubagentSettledParams) -> SubagentSettledResult:
        session = await writable(self._registry, self._registry.root(params.session))
        name = session.desk.head.session
        fact = Settled(
            child=params.child,
            at=params.at,
            stop_reason=params.stop_reason,
            run=params.run,
            label=params.label,
            closing=params.closing,
        )
        told = await session.actor.run(take_fact(lambda intake: settle(intake, name, fact)))
        return SubagentSettledResult(told.event, told.duplicate)

    async def post(self, params: EventPostParams) -> EventResult:
        session = await writable(self._registry, params.session)
        posted = params.event
        words = keep(posted.text)
        event = Event(
            id=posted.id or posted_id(),
            channel=posted.channel,
            speaker=posted.speaker,
            at=posted.at,
            text=words.text,
            length=words.length,
            cut=None if words.length is None else True,
        )
        told = await session.actor.run(take_post(event, words))
        return EventResult(event.id, told.duplicate)


def degraded(session: Session) -> tuple[Degraded, ...]:
    """What the host should know is not as it ought to be, each with a sentence for a person."""
    found: list[Degraded] = []
    if session.moved_aside is not None:
        found.append(Degraded("damaged", f"the state's file was damaged; it is kept as {session.moved_aside.name}"))
    if session.desk.read_only:
        found.append(Degraded("read_only", "another process writes this session; this one only reads"))
    return tuple(found)
