"""A host that stays open, driven from the test through a small plugin of its own (tests/host/plugin/driver.js)."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from tests.support.host import RUN_S, HostHome, Running, command

PLUGIN = Path(__file__).parents[1] / "host" / "plugin" / "driver.js"
START_S = 20.0
READER = "reader"
"""A profile that is made afresh each time: no plugin is in it but the one that reads."""

_T = TypeVar("_T")


class Entry(Struct, frozen=True):
    """One entry of a session's log. `time` is in milliseconds."""

    seq: int
    time: int
    type: str
    data: Raw


class Header(Struct, frozen=True, rename="camel"):
    id: str
    parent_session: str | None = None
    is_seeded: bool = False


class Log(Struct, frozen=True):
    header: Header
    events: tuple[Entry, ...]


class CommandResult(Struct, frozen=True):
    kind: str
    text: str = ""


class _Forked(Struct, frozen=True):
    session: str


class _Done(Struct, frozen=True):
    pass


def patch(folder: Path) -> Path:
    """A patch file that puts the test plugin into whatever profile is run with it."""
    file = folder / "driver.patch.yml"
    rows = ({"insert": [{"id": "foldstate-test-driver", "name": str(PLUGIN)}]},)
    file.write_bytes(msgspec.json.encode(rows))  # JSON is YAML
    return file


class Driver:
    """Speaks to the test plugin of one host process."""

    def __init__(self, port_file: Path) -> None:
        deadline = time.monotonic() + START_S
        while not port_file.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the host's test plugin wrote no port within {START_S} s")
            time.sleep(0.02)
        self._port = int(port_file.read_text())

    def _ask(self, operation: str, params: dict[str, str], result: type[_T]) -> _T:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=RUN_S)
        try:
            connection.request("POST", f"/{operation}", msgspec.json.encode(params))
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        assert response.status == 200, f"{operation}: {body.decode()}"
        return msgspec.json.decode(body, type=result)

    def log(self, session: str) -> Log:
        return self._ask("log", {"session": session}, Log)

    def resume(self, session: str) -> None:
        self._ask("resume", {"session": session}, _Done)

    def prompt(self, session: str, text: str) -> None:
        """Say something in a live session and wait until its agent and its subagents are idle."""
        self._ask("prompt", {"session": session, "text": text}, _Done)

    def begin(self, session: str, text: str) -> None:
        """Say something in a live session and wait for nothing."""
        self._ask("begin", {"session": session, "text": text}, _Done)

    def command(self, session: str, line: str) -> CommandResult:
        return self._ask("command", {"session": session, "line": line}, CommandResult)

    def fork(self, session: str) -> str:
        return self._ask("fork", {"session": session}, _Forked).session


class OpenHost:
    """A host process that stays open until the block ends: `with OpenHost(home, "web") as driver`."""

    def __init__(self, home: HostHome, profile: str) -> None:
        self._home = home
        self._profile = profile
        self._running: Running | None = None

    def __enter__(self) -> Driver:
        port_file = self._home.folder / f"{self._profile}.port"
        port_file.unlink(missing_ok=True)
        flags = ("--no-open", "--port", "0") if self._profile == "web" else ()
        fresh = ("--from-default-profile", "sdk") if self._profile == READER else ()
        words = (
            str(command("dsh")),
            "--profile",
            self._profile,
            *fresh,
            "--patch",
            str(patch(self._home.folder)),
            *flags,
        )
        env = {**self._home.env, "FOLDSTATE_DRIVER": str(port_file)}
        self._running = Running(words, self._home.workspace, env, stdin=subprocess.PIPE)
        try:
            return Driver(port_file)
        except TimeoutError as error:
            run = self._running.end(signal.SIGKILL)
            raise TimeoutError(f"{error}: {run.stdout}{run.stderr}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running is not None and self._running.process.poll() is None:
            self._running.end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process as a power cut would."""
        assert self._running is not None, "the host isn't running"
        self._running.end(signal.SIGKILL)


def final_log(home: HostHome, session: str) -> Log:
    """A closed session's log, as the host itself reads it back; a profile without our plugin does the reading."""
    with OpenHost(home, READER) as driver:
        return driver.log(session)
