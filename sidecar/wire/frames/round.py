"""Frames by which an editor's answer reaches the kernel, from within the host's rounds or beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from foldstate.kernel.signal import Reason
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Receipt
from foldstate.kernel.view import RoundInput
from foldstate.sidecar.wire.frames.common import Count, Id, Opaque, Params, SessionId, Timeout


class RoundBeginParams(Params, frozen=True):
    session: SessionId
    reason: Reason = "manual"


class RoundPrompt(Struct, frozen=True):
    system: str
    user: str


class RoundBeginResult(Struct, frozen=True):
    """All that the editor is given, as data and as the prompt that says it."""

    round: RoundInput
    prompt: RoundPrompt


class RoundSubmitParams(Params, frozen=True):
    """`output` is the answer as an object or as the model's own text."""

    session: SessionId
    batch_id: Id
    output: Opaque


class BatchSubmitParams(Params, frozen=True):
    """A batch that no round belongs to: CONTRACT sections 1 to 3 alone. `base_revision` stands beside it (B6)."""

    TIMES: ClassVar[tuple[str, ...]] = ("now",)

    session: SessionId
    batch_id: Id
    now: str
    batch: Opaque
    base_revision: Count | None = None


class BatchAnswer(Struct, frozen=True):
    """What became of a batch: `BatchAccepted` or `BatchRefused`, and no third."""


class BatchAccepted(BatchAnswer, frozen=True):
    receipt: Receipt
    accepted: Literal[True] = True


class BatchRefused(BatchAnswer, frozen=True):
    """`error` is the first of `errors`; each is flat: `code`, `message`, `path` and the code's own fields (B8, B9)."""

    error: Mapping[str, Json]
    errors: tuple[Mapping[str, Json], ...]
    accepted: Literal[False] = False


class RoundFinishParams(Params, frozen=True):
    session: SessionId
    timeout_s: Timeout


class RoundFinishResult(Struct, frozen=True):
    """Null where no round was run, or none was accepted."""

    receipt: Receipt | None


class RoundCancelParams(Params, frozen=True):
    session: SessionId
    batch_id: Id
