"""A small service on the real wire, run as a process: what the wire promises is tested on it and on the sidecar alike.

`python -m tests.support.echo_service [--threads]`
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import NoneType

import anyio
from msgspec import Struct

from foldstate.sidecar.log import configure
from foldstate.sidecar.wire.errors import CursorGap, HostError, HostGone, HostTimeout
from foldstate.sidecar.wire.frames import (
    HealthResult,
    InitializeParams,
    InitializeResult,
    Nothing,
    Opaque,
    Params,
    RoundCounts,
    Server,
    StateChanged,
)
from foldstate.sidecar.wire.handler import Handler
from foldstate.sidecar.wire.incidents import Incidents
from foldstate.sidecar.wire.peer import Peer


class EchoParams(Params, frozen=True):
    text: str = ""


class Echo(Struct, frozen=True):
    text: str


class NapParams(Params, frozen=True):
    s: float


class AskParams(Params, frozen=True):
    text: str
    timeout_s: float


class Answer(Struct, frozen=True):
    text: str


class Asked(Struct, frozen=True):
    text: str | None = None
    failure: str | None = None


class OpaqueParams(Params, frozen=True):
    content: Opaque


class Shown(Struct, frozen=True):
    shown: str


class TickParams(Params, frozen=True):
    """Writes `count` numbers to `path`, one a line and `every_s` apart, and tells the host of each."""

    path: str
    count: int
    every_s: float


class EchoService:
    def __init__(self) -> None:
        self.incidents = Incidents()
        self.started = time.monotonic()
        self.stopped_path: str | None = None
        self.peer = Peer(
            {
                "initialize": Handler(InitializeParams, InitializeResult, self.initialize),
                "shutdown": Handler(Nothing, NoneType, self.nothing),
                "health/get": Handler(Nothing, HealthResult, self.health),
                "test/echo": Handler(EchoParams, Echo, self.echo),
                "test/nap": Handler(NapParams, Echo, self.nap),
                "test/boom": Handler(EchoParams, Echo, self.boom),
                "test/gap": Handler(Nothing, NoneType, self.gap),
                "test/ask": Handler(AskParams, Asked, self.ask),
                "test/opaque": Handler(OpaqueParams, Shown, self.opaque),
                "test/print": Handler(Nothing, NoneType, self.print),
                "test/tick": Handler(TickParams, NoneType, self.tick),
                "test/hang": Handler(NapParams, NoneType, self.hang),
                "test/stopping": Handler(EchoParams, NoneType, self.stopping),
                "test/unsendable": Handler(Nothing, Echo, self.unsendable),
            },
            self.incidents,
        )

    async def initialize(self, params: InitializeParams) -> InitializeResult:
        return InitializeResult(params.protocol, Server("echo", "0"), params.config, ())

    async def nothing(self, _params: Nothing) -> None:
        return

    async def health(self, _params: Nothing) -> HealthResult:
        up = time.monotonic() - self.started
        return HealthResult(up, 0, 0, 0, RoundCounts(), {}, "off", self.incidents.newest)

    async def echo(self, params: EchoParams) -> Echo:
        return Echo(params.text)

    async def nap(self, params: NapParams) -> Echo:
        await anyio.sleep(params.s)
        return Echo("rested")

    async def boom(self, _params: EchoParams) -> Echo:
        raise KeyError(f"secret of {Path(__file__)}")

    async def gap(self, _params: Nothing) -> None:
        raise CursorGap("entries are missing", cursor=7)

    async def ask(self, params: AskParams) -> Asked:
        try:
            answer = await self.peer.request("host/ask", EchoParams(params.text), Answer, params.timeout_s)
        except HostTimeout:
            return Asked(failure="timeout")
        except HostGone:
            return Asked(failure="gone")
        except HostError as error:
            return Asked(failure=f"{error.code} {error.message}")
        return Asked(text=answer.text)

    async def opaque(self, params: OpaqueParams) -> Shown:
        return Shown(ascii(params.content.value))

    async def print(self, _params: Nothing) -> None:
        print("a stray line", flush=True)
        os.write(1, b"and another\n")
        child = [sys.executable, "-c", "import sys; print('from a child', repr(sys.stdin.read()))"]
        async with await anyio.open_process(child, stdin=None, stdout=None, stderr=None) as process:
            await process.wait()

    async def tick(self, params: TickParams) -> None:
        for number in range(1, params.count + 1):
            await anyio.sleep(params.every_s)
            async with await anyio.Path(params.path).open("a") as file:
                await file.write(f"{number}\n")
            self.peer.notify("state/changed", StateChanged("s", number, "x" * 1000))

    async def hang(self, params: NapParams) -> None:
        self.peer.notify("state/changed", StateChanged("s", 0, "about to hang"))
        time.sleep(params.s)  # noqa: ASYNC251 - a handler that blocks the event loop is what this one is for

    async def stopping(self, params: EchoParams) -> None:
        self.stopped_path = params.text

    async def unsendable(self, _params: Nothing) -> Echo:
        return Echo("\ud800")

    async def on_stop(self) -> None:
        if self.stopped_path == "":
            raise OSError("the disk is full")
        if self.stopped_path is not None:
            await anyio.Path(self.stopped_path).write_text("durable")


async def serve() -> int:
    service = EchoService()
    if "--threads" in sys.argv:
        return await service.peer.serve(service.on_stop, threads=True)
    return await service.peer.serve(service.on_stop)


if __name__ == "__main__":
    log = configure()
    code = anyio.run(serve)
    log.wait(0.2)
    os._exit(code)
