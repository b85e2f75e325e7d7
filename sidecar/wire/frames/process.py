"""Frames that concern the process and not one session: starting, configuration, clock, health, cancellation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta, Struct, field

from foldstate.kernel.signal import Reason
from foldstate.kernel.signals import PATIENCE_S, QUIET_S
from foldstate.kernel.values import Language
from foldstate.sidecar.wire.frames.common import Count, Name, Params, Path, Timeout

Editor: TypeAlias = Literal["model", "rules", "off"]


class Config(Params, frozen=True):
    """How the sidecar is to behave; what is left out has the default. Times are in seconds.

    `quiet_s`: how long a session is quiet before
    its events call the editor; `patience_s`: how long the first of them waits at most. `tier0_tokens`: the budget of
    the surface. `language` is null where the session's own locale decides.
    """

    editor: Editor = "model"
    language: Language | None = None
    quiet_s: Annotated[float, Meta(ge=0, le=3600)] = QUIET_S
    patience_s: Annotated[float, Meta(ge=0, le=86400)] = PATIENCE_S
    tier0_tokens: Annotated[int, Meta(ge=1, le=800)] = 400
    editor_max_tokens: Annotated[int, Meta(ge=256, le=65536)] = 8192
    editor_timeout_s: Annotated[float, Meta(ge=1, le=180)] = 120


class Host(Params, frozen=True):
    """The program that drives the sidecar. `home` is its own folder of settings, where it has one."""

    name: Name
    version: Name
    home: Path | None = None


class InitializeParams(Params, frozen=True):
    """`data_dir` is an absolute path. `now` is the first time of a manual clock, and is given with no other."""

    TIMES: ClassVar[tuple[str, ...]] = ("now",)

    protocol: Annotated[Literal[1], Meta(description="this sidecar speaks version 1 of the protocol alone")]
    host: Host
    data_dir: Path
    config: Config = field(default_factory=Config)
    clock: Literal["system", "manual"] = "system"
    now: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.clock == "manual") != (self.now is not None):
            raise ValueError("`now` is given with a manual clock, and only with one")


class Server(Struct, frozen=True):
    name: str
    version: str


class InitializeResult(Struct, frozen=True):
    """`config` is what is in force; `wants` names the entry types that intake reads."""

    protocol: int
    server: Server
    config: Config
    wants: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class ClockSetParams(Params, frozen=True):
    TIMES: ClassVar[tuple[str, ...]] = ("now",)

    now: str


class Fired(Struct, frozen=True):
    """Something that came due: the session, why its editor is to be called, and the time that it was due at."""

    session: str
    reasons: tuple[Reason, ...]
    at: str


class ClockSetResult(Struct, frozen=True):
    fired: tuple[Fired, ...]


class RoundCounts(Struct, frozen=True):
    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    skipped: int = 0


class Incident(Struct, frozen=True):
    """An unexpected error: where it came up, its class, and the reference under which the log has the whole of it."""

    reference: str
    at: str
    where: str
    error: str


class HealthResult(Struct, frozen=True):
    """`skipped` counts by kind what was left aside; `last_errors` holds the newest few, oldest first."""

    uptime_s: float
    sessions_open: int
    pending_events: int
    timers: int
    rounds: RoundCounts
    skipped: Mapping[str, int]
    editor: Editor
    last_errors: tuple[Incident, ...]


class CancelParams(Params, frozen=True):
    id: int | str


class StartingParams(Struct, frozen=True):
    """Sent before anything slow is loaded, so that a slow start can be told from a dead program."""

    pid: Count


class EditorMessage(Struct, frozen=True):
    role: Literal["user", "assistant"]
    text: str


class EditorCompleteParams(Struct, frozen=True):
    """One call of the host's model. `attempt` counts from 1 within a round; `timeout_s` is what the sidecar waits."""

    session: str
    batch_id: str
    attempt: int
    system: str
    messages: tuple[EditorMessage, ...]
    max_tokens: int
    timeout_s: Timeout


class Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None


class EditorCompleteResult(Struct, frozen=True):
    """What the host's model said. Fields that are not known here are the host's own business."""

    text: str
    finish: str | None = None
    model: str | None = None
    usage: Usage | None = None
