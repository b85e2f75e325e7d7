"""One frame's body as a JSON-RPC 2.0 message, and its params as the method's own type.

The structs satisfy pygls's message protocols by their shape, which is why each kind has only the members it needs.
Bodies are read by msgspec; what it refuses is read again leniently, so that the answer names the true fault.
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from foldstate.kernel.values import Json
from foldstate.sidecar.wire import lenient
from foldstate.sidecar.wire.errors import InvalidRequest, ParseError, WireError
from foldstate.sidecar.wire.faults import invalid_params
from foldstate.sidecar.wire.frames.common import Opaque

MAX_DEPTH: Final = 128
"""How deep opaque content may be nested. The contract needs 10; Python's own limit differs between versions."""

Id: TypeAlias = int | str
Unread: TypeAlias = Raw | Opaque
"""A member not decoded yet: raw bytes, or a value that only the lenient reading could make out."""

T = TypeVar("T", bound=Struct)


class Request(Struct):
    id: Id
    method: str
    params: Struct | None
    jsonrpc: str = "2.0"


class Notification(Struct):
    method: str
    params: Struct | None
    jsonrpc: str = "2.0"


class Response(Struct):
    id: Id
    result: object
    jsonrpc: str = "2.0"


class ErrorObject(Struct, omit_defaults=True):
    code: int
    message: str
    data: object = None


class ErrorReply(Struct):
    """An error that goes out; the id is null where the request's could not be read."""

    id: Id | None
    error: ErrorObject
    jsonrpc: str = "2.0"


class HostErrorObject(Struct, frozen=True):
    code: int
    message: str
    data: Opaque | None = None


class HostErrorReply(Struct):
    """An error that the host answered a request of ours with."""

    id: Id
    error: HostErrorObject
    jsonrpc: str = "2.0"


class Call(Struct, frozen=True):
    """A request, or with no id a notification, whose params are still unread."""

    id: Id | None
    method: str
    params: Unread


class Reply(Struct, frozen=True):
    """What the host answered to a request of ours; `error` is null where there is a result."""

    id: Id | None
    result: Unread
    error: Unread | None


class Refusal(Exception):
    """A body that is no message; `id` is the request's where it could be read."""

    def __init__(self, error: WireError, id: Id | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.id = id


class _Envelope(Struct):
    jsonrpc: str = ""
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_EMPTY: Final = Raw(b"{}")
_NULL: Final = Raw(b"null")
_envelope: Final = msgspec.json.Decoder(_Envelope)
_decoders: Final[dict[type[Struct], msgspec.json.Decoder[Struct]]] = {}


def read(body: bytes) -> Call | Reply:
    """The message that a frame holds. Raises `Refusal`."""
    try:
        if not body.isascii():
            body.decode("utf-8")
        envelope = _envelope.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_again(body)
    if envelope.jsonrpc != "2.0":
        raise Refusal(InvalidRequest('`jsonrpc` must be "2.0"'), None if envelope.id is UNSET else envelope.id)
    if envelope.method is not UNSET:
        if envelope.id is None:
            raise Refusal(InvalidRequest("`id` must be a string or a whole number; a notification has none"))
        params = _EMPTY if envelope.params is UNSET or envelope.params == _NULL else envelope.params
        return Call(None if envelope.id is UNSET else envelope.id, envelope.method, params)
    if envelope.id is UNSET or (envelope.result is UNSET and envelope.error is UNSET):
        raise Refusal(
            InvalidRequest("a message has a `method`, or an `id` with `result` or `error`"),
            None if envelope.id is UNSET else envelope.id,
        )
    failed = envelope.error is not UNSET and envelope.error != _NULL
    return Reply(
        envelope.id,
        _NULL if envelope.result is UNSET else envelope.result,
        envelope.error if failed and envelope.error is not UNSET else None,
    )


def _read_again(body: bytes) -> Call | Reply:
    """The same for a body that msgspec refused: to name its fault, or to read it after all."""
    try:
        value = lenient.loads(body)
    except ParseError as error:
        raise Refusal(error) from None
    if not isinstance(value, dict):
        raise Refusal(InvalidRequest("a message is one JSON object; batch arrays are not taken"))
    given = value.get("id")
    id = given if isinstance(given, int | str) and not isinstance(given, bool) else None
    if value.get("jsonrpc") != "2.0":
        raise Refusal(InvalidRequest('`jsonrpc` must be "2.0"'), id)
    if "id" in value and id is None and ("method" in value or given is not None):
        raise Refusal(InvalidRequest("`id` must be a string or a whole number"))
    method = value.get("method")
    if isinstance(method, str):
        params = value.get("params")
        return Call(id, method, _EMPTY if params is None else Opaque(params))
    if "method" in value or "id" not in value or not ("result" in value or "error" in value):
        raise Refusal(InvalidRequest("a message has a `method`, or an `id` with `result` or `error`"), id)
    failed = value.get("error") is not None
    return Reply(id, Opaque(value.get("result")), Opaque(value["error"]) if failed else None)


def decode(value: Unread, type_: type[T], root: str = "params") -> T:
    """The member as its type.

    Raises `InvalidParams` with the path below `root`, and `ParseError` where opaque content is nested too deep.
    """
    if isinstance(value, Raw):
        try:
            return _decoder(type_).decode(value)
        except (msgspec.DecodeError, RecursionError):
            value = Opaque(lenient.loads(bytes(value)))
    content = value.value
    if isinstance(content, dict):
        opaque = {one.encode_name for one in msgspec.structs.fields(type_) if one.type is Opaque}
        content = {name: one if name in opaque else lenient.mended(one) for name, one in content.items()}
    try:
        return msgspec.convert(content, type_, dec_hook=_opaque)
    except msgspec.ValidationError as error:
        raise invalid_params(error, type_, root) from None


def _decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(type_)
    if decoder is None:
        decoder = _decoders[type_] = msgspec.json.Decoder(type_, dec_hook=_opaque)
    return decoder  # type: ignore[return-value]  # the table maps each type to its own decoder


def _opaque(type_: type[Opaque], value: Json) -> Opaque:
    if type_ is Opaque and not lenient.depth_within(value, MAX_DEPTH):
        raise ParseError(f"the content is nested deeper than {MAX_DEPTH}")
    return type_(value)
