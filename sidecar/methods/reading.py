"""Methods that show what a session holds and change nothing."""

from __future__ import annotations

from collections import deque
from typing import Final

from msgspec.structs import replace

from foldstate.kernel import instant as instants
from foldstate.kernel.annotations import annotate
from foldstate.kernel.batch import submit
from foldstate.kernel.event import Event
from foldstate.kernel.projection import gone_view, item_view, state_view
from foldstate.kernel.state import State
from foldstate.kernel.verdict import Accepted
from foldstate.kernel.view import StateView
from foldstate.sidecar.clock import Clock
from foldstate.sidecar.sessions.registry import Registry
from foldstate.sidecar.store.session_store import SessionStore
from foldstate.sidecar.wire.errors import InvalidParams, ItemNotFound, RefNotFound
from foldstate.sidecar.wire.frames import (
    EvidenceGetParams,
    EvidenceGetResult,
    HistoryBatch,
    HistoryListParams,
    HistoryListResult,
    ItemGetParams,
    ItemGetResult,
    ItemHistory,
    StateGetParams,
    SurfaceGetParams,
    SurfaceGetResult,
)

EVENT_REF: Final = "event:"
ITEM_HISTORY: Final = 50
ITEM_EVENTS: Final = 100
TIER1_HITS: Final = 8
TIER1_CHARS: Final = 140
"""Tier 1: an agent that asks for more than the surface gets so many events, and so many code points of each."""
PAGE: Final = 500


class ReadingMethods:
    """Owns nothing; reads the registry's sessions, from memory where memory has it."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    async def state(self, params: StateGetParams) -> StateView:
        session = await self._registry.use(params.session)
        if params.revision is None:
            state = session.desk.state
            return state_view(state, instants.later(params.now or self._clock.now(), state.recorded_at))
        revision = params.revision
        if revision > session.desk.state.revision:
            raise InvalidParams(
                f"the state stands at revision {session.desk.state.revision}; ask for that one or an earlier",
                path="params.revision",
            )
        state = await session.actor.read(lambda store: state_at(store, revision))
        return state_view(
            state, instants.later(params.now or state.recorded_at or self._clock.now(), state.recorded_at)
        )

    async def surface(self, params: SurfaceGetParams) -> SurfaceGetResult:
        session = await self._registry.use(params.session)
        shown = session.surface if params.budget_tokens is None else session.render(params.budget_tokens)
        return SurfaceGetResult(shown.text, shown.tokens, shown.revision, shown.omitted)

    async def item(self, params: ItemGetParams) -> ItemGetResult:
        session = await self._registry.use(params.session)
        state = session.desk.state
        item = state.items.get(params.item)
        gone = None if item is None else gone_view(item)
        view = gone or item_view(state, params.item, instants.later(self._clock.now(), state.recorded_at))
        if view is None:
            raise ItemNotFound(f"no item {params.item!r} in this session; state/get lists those there are")

        def read(store: SessionStore) -> ItemGetResult:
            history = tuple(
                ItemHistory(seq=number, batch_id=record.batch_id, at=record.at, change=change.change)
                for number, record in store.item_records(params.item, ITEM_HISTORY)
                for change in record.receipt.changes
                if change.item == params.item
            )
            events = store.item_events(params.item, TIER1_HITS if params.brief else ITEM_EVENTS)
            return ItemGetResult(view, history, tuple(begun(event) if params.brief else event for event in events))

        return await session.actor.read(read)

    async def evidence(self, params: EvidenceGetParams) -> EvidenceGetResult:
        session = await self._registry.use(params.session)
        event_id = params.ref.removeprefix(EVENT_REF)
        event, digest = None, None
        if params.ref.startswith(EVENT_REF):
            event, digest = await session.actor.read(
                lambda store: (store.event(event_id), store.event_digest(event_id))
            )
        if event is None or digest is None:
            raise RefNotFound(f"nothing is kept under {params.ref!r}; a reference looks like event:<id>")
        part = event.text[params.offset : params.offset + params.budget_chars]
        whole = event.length if event.length is not None else len(event.text)
        return EvidenceGetResult(
            ref=params.ref,
            text=part,
            truncated=params.offset > 0 or params.offset + len(part) < whole,
            length=whole,
            digest=digest,
            channel=event.channel,
            speaker=event.speaker,
            at=event.at,
            origin=event.origin,
        )

    async def history(self, params: HistoryListParams) -> HistoryListResult:
        session = await self._registry.use(params.session)
        rows = await session.actor.read(lambda store: store.records(params.after, params.limit + 1))
        batches = tuple(
            HistoryBatch(
                seq=number,
                batch_id=record.batch_id,
                at=record.at,
                result=record.result,
                revision=record.revision,
                changes=record.receipt.changes,
                dispositions=record.dispositions,
                acknowledged=record.receipt.acknowledged,
            )
            for number, record in rows[: params.limit]
        )
        more = len(rows) > params.limit
        return HistoryListResult(batches, batches[-1].seq if more else None)


def begun(event: Event) -> Event:
    """The event with the beginning of its words, marked as cut where there are more."""
    if len(event.text) <= TIER1_CHARS:
        return event
    length = len(event.text) if event.length is None else event.length
    return replace(event, text=event.text[: TIER1_CHARS - 1] + "…", length=length, cut=True)


def state_at(store: SessionStore, revision: int) -> State:
    """What an earlier revision left: the same batches and notes, in the order they came, give the same state (B7)."""
    state = State()
    notes = deque(store.annotations_with_batch())
    after = 0
    while state.revision < revision and (rows := store.records(after, PAGE)):
        for number, record in rows:
            if state.revision == revision:
                return state
            while notes and notes[0][0] < number:
                state = annotate(state, replace(notes.popleft()[1], status="saved"))
            verdict = submit(state, batch_id=record.batch_id, now=record.at, batch=record.batch)
            assert isinstance(verdict, Accepted), f"batch {record.batch_id} was accepted once and is refused now"
            state = verdict.state
            after = number
    return state
