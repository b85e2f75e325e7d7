"""Frames that show what a session holds, and the two that tell the host that it changed."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, Struct, field

from foldstate.kernel.event import Disposition, Event, Origin
from foldstate.kernel.values import Change, Result
from foldstate.kernel.verdict import ItemChange
from foldstate.kernel.view import ItemView, NotActive
from foldstate.sidecar.wire.frames.common import Count, Id, Params, SessionId


class StateGetParams(Params, frozen=True):
    """`now` defaults to the session's clock, and with `revision` to that batch's time. The result is a `StateView`."""

    TIMES: ClassVar[tuple[str, ...]] = ("now",)

    session: SessionId
    now: str | None = None
    revision: Count | None = None


class SurfaceGetParams(Params, frozen=True):
    """`budget_tokens` defaults to the configuration's `tier0_tokens`."""

    session: SessionId
    budget_tokens: Annotated[int, Meta(ge=1, le=800)] | None = None


class SurfaceGetResult(Struct, frozen=True):
    """`omitted` counts the items that did not fit the budget."""

    text: str
    tokens: int
    revision: int
    omitted: int


class ItemGetParams(Params, frozen=True):
    """`brief` asks for what an agent gets at a time: the newest few events, and of each the beginning of its words."""

    session: SessionId
    item: Id
    brief: bool = False


class ItemHistory(Struct, frozen=True):
    """One batch that touched the item."""

    seq: int
    batch_id: str
    at: str
    change: Change


class ItemGetResult(Struct, frozen=True):
    """The item as it stands, the batches that touched it (oldest first), and the events that it cites."""

    item: ItemView | NotActive
    history: tuple[ItemHistory, ...]
    events: tuple[Event, ...]


class EvidenceGetParams(Params, frozen=True):
    """`ref` is `event:<id>`; `offset` and `budget_chars` count code points."""

    session: SessionId
    ref: Annotated[str, Meta(min_length=1, max_length=500)]
    offset: Count = 0
    budget_chars: Annotated[int, Meta(ge=1, le=65536)] = 2400


class EvidenceGetResult(Struct, frozen=True):
    """The event's own words from `offset`. `length` and `digest` (sha256, hex) are the whole text's."""

    ref: str
    text: str
    truncated: bool
    length: int
    digest: str
    channel: str
    speaker: str = field(name="from")
    at: str
    origin: Origin | None


class HistoryListParams(Params, frozen=True):
    """Batches after the one numbered `after`, oldest first."""

    session: SessionId
    after: Count = 0
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class HistoryBatch(Struct, frozen=True):
    seq: int
    batch_id: str
    at: str
    result: Result
    revision: int
    changes: tuple[ItemChange, ...]
    dispositions: tuple[Disposition, ...]
    acknowledged: tuple[str, ...]


class HistoryListResult(Struct, frozen=True):
    """`next` is the `after` that goes on from here, null at the end."""

    batches: tuple[HistoryBatch, ...]
    next: int | None


class SurfaceChanged(Struct, frozen=True):
    session: str
    text: str
    tokens: int
    revision: int


class StateChanged(Struct, frozen=True):
    session: str
    revision: int
    cause: str
