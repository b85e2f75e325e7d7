"""The params and the result of every method, by the wire's own names.

`REQUESTS` are the host's to the sidecar; `HOST_REQUESTS` and `HOST_NOTIFICATIONS` go the other way. `exit` and
`$/cancelRequest` are notifications that the peer itself obeys.
"""

from __future__ import annotations

from types import NoneType
from typing import Final

from msgspec import Struct

from foldstate.kernel.view import StateView
from foldstate.sidecar.wire.frames.annotation import AnnotationAddParams, AnnotationAddResult
from foldstate.sidecar.wire.frames.common import Nothing, OfSession, Opaque, Params
from foldstate.sidecar.wire.frames.process import (
    CancelParams,
    ClockSetParams,
    ClockSetResult,
    Config,
    EditorCompleteParams,
    EditorCompleteResult,
    EditorMessage,
    Fired,
    HealthResult,
    Host,
    Incident,
    InitializeParams,
    InitializeResult,
    RoundCounts,
    Server,
    StartingParams,
    Usage,
)
from foldstate.sidecar.wire.frames.reading import (
    EvidenceGetParams,
    EvidenceGetResult,
    HistoryBatch,
    HistoryListParams,
    HistoryListResult,
    ItemGetParams,
    ItemGetResult,
    ItemHistory,
    StateChanged,
    StateGetParams,
    SurfaceChanged,
    SurfaceGetParams,
    SurfaceGetResult,
)
from foldstate.sidecar.wire.frames.round import (
    BatchAccepted,
    BatchAnswer,
    BatchRefused,
    BatchSubmitParams,
    RoundBeginParams,
    RoundBeginResult,
    RoundCancelParams,
    RoundFinishParams,
    RoundFinishResult,
    RoundPrompt,
    RoundSubmitParams,
)
from foldstate.sidecar.wire.frames.session import (
    Degraded,
    EventPostParams,
    EventResult,
    LogEntry,
    LogHead,
    PostedEvent,
    SessionEventsParams,
    SessionEventsResult,
    SessionOpenParams,
    SessionOpenResult,
    SubagentSettledParams,
    SubagentSettledResult,
    SubagentStartedParams,
    SubagentStartedResult,
)

REQUESTS: Final[dict[str, tuple[type[Params], type[Struct] | type[None]]]] = {
    "initialize": (InitializeParams, InitializeResult),
    "shutdown": (Nothing, NoneType),
    "clock/set": (ClockSetParams, ClockSetResult),
    "session/open": (SessionOpenParams, SessionOpenResult),
    "session/close": (OfSession, NoneType),
    "session/events": (SessionEventsParams, SessionEventsResult),
    "subagent/started": (SubagentStartedParams, SubagentStartedResult),
    "subagent/settled": (SubagentSettledParams, SubagentSettledResult),
    "event/post": (EventPostParams, EventResult),
    "annotation/add": (AnnotationAddParams, AnnotationAddResult),
    "state/get": (StateGetParams, StateView),
    "surface/get": (SurfaceGetParams, SurfaceGetResult),
    "item/get": (ItemGetParams, ItemGetResult),
    "evidence/get": (EvidenceGetParams, EvidenceGetResult),
    "history/list": (HistoryListParams, HistoryListResult),
    "round/begin": (RoundBeginParams, RoundBeginResult),
    "round/submit": (RoundSubmitParams, BatchAnswer),
    "round/finish": (RoundFinishParams, RoundFinishResult),
    "round/cancel": (RoundCancelParams, NoneType),
    "batch/submit": (BatchSubmitParams, BatchAnswer),
    "health/get": (Nothing, HealthResult),
}

HOST_REQUESTS: Final[dict[str, tuple[type[Struct], type[Struct]]]] = {
    "editor/complete": (EditorCompleteParams, EditorCompleteResult),
}

HOST_NOTIFICATIONS: Final[dict[str, type[Struct]]] = {
    "sidecar/starting": StartingParams,
    "surface/changed": SurfaceChanged,
    "state/changed": StateChanged,
}

__all__ = [
    "HOST_NOTIFICATIONS",
    "HOST_REQUESTS",
    "REQUESTS",
    "AnnotationAddParams",
    "AnnotationAddResult",
    "BatchAccepted",
    "BatchAnswer",
    "BatchRefused",
    "BatchSubmitParams",
    "CancelParams",
    "ClockSetParams",
    "ClockSetResult",
    "Config",
    "Degraded",
    "EditorCompleteParams",
    "EditorCompleteResult",
    "EditorMessage",
    "EventPostParams",
    "EventResult",
    "EvidenceGetParams",
    "EvidenceGetResult",
    "Fired",
    "HealthResult",
    "HistoryBatch",
    "HistoryListParams",
    "HistoryListResult",
    "Host",
    "Incident",
    "InitializeParams",
    "InitializeResult",
    "ItemGetParams",
    "ItemGetResult",
    "ItemHistory",
    "LogEntry",
    "LogHead",
    "Nothing",
    "OfSession",
    "Opaque",
    "Params",
    "PostedEvent",
    "RoundBeginParams",
    "RoundBeginResult",
    "RoundCancelParams",
    "RoundCounts",
    "RoundFinishParams",
    "RoundFinishResult",
    "RoundPrompt",
    "RoundSubmitParams",
    "Server",
    "SessionEventsParams",
    "SessionEventsResult",
    "SessionOpenParams",
    "SessionOpenResult",
    "StartingParams",
    "StateChanged",
    "StateGetParams",
    "SubagentSettledParams",
    "SubagentSettledResult",
    "SubagentStartedParams",
    "SubagentStartedResult",
    "SurfaceChanged",
    "SurfaceGetParams",
    "SurfaceGetResult",
    "Usage",
]
