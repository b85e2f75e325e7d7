"""A host's end of the wire: starts a sidecar as a real process and speaks to it.

It has its own framing, so that a fault of the sidecar's can't hide in a shared one. Every wait is bounded.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import anyio
from anyio.abc import ByteReceiveStream, Process, TaskGroup

from foldstate.kernel.values import Json

ROOT: Final = Path(__file__).parents[2]
ECHO: Final = (sys.executable, "-m", "tests.support.echo_service")
SIDECAR: Final = (sys.executable, "-m", "foldstate.sidecar")
PATIENCE_S: Final = 20.0
"""How long anything may take before a test fails."""

Object: TypeAlias = dict[str, Json]
Answer: TypeAlias = Callable[[Object], Awaitable[Json]]
"""Answers a request of the sidecar's with the result; raises `Fault` to answer with an error."""


class Fault(Exception):
    """An error reply, from either end."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(f"{code} {message} {data}")
        self.code = code
        self.message = message
        self.data = data


class Gone(Exception):
    """The sidecar's output has ended, and what was waited for has not come."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def encoded(message: Object) -> bytes:
    """A message as JSON, with lone surrogates escaped as a host in JavaScript does it."""
    return json.dumps(message, separators=(",", ":")).encode()


class WireClient:
    """One sidecar process. Take it from `started`, which ends the process with its block."""

    def __init__(self, process: Process, reading: int, writing: int, answers: Mapping[str, Answer]) -> None:
        self.process = process
        self.received: list[Object] = []
        """Every message that came, in order."""
        self.notifications: list[tuple[str, Object]] = []
        self.log: list[Object] = []
        self.noise: list[str] = []
        """Lines of stderr that are no JSON objects."""
        self._reading, self._writing = reading, writing
        self._answers = answers
        self._numbers = 0
        self._replies: dict[Json, Object] = {}
        self._strays: list[Object] = []
        self._asked: dict[Json, anyio.CancelScope] = {}
        self._changed = anyio.Event()
        self._go = anyio.Event()
        self._go.set()
        self._ended = False
        self._sending = anyio.Lock()

    # Speaking.

    async def initialize(self, data_dir: Path, **params: Json) -> Object:
        """`initialize` with what no test cares about filled in."""
        given: Object = {"protocol": 1, "host": {"name": "test", "version": "0"}, "data_dir": str(data_dir)}
        result = await self.request("initialize", {**given, **params})
        assert isinstance(result, dict)
        return result

    async def request(self, method: str, params: Json = None, timeout_s: float = PATIENCE_S) -> Json:
        """The result. Raises `Fault`, `Gone` or `TimeoutError`."""
        return await self.result(await self.send(method, params), timeout_s)

    async def send(self, method: str, params: Json = None, id: Json = None) -> Json:
        """Sends a request and returns its id; params of null are left out."""
        if id is None:
            self._numbers += 1
            id = self._numbers
        message: Object = {"jsonrpc": "2.0", "id": id, "method": method}
        await self.raw(frame(encoded(message if params is None else {**message, "params": params})))
        return id

    async def notify(self, method: str, params: Json = None) -> None:
        message: Object = {"jsonrpc": "2.0", "method": method}
        await self.raw(frame(encoded(message if params is None else {**message, "params": params})))

    async def cancel(self, id: Json) -> None:
        await self.notify("$/cancelRequest", {"id": id})

    async def raw(self, data: bytes) -> None:
        """Sends bytes as they are. Raises `BrokenPipeError` or `ClosedResourceError` once either end is closed."""
        async with self._sending:
            while data:
                if self._writing >= 0:
                    await anyio.wait_writable(self._writing)
                if self._writing < 0:  # closed before, or in the meantime
                    raise anyio.ClosedResourceError
                data = data[os.write(self._writing, data) :]

    # Listening.

    async def result(self, id: Json, timeout_s: float = PATIENCE_S) -> Json:
        """The result of the request with that id. Raises `Fault`, `Gone` or `TimeoutError`."""
        await self.until(lambda: id in self._replies, timeout_s)
        return outcome(self._replies.pop(id))

    async def stray(self, timeout_s: float = PATIENCE_S) -> Json:
        """What the oldest reply says whose id is null: raises `Fault`, `Gone` or `TimeoutError`."""
        await self.until(lambda: bool(self._strays), timeout_s)
        return outcome(self._strays.pop(0))

    async def notification(
        self, method: str, fits: Callable[[Object], bool] = lambda _: True, timeout_s: float = PATIENCE_S
    ) -> Object:
        """The params of the first notification so far, or to come, of that method that fits."""

        def found() -> list[Object]:
            return [params for name, params in self.notifications if name == method and fits(params)]

        await self.until(lambda: bool(found()), timeout_s)
        return found()[0]

    async def until(self, true: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Waits for what a message or a line of the log brings about. Raises `Gone` or `TimeoutError`."""
        with anyio.fail_after(timeout_s):
            while not true():
                if self._ended:
                    raise Gone(f"the output has ended; the log's end: {self.log[-3:]} {self.noise[-20:]}")
                await self._changed.wait()

    def pause(self) -> None:
        """Reads nothing further, as a host that hangs."""
        self._go = anyio.Event()

    def resume(self) -> None:
        self._go.set()

    # Ending.

    def close_input(self) -> None:
        """Ends the sidecar's stdin."""
        if self._writing >= 0:
            writing, self._writing = self._writing, -1
            anyio.notify_closing(writing)
            os.close(writing)

    def close_output(self) -> None:
        """Takes away the reading end of the sidecar's stdout."""
        if self._reading >= 0:
            reading, self._reading = self._reading, -1
            anyio.notify_closing(reading)
            os.close(reading)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(number)

    async def exit_code(self, timeout_s: float = PATIENCE_S) -> int:
        with anyio.fail_after(timeout_s):
            return await self.process.wait()

    # What runs beside the test.

    async def run(self, group: TaskGroup) -> None:
        """Reads until the output ends."""
        buffer = bytearray()
        try:
            while True:
                await self._go.wait()
                if self._reading < 0:
                    break
                await anyio.wait_readable(self._reading)
                data = os.read(self._reading, 65536)
                if not data:
                    break
                buffer += data
                while (body := _cut(buffer)) is not None:
                    self._take(json.loads(body), group)
        except (anyio.ClosedResourceError, ConnectionResetError):
            pass  # the test closed this end
        self._ended = True
        self._change()

    async def read_log(self, stderr: ByteReceiveStream) -> None:
        """Reads stderr until it ends; a line that is no JSON object is noise."""
        rest = b""
        async for chunk in stderr:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                try:
                    self.log.append(json.loads(line))
                except ValueError:
                    self.noise.append(line.decode(errors="replace"))
            self._change()

    def _take(self, message: Object, group: TaskGroup) -> None:
        self.received.append(message)
        params = message.get("params")
        match message:
            case {"method": str(method), "id": id}:
                assert isinstance(params, dict)
                group.start_soon(self._answer, method, id, params)
            case {"method": "$/cancelRequest"}:
                assert isinstance(params, dict)
                self.notifications.append(("$/cancelRequest", params))
                if scope := self._asked.get(params["id"]):
                    scope.cancel()
            case {"method": str(method)}:
                assert isinstance(params, dict)
                self.notifications.append((method, params))
            case {"id": None}:
                self._strays.append(message)
            case _:
                assert message["id"] not in self._replies, f"a second reply to {message}"
                self._replies[message["id"]] = message
        self._change()

    async def _answer(self, method: str, id: Json, params: Object) -> None:
        reply: Object
        with anyio.CancelScope() as scope:
            self._asked[id] = scope
            try:
                answer = self._answers.get(method)
                if answer is None:
                    raise Fault(-32601, f"the test answers no {method}")
                reply = {"result": await answer(params)}
            except Fault as fault:
                reply = {"error": {"code": fault.code, "message": fault.message, "data": fault.data}}
            self._asked.pop(id)
            with suppress(BrokenPipeError, anyio.ClosedResourceError):  # the sidecar may have ended meanwhile
                await self.raw(frame(encoded({"jsonrpc": "2.0", "id": id, **reply})))

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def outcome(reply: Object) -> Json:
    """A reply's result. Raises `Fault` where it is an error."""
    if "error" not in reply:
        return reply["result"]
    error = reply["error"]
    assert isinstance(error, dict), f"this is no error of JSON-RPC: {error}"
    code, message = error["code"], error["message"]
    assert isinstance(code, int), code
    assert isinstance(message, str), message
    raise Fault(code, message, error.get("data"))


@asynccontextmanager
async def started(
    command: Sequence[str] = SIDECAR,
    *,
    answers: Mapping[str, Answer] | None = None,
    sockets: bool = False,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[WireClient]:
    """A sidecar process over pipes, or over `sockets` as Node connects its children.

    At the end its input is closed; a process that has not ended 10 s later is killed, and fails the test.
    """
    reading, its_output = _ends(sockets)
    its_input, writing = _ends(sockets)
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    process = await anyio.open_process(
        list(command), stdin=its_input, stdout=its_output, cwd=ROOT, env={**os.environ, **(env or {})}
    )
    os.close(its_input)
    os.close(its_output)
    client = WireClient(process, reading, writing, answers or {})
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(client.run, group)
            assert process.stderr is not None
            group.start_soon(client.read_log, process.stderr)
            try:
                yield client
                client.resume()
                client.close_input()
                await client.exit_code(10)
            finally:
                group.cancel_scope.cancel()
    finally:
        client.close_input()
        client.close_output()
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()


def _ends(sockets: bool) -> tuple[int, int]:
    """The reading and the writing end of a new channel."""
    if not sockets:
        return os.pipe()
    one, other = socket.socketpair()
    return one.detach(), other.detach()


def _cut(buffer: bytearray) -> bytes | None:
    """The next frame's body, taken off the buffer, or null while it is not whole."""
    head, blank, _ = buffer.partition(b"\r\n\r\n")
    if not blank:
        return None
    name, _, length = head.partition(b": ")
    assert name == b"Content-Length", f"the sidecar sent a header {bytes(head)!r}"
    end = len(head) + 4 + int(length)
    if len(buffer) < end:
        return None
    body = bytes(buffer[len(head) + 4 : end])
    del buffer[:end]
    return body
