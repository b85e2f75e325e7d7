"""The sidecar's end of the wire: takes the host's requests, sends its own, and ends in good order."""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from types import FrameType, NoneType
from typing import Final, Literal, TypeAlias, TypeVar

import anyio
from msgspec import Struct
from pygls.exceptions import JsonRpcException
from pygls.server import JsonRPCServer

from foldstate.sidecar.wire import envelope
from foldstate.sidecar.wire.deadline import exit_after
from foldstate.sidecar.wire.envelope import (
    Call,
    ErrorObject,
    HostErrorObject,
    HostErrorReply,
    Id,
    Notification,
    Refusal,
    Reply,
)
from foldstate.sidecar.wire.errors import (
    HostError,
    HostGone,
    HostTimeout,
    InternalError,
    InvalidParams,
    InvalidRequest,
    NotInitialized,
    ParseError,
    TooLarge,
    WireError,
)
from foldstate.sidecar.wire.frames import CancelParams, Nothing
from foldstate.sidecar.wire.handler import Handler
from foldstate.sidecar.wire.incidents import Incidents
from foldstate.sidecar.wire.protocol import WireProtocol
from foldstate.sidecar.wire.reader import FrameParser, Source, StreamBroken, open_source
from foldstate.sidecar.wire.stdio import claim, pollable
from foldstate.sidecar.wire.writer import FrameWriter, open_sink

R = TypeVar("R", bound=Struct)

CANCEL: Final = "$/cancelRequest"
FIRST: Final = frozenset({"initialize", "shutdown", "exit"})
"""What is served before `initialize` was answered."""
MAX_IN_FLIGHT: Final = 1024
"""Requests of the host without a reply; further ones are `too_large`."""

Ending: TypeAlias = Literal["input", "exit", "signal", "host_gone", "broken"]


class Limits(Struct, frozen=True):
    """How long an ending may take, in seconds: to answer, to make durable, to send what is left, and all in all."""

    answer: float
    stop: float
    flush: float
    whole: float


CALM: Final = Limits(answer=5, stop=5, flush=1, whole=15)
HURRIED: Final = Limits(answer=0.8, stop=0.5, flush=0.2, whole=1.9)
"""After SIGTERM or SIGINT, which end the process within 2 s."""
CANCELLED_S: Final = 0.2
"""What cancelled handlers get to come to an end."""

_log: Final = logging.getLogger(__name__)


class Peer:
    """One connection to a host, over the process's own stdin and stdout. Everything here belongs to the event loop."""

    def __init__(self, handlers: Mapping[str, Handler], incidents: Incidents) -> None:
        self._handlers = {**handlers, "exit": Handler(Nothing, NoneType, self._exit)}
        self._incidents = incidents
        self._server = JsonRPCServer(WireProtocol, lambda: None)  # type: ignore[arg-type,return-value]  # no converter
        self._writer = FrameWriter(self._on_room, lambda: self._end("host_gone"))
        protocol = self._server.protocol
        assert isinstance(protocol, WireProtocol)
        self._protocol = protocol
        self._protocol.connect(self._writer, incidents, self._on_reply)
        for method, handler in self._handlers.items():
            self._server.feature(method)(self._answering(method, handler))
        self._parser = FrameParser()
        self._source: Source | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[Id, asyncio.Future[envelope.Unread]] = {}
        self._initialized = False
        self._ending: Ending | None = None
        self._ended = anyio.Event()
        self._replied = anyio.Event()
        self._limits = CALM
        self._scope: anyio.CancelScope | None = None

    async def serve(self, on_stop: Callable[[], Awaitable[None]], *, threads: bool = sys.platform == "win32") -> int:
        """Serves until the input ends, `exit`, SIGTERM or SIGINT, or until the host's end is gone; then the exit code.

        What is in flight is answered first, then `on_stop` makes durable what was accepted, both within `Limits`. The
        code is 1 where the stream can't be trusted any more or `on_stop` failed, else 0. Takes over the process's
        standard descriptors and its signals for good. `threads` reads and writes in threads, for where an event loop
        can't wait for pipes.
        """
        reading, writing = claim()
        self._heed_signals()
        self._writer.start(await open_sink(writing, self._writer, threads=threads or not pollable(writing)))
        self._source = await open_source(
            reading, self._take, self._input_ended, threads=threads or not pollable(reading)
        )
        await self._ended.wait()
        return await self._finish(on_stop)

    async def request(self, method: str, params: Struct, result: type[R], timeout_s: float) -> R:
        """Asks the host. Raises `HostError`, `HostTimeout` or `HostGone`.

        When it times out or is cancelled the host is told so, and a late reply is ignored.
        """
        if self._ending is not None:
            raise HostGone(method)
        id = f"fold-{next(self._numbers)}"
        sent = answered = False
        try:
            with anyio.fail_after(timeout_s):
                await self._writer.room()
                future = self._protocol.send_request_async(method, params, msg_id=id)
                self._asked[id] = future
                sent = True
                unread = await future
                answered = True
        except TimeoutError:
            raise HostTimeout(f"{method}: no answer within {timeout_s:g} s") from None
        except JsonRpcException as error:
            answered = True
            raise HostError(method, error.code, error.message) from None
        except HostGone:
            answered = True
            raise
        finally:
            self._asked.pop(id, None)
            self._protocol.forget(id)
            if sent and not answered:
                self._protocol.notify(CANCEL, CancelParams(id))
        try:
            return envelope.decode(unread, result, root="result")
        except (InvalidParams, ParseError) as error:
            raise HostError(method, error.CODE, error.message) from None

    def notify(self, method: str, params: Struct) -> None:
        """Tells the host. Never waits; one about a session replaces an unsent one of the same method and session."""
        self._protocol.notify(method, params)

    # What comes in.

    def _take(self, data: bytes) -> None:
        try:
            for body in self._parser.feed(data):
                if self._ending is None:
                    self._handle(body)
        except StreamBroken as error:
            self._refuse(None, ParseError(str(error)))
            self._end("broken")
        if self._writer.full and self._source is not None:
            self._source.pause()

    def _handle(self, body: bytes) -> None:
        try:
            message = envelope.read(body)
        except Refusal as refusal:
            self._refuse(refusal.id, refusal.error)
            return
        if isinstance(message, Reply):
            self._settle(message)
        elif message.id is None:
            self._notified(message)
        else:
            try:
                self._called(message.id, message)
            except WireError as error:
                self._refuse(message.id, error)

    def _called(self, id: Id, call: Call) -> None:
        if id in self._protocol.in_flight or id in self._asked:
            self._refuse(None, InvalidRequest(f"a request with the id {id!r} is in flight already"))
            return
        if not self._initialized and call.method not in FIRST:
            raise NotInitialized(f"`initialize` comes before {call.method!r}")
        if len(self._protocol.in_flight) >= MAX_IN_FLIGHT:
            raise TooLarge(f"{MAX_IN_FLIGHT} requests are in flight: wait for a reply", limit=MAX_IN_FLIGHT)
        handler = self._handlers.get(call.method)
        params = None if handler is None else envelope.decode(call.params, handler.params)
        self._protocol.in_flight.add(id)
        self._protocol.handle_message(envelope.Request(id, call.method, params))

    def _notified(self, call: Call) -> None:
        try:
            if call.method == CANCEL:
                cancel = envelope.decode(call.params, CancelParams)
                if cancel.id in self._protocol.in_flight:
                    self._protocol.handle_message(Notification(CANCEL, cancel))
            elif (handler := self._handlers.get(call.method)) and (self._initialized or call.method in FIRST):
                self._protocol.handle_message(Notification(call.method, envelope.decode(call.params, handler.params)))
            else:
                _log.info("the notification %.100r is not known here, or came before initialize", call.method)
        except WireError as error:
            _log.warning("the notification %.100r was refused: %s", call.method, error.message)

    def _settle(self, reply: Reply) -> None:
        future = None if reply.id is None else self._asked.get(reply.id)
        if reply.id is None or future is None or future.done():
            _log.info("a reply to no open request is ignored")
        elif reply.error is None:
            self._protocol.handle_message(envelope.Response(reply.id, reply.result))
        else:
            try:
                error = envelope.decode(reply.error, HostErrorObject, root="error")
            except (InvalidParams, ParseError) as fault:
                error = HostErrorObject(fault.CODE, fault.message)
            self._protocol.handle_message(HostErrorReply(reply.id, error))

    def _answering(self, method: str, handler: Handler) -> Callable[[Struct], Awaitable[object]]:
        async def answer(params: Struct) -> object:
            try:
                result = await handler(params)
            except WireError as error:
                if self._protocol.msg_id is None:
                    _log.warning("the notification %s failed: %s", method, error.message)
                raise JsonRpcException(error.message, error.CODE, error.data) from None
            except Exception as error:  # noqa: BLE001 - counted, logged whole, and answered with the log's reference
                internal = InternalError(self._incidents.record(method, error))
                raise JsonRpcException(internal.message, internal.CODE, internal.data) from None
            if method == "initialize":
                self._initialized = True
            return result

        return answer

    def _refuse(self, id: Id | None, error: WireError) -> None:
        self._protocol.reply_error(id, ErrorObject(error.CODE, error.message, error.data))

    def _on_reply(self) -> None:
        self._replied.set()

    def _on_room(self) -> None:
        if self._source is not None and self._ending is None:
            self._source.resume()

    # How it ends.

    async def _exit(self, _params: Nothing) -> None:
        self._end("exit")

    def _input_ended(self) -> None:
        if self._parser.midway and self._ending is None:
            _log.warning("the input ended in the middle of a frame")
        self._end("input")

    def _end(self, ending: Ending) -> None:
        if self._ending is None:
            self._ending = ending
            self._ended.set()

    def _heed_signals(self) -> None:
        loop = asyncio.get_running_loop()

        def stop(_number: int, _frame: FrameType | None) -> None:
            exit_after(HURRIED.whole, 0)
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._signalled)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)

    def _signalled(self) -> None:
        self._limits = HURRIED
        if self._scope is not None:
            self._scope.deadline = min(self._scope.deadline, anyio.current_time() + HURRIED.stop)
        self._end("signal")

    async def _finish(self, on_stop: Callable[[], Awaitable[None]]) -> int:
        _log.info("ending: %s", self._ending)
        code = 1 if self._ending == "broken" else 0
        exit_after(self._limits.whole, code)
        if self._source is not None:
            self._source.close()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(HostGone("the host's input has ended"))
        await self._bounded(self._all_answered, self._limits.answer)
        for id in tuple(self._protocol.in_flight):
            self._protocol.handle_message(Notification(CANCEL, CancelParams(id)))
        await self._bounded(self._all_answered, CANCELLED_S)
        try:
            await self._bounded(on_stop, self._limits.stop)
        except Exception as error:  # noqa: BLE001 - counted, logged whole, and shown by the exit code
            self._incidents.record("stopping", error)
            code = 1
        await self._bounded(self._writer.flushed, self._limits.flush)
        self._writer.close()
        return code

    async def _bounded(self, step: Callable[[], Awaitable[None]], seconds: float) -> None:
        with anyio.move_on_after(seconds) as self._scope:
            await step()
        if self._scope.cancelled_caught:
            _log.warning("ending: a step took longer than %g s", seconds)

    async def _all_answered(self) -> None:
        while self._protocol.in_flight:
            self._replied = anyio.Event()
            await self._replied.wait()
