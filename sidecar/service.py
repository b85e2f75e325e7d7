"""The process: its parts put together, configured by `initialize`, and ended in good order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Final

import anyio

import foldstate
from foldstate.kernel.view import StateView
from foldstate.sidecar.clock import Clock, ManualClock, SystemClock, instant, stamp
from foldstate.sidecar.intake.fold import WANTS
from foldstate.sidecar.methods.facts import FactMethods
from foldstate.sidecar.methods.notes import NoteMethods
from foldstate.sidecar.methods.reading import ReadingMethods
from foldstate.sidecar.methods.rounds import RoundMethods
from foldstate.sidecar.rounds.driver import Settings, Tally
from foldstate.sidecar.rounds.editor import Editor
from foldstate.sidecar.rounds.host_editor import HostEditor
from foldstate.sidecar.rounds.rules_editor import RulesEditor
from foldstate.sidecar.sessions.host_outlet import HostOutlet
from foldstate.sidecar.sessions.registry import Registry
from foldstate.sidecar.sessions.session import Manner, Surroundings
from foldstate.sidecar.wire.errors import InvalidParams, InvalidRequest
from foldstate.sidecar.wire.frames import (
    AnnotationAddParams,
    AnnotationAddResult,
    BatchAnswer,
    BatchSubmitParams,
    ClockSetParams,
    ClockSetResult,
    EventPostParams,
    EventResult,
    EvidenceGetParams,
    EvidenceGetResult,
    Fired,
    HealthResult,
    HistoryListParams,
    HistoryListResult,
    InitializeParams,
    InitializeResult,
    ItemGetParams,
    ItemGetResult,
    Nothing,
    OfSession,
    RoundBeginParams,
    RoundBeginResult,
    RoundCancelParams,
    RoundCounts,
    RoundFinishParams,
    RoundFinishResult,
    RoundSubmitParams,
    Server,
    SessionEventsParams,
    SessionEventsResult,
    SessionOpenParams,
    SessionOpenResult,
    StateGetParams,
    SubagentSettledParams,
    SubagentSettledResult,
    SubagentStartedParams,
    SubagentStartedResult,
    SurfaceGetParams,
    SurfaceGetResult,
)
from foldstate.sidecar.wire.handler import Handler
from foldstate.sidecar.wire.incidents import Incidents
from foldstate.sidecar.wire.peer import Peer

PROTOCOL: Final = 1


class Plant:
    """What exists once the host has said how it wants things: the clock, the sessions, and the methods over them."""

    def __init__(self, params: InitializeParams, peer: Peer, incidents: Incidents) -> None:
        config = params.config
        self.config = config
        self.clock: Clock = SystemClock() if params.now is None else ManualClock(params.now)
        self.tally = Tally()
        outlet = HostOutlet(peer, incidents)
        manner = Manner(
            folder=Path(params.data_dir) / "sessions",
            tier0_tokens=config.tier0_tokens,
            language=config.language,
            rounds=Settings(
                automatic=config.editor != "off",
                quiet_s=config.quiet_s,
                patience_s=config.patience_s,
                max_tokens=config.editor_max_tokens,
                timeout_s=config.editor_timeout_s,
            ),
        )
        editor: Editor = RulesEditor() if config.editor == "rules" else HostEditor(peer)
        self.registry = Registry(Surroundings(manner, self.clock, editor, outlet, self.tally))
        self.facts = FactMethods(self.registry, self.clock, outlet)
        self.notes = NoteMethods(self.registry)
        self.rounds = RoundMethods(self.registry)
        self.reading = ReadingMethods(self.registry, self.clock)


class Service:
    """Owns the process's life: nothing before `initialize`, then the plant, until `stop`."""

    def __init__(self) -> None:
        self._incidents = Incidents()
        self._peer = Peer(self._handlers(), self._incidents)
        self._began = time.monotonic()
        self._plant: Plant | None = None
        self._configured = anyio.Event()
        self._ready = anyio.Event()
        self._stopping = anyio.Event()
        self._stopped = anyio.Event()

    async def run(self) -> int:
        """Serves the host until it is gone or says so; the process's exit code."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._operate)
            code = await self._peer.serve(self._stop)
            group.cancel_scope.cancel()
        return code

    async def _operate(self) -> None:
        await self._configured.wait()
        async with self._built.registry.running():
            self._ready.set()
            await self._stopping.wait()
        self._stopped.set()

    async def _stop(self) -> None:
        """Ends the sessions; returns once all that was accepted is durable."""
        self._stopping.set()
        if self._plant is not None:
            await self._stopped.wait()

    @property
    def _built(self) -> Plant:
        """The plant. The peer lets no method but `initialize` come before it."""
        assert self._plant is not None
        return self._plant

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            "initialize": Handler(InitializeParams, InitializeResult, self._initialize),
            "shutdown": Handler(Nothing, NoneType, self._shutdown),
            "clock/set": Handler(ClockSetParams, ClockSetResult, self._set_clock),
            "health/get": Handler(Nothing, HealthResult, self._health),
            "session/open": Handler(SessionOpenParams, SessionOpenResult, lambda p: self._built.facts.open(p)),
            "session/close": Handler(OfSession, NoneType, lambda p: self._built.facts.close(p)),
            "session/events": Handler(SessionEventsParams, SessionEventsResult, lambda p: self._built.facts.events(p)),
            "subagent/started": Handler(
                SubagentStartedParams, SubagentStartedResult, lambda p: self._built.facts.started(p)
            ),
            "subagent/settled": Handler(
                SubagentSettledParams, SubagentSettledResult, lambda p: self._built.facts.settled(p)
            ),
            "event/post": Handler(EventPostParams, EventResult, lambda p: self._built.facts.post(p)),
            "annotation/add": Handler(AnnotationAddParams, AnnotationAddResult, lambda p: self._built.notes.add(p)),
            "state/get": Handler(StateGetParams, StateView, lambda p: self._built.reading.state(p)),
            "surface/get": Handler(SurfaceGetParams, SurfaceGetResult, lambda p: self._built.reading.surface(p)),
            "item/get": Handler(ItemGetParams, ItemGetResult, lambda p: self._built.reading.item(p)),
            "evidence/get": Handler(EvidenceGetParams, EvidenceGetResult, lambda p: self._built.reading.evidence(p)),
            "history/list": Handler(HistoryListParams, HistoryListResult, lambda p: self._built.reading.history(p)),
            "round/begin": Handler(RoundBeginParams, RoundBeginResult, lambda p: self._built.rounds.begin(p)),
            "round/submit": Handler(RoundSubmitParams, BatchAnswer, lambda p: self._built.rounds.submit(p)),
            "round/finish": Handler(RoundFinishParams, RoundFinishResult, lambda p: self._built.rounds.finish(p)),
            "round/cancel": Handler(RoundCancelParams, NoneType, lambda p: self._built.rounds.cancel(p)),
            "batch/submit": Handler(BatchSubmitParams, BatchAnswer, lambda p: self._built.rounds.submit_batch(p)),
        }

    async def _initialize(self, params: InitializeParams) -> InitializeResult:
        if self._plant is not None:
            raise InvalidRequest("initialize comes once; end the process to begin again")
        if not Path(params.data_dir).is_absolute():
            raise InvalidParams("give the absolute path of a folder", path="params.data_dir")
        self._plant = Plant(params, self._peer, self._incidents)
        self._configured.set()
        await self._ready.wait()
        server = Server(name="foldstate", version=foldstate.__version__)
        return InitializeResult(protocol=PROTOCOL, server=server, config=params.config, wants=WANTS)

    async def _shutdown(self, _params: Nothing) -> None:
        await self._stop()

    async def _set_clock(self, params: ClockSetParams) -> ClockSetResult:
        plant = self._built
        if not isinstance(plant.clock, ManualClock):
            raise InvalidRequest("the clock is the system's; initialize with clock manual to set it")
        try:
            plant.clock.set(params.now)
        except ValueError as error:
            raise InvalidParams(str(error), path="params.now") from None
        courses = [
            (course, session.desk.head.session)
            for session in plant.registry.live
            if (course := session.driver.fire()) is not None
        ]
        fired: list[Fired] = []
        for course, name in sorted(courses, key=lambda one: (instant(one[0].call.due), one[1])):
            await course.begun.wait()
            if course.batch_id is not None:
                fired.append(Fired(session=name, reasons=course.call.reasons, at=stamp(instant(course.call.due))))
        return ClockSetResult(tuple(fired))

    async def _health(self, _params: Nothing) -> HealthResult:
        plant = self._built
        live = plant.registry.live
        away = plant.registry.away
        skipped: Counter[str] = Counter()
        for kept in (*(session.desk.skipped for session in live), *(one.skipped for one in away)):
            skipped.update(kept)
        return HealthResult(
            uptime_s=round(time.monotonic() - self._began, 3),
            sessions_open=plant.registry.known,
            pending_events=sum(session.desk.waiting.count for session in live) + sum(one.pending for one in away),
            timers=sum(session.driver.waits for session in live),
            rounds=RoundCounts(
                accepted=plant.tally.accepted,
                rejected=plant.tally.rejected,
                failed=plant.tally.failed,
                skipped=plant.tally.skipped,
            ),
            skipped=dict(sorted(skipped.items())),
            editor=plant.config.editor,
            last_errors=self._incidents.newest,
        )


def run() -> int:
    """Runs the sidecar over this process's stdin and stdout; returns its exit code."""
    return anyio.run(serve)


async def serve() -> int:
    return await Service().run()
