"""pygls's protocol with our own way out: one override, `_send_data`.

pygls keeps the registry of methods, runs the handlers in tasks of their own, matches the host's replies to our
requests, maps errors, and cancels. Framing, checks and encoding are ours.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import msgspec
from lsprotocol.types import ResponseErrorMessage
from pygls.protocol import JsonRPCProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from foldstate.sidecar.wire.envelope import ErrorObject, ErrorReply, Id, Notification, Request, Response
from foldstate.sidecar.wire.errors import InternalError
from foldstate.sidecar.wire.incidents import Incidents
from foldstate.sidecar.wire.writer import FrameWriter, Subject

logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
"""pygls logs each answered error with its traceback; what deserves the log gets there through `Incidents`."""

_encode: Final = msgspec.json.Encoder().encode


class WireProtocol(JsonRPCProtocol):
    """One connection. `connect` comes before anything is sent; `in_flight` holds the ids of the host's requests that
    have no reply yet, whose removal is this class's alone, since every reply passes here."""

    def connect(self, writer: FrameWriter, incidents: Incidents, on_reply: Callable[[], None]) -> None:
        self._frames, self._incidents, self._on_reply = writer, incidents, on_reply
        self.in_flight: set[Id] = set()

    def reply_error(self, id: Id | None, error: ErrorObject) -> None:
        """Answers with an error a message that never became a request."""
        self._frames.write(_encode(ErrorReply(id, error)))

    def forget(self, id: Id) -> None:
        """Drops what pygls remembers of a request of ours: it keeps the type of every result, and the future of every
        request that had no reply, for ever."""
        self._request_futures.pop(id, None)
        self._result_types.pop(id, None)

    def _send_data(self, data: object) -> None:
        match data:
            case JsonRPCResponseMessage():
                self._reply(data.id, Response(data.id, data.result))
            case ResponseErrorMessage(id=int() | str() as id, error=error) if error is not None:
                self._reply(id, ErrorReply(id, ErrorObject(error.code, error.message, error.data)))
            case JsonRPCRequestMessage():
                self._frames.write(_encode(Request(data.id, data.method, data.params)))
            case JsonRPCNotification():
                subject = _subject(data.method, data.params)
                self._frames.write(_encode(Notification(data.method, data.params)), subject)
            case _:
                raise TypeError(f"nothing of kind {type(data).__name__} goes over the wire")

    def _reply(self, id: Id, message: Response | ErrorReply) -> None:
        try:
            body = _encode(message)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            internal = InternalError(self._incidents.record("encoding a reply", error))
            body = _encode(ErrorReply(id, ErrorObject(internal.CODE, internal.message, internal.data)))
        self.in_flight.discard(id)
        self._frames.write(body)
        self._on_reply()


def _subject(method: str, params: object) -> Subject | None:
    """What a notification is about, where a newer one says all that an older one did."""
    session = getattr(params, "session", None)
    return (method, session) if isinstance(session, str) else None
