"""Frames that bring facts into a session: opening it, the host's log, subagents, posted events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field

from foldstate.kernel.values import Language
from foldstate.kernel.view import Profile
from foldstate.sidecar.wire.frames.common import Count, Id, Line, LogData, Name, Params, Path, SessionId

Seq = Annotated[int, Meta(ge=-1, le=2**53)]
"""A sequence number of the host's log; -1 stands before the first."""


Channel = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\Z")]
"""A channel's name: lower-case letters, digits, dots, dashes; nothing that looks like another one."""


class LogHead(Params, frozen=True):
    """The host log's last entry. `time` is in milliseconds since 1970."""

    seq: Count
    time: Count


class SessionOpenParams(Params, frozen=True):
    """Opens a session, or refreshes an open one. A subagent's session is mapped to the root that `parent` leads to."""

    session: SessionId
    title: Line | None = None
    cwd: Path | None = None
    origin: Literal["user", "subagent"] = "user"
    parent: SessionId | None = None
    profile: Profile | None = None
    locale: Language | None = None
    head: LogHead | None = None


class Degraded(Struct, frozen=True):
    code: str
    message: str


class SessionOpenResult(Struct, frozen=True):
    """`cursor` is -1 for a new session; `resend_from` is the first seq to send."""

    session: str
    revision: int
    cursor: int
    resend_from: int
    read_only: bool
    degraded: tuple[Degraded, ...] = ()


class LogEntry(Params, frozen=True):
    """One entry of the host's log, verbatim. `time` is in milliseconds since 1970."""

    seq: Count
    time: Count
    type: Name
    data: LogData


class SessionEventsParams(Params, frozen=True):
    """The wanted entries out of `(after, through]`, by rising seq; `skipped` counts the rest by type."""

    session: SessionId
    after: Seq
    through: Seq
    events: tuple[LogEntry, ...] = ()
    skipped: Mapping[Name, Count] = field(default_factory=dict)
    accept_gap: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.through < self.after:
            raise ValueError(f"`through` is {self.through}, before `after` ({self.after})")
        last = self.after
        for number, entry in enumerate(self.events):
            if not last < entry.seq <= self.through:
                raise ValueError(
                    f"`events` rise from after ({self.after}) to through ({self.through}): [{number}] does not"
                )
            last = entry.seq


class SessionEventsResult(Struct, frozen=True):
    """`ledger` names the events that the entries became."""

    cursor: int
    ledger: tuple[str, ...]


class SubagentStartedParams(Params, frozen=True):
    TIMES: ClassVar[tuple[str, ...]] = ("at",)

    session: SessionId
    child: SessionId
    at: str
    run: Id | None = None
    label: Line | None = None
    mode: Name | None = None


class SubagentStartedResult(Struct, frozen=True):
    """The event that the fact became, or null where it was told already."""

    event: str | None


class SubagentSettledParams(Params, frozen=True):
    """`closing` is the child's last text, whole."""

    TIMES: ClassVar[tuple[str, ...]] = ("at",)

    session: SessionId
    child: SessionId
    stop_reason: Name
    at: str
    run: Id | None = None
    label: Line | None = None
    closing: str | None = None


class SubagentSettledResult(Struct, frozen=True):
    """The event that tells the settlement, also where another telling made it (`duplicate`); null for noise."""

    event: str | None
    duplicate: bool


class PostedEvent(Params, frozen=True):
    """What happened outside the host. The host's own channel names and ids that begin with `h:` are refused."""

    TIMES: ClassVar[tuple[str, ...]] = ("at",)

    channel: Channel
    speaker: Name = field(name="from")
    at: str
    text: Annotated[str, Meta(min_length=1)]
    id: Id | None = None


class EventPostParams(Params, frozen=True):
    session: SessionId
    event: PostedEvent


class EventResult(Struct, frozen=True):
    """The event's id; `duplicate` where the same one was there already, and nothing was added."""

    event: str
    duplicate: bool
