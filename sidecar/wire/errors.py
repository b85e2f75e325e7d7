"""What a request can fail with: one class a code of the protocol.

A raised `WireError` is an answer and no accident: the caller is wrong or the sidecar is in trouble, and nothing
accepted was lost. `REASON` goes out as `data.code`, with the code's own fields beside it. -32601 and -32800 are raised
by pygls itself. `HostError` and its kin are the other way round: why a request of ours to the host had no result.
"""

from __future__ import annotations

from typing import ClassVar

from foldstate.kernel.values import Json


class WireError(Exception):
    """The root. `message` is a sentence for a person; `fields` go into `data` beside `code`."""

    CODE: ClassVar[int]
    REASON: ClassVar[str | None] = None

    def __init__(self, message: str, /, **fields: Json) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields

    @property
    def data(self) -> dict[str, Json] | None:
        """What the reply carries as `data`, or null where there is nothing to say."""
        named: dict[str, Json] = {} if self.REASON is None else {"code": self.REASON}
        return {**named, **self.fields} or None


class ParseError(WireError):
    """The bytes are no JSON."""

    CODE = -32700


class InvalidRequest(WireError):
    """JSON, and no message of JSON-RPC 2.0."""

    CODE = -32600


class InvalidParams(WireError):
    """Params that are not what the method takes; `path` names the place."""

    CODE = -32602

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(f"{path}: {message}", path=path, message=message)


class InternalError(WireError):
    """Something unexpected; the log holds it whole under `reference`."""

    CODE = -32603

    def __init__(self, reference: str) -> None:
        super().__init__(
            f"an error of the sidecar's own; its log says more under {reference}",
            reference=reference,
        )


class NotInitialized(WireError):
    CODE = -32002
    REASON = "not_initialized"


class CursorGap(WireError):
    """`after` lies beyond the cursor; `cursor` says where to go on from."""

    CODE = -32010
    REASON = "cursor_gap"

    def __init__(self, message: str, *, cursor: int) -> None:
        super().__init__(message, cursor=cursor)


class SessionNotOpen(WireError):
    CODE = -32011
    REASON = "session_not_open"


class ReadOnly(WireError):
    """Another process owns the session."""

    CODE = -32012
    REASON = "read_only"


class StorageUnavailable(WireError):
    CODE = -32013
    REASON = "storage_unavailable"


class RoundUnknown(WireError):
    CODE = -32014
    REASON = "round_unknown"


class TooLarge(WireError):
    CODE = -32015
    REASON = "too_large"


class EventConflict(WireError):
    """The id is there with other content."""

    CODE = -32016
    REASON = "event_conflict"


class ItemNotFound(WireError):
    CODE = -32017
    REASON = "item_not_found"


class RefNotFound(WireError):
    CODE = -32018
    REASON = "ref_not_found"


class HostError(Exception):
    """The host answered a request of ours with an error, or with a result that is not what the protocol says."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message


class HostTimeout(Exception):
    """The host did not answer in time; it was told that the request is cancelled, and a late reply is ignored."""


class HostGone(Exception):
    """The host's input has ended: no reply can come any more."""
