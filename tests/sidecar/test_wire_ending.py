"""How the process ends: in good order, in time, and with nothing accepted lost."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from tests.support.wire import ECHO, SIDECAR, Fault, Object, encoded, frame, started

pytestmark = pytest.mark.anyio

THREADS = (*ECHO, "--threads")
WAYS = {"echo": ECHO, "threads": THREADS, "sidecar": SIDECAR}


@pytest.mark.parametrize("command", WAYS)
async def test_the_end_of_input_ends_the_process(command: str, tmp_path: Path) -> None:
    async with started(WAYS[command]) as client:
        await client.initialize(tmp_path)
        client.close_input()
        assert await client.exit_code() == 0


@pytest.mark.parametrize("what", ["null device", "file", "closed"])
async def test_an_input_that_no_loop_can_wait_for_is_read_all_the_same(what: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    path = empty if what == "file" else Path(os.devnull)
    command = [*SIDECAR] if what != "closed" else ["sh", "-c", f"exec {SIDECAR[0]} -m {SIDECAR[2]} <&-"]
    with path.open("rb") as given, anyio.fail_after(20):
        ended = await anyio.run_process(command, stdin=given, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", WAYS)
async def test_a_signal_ends_the_process_within_two_seconds(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    async with started(WAYS[command]) as client:
        await client.initialize(tmp_path)
        began = time.monotonic()
        client.kill(number)
        assert await client.exit_code() == 0
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_before_initialize_ends_the_process(number: signal.Signals) -> None:
    async with started(SIDECAR) as client:
        await client.notification("sidecar/starting")
        client.kill(number)
        assert await client.exit_code() == 0


@pytest.mark.parametrize("command", [ECHO, THREADS], ids=["echo", "threads"])
async def test_requests_in_flight_are_answered_when_the_input_ends(command: tuple[str, ...], tmp_path: Path) -> None:
    async with started(command) as client:
        await client.initialize(tmp_path)
        nap = await client.send("test/nap", {"s": 0.5})
        stopping = tmp_path / "stopped"
        await client.request("test/stopping", {"text": str(stopping)})
        client.close_input()
        assert await client.result(nap) == {"text": "rested"}
        assert await client.exit_code() == 0
        assert stopping.read_text() == "durable"


async def test_what_waits_for_the_host_is_told_that_it_is_gone(tmp_path: Path) -> None:
    async def answer(_params: Object) -> Object:
        await anyio.sleep(60)
        return {"text": "never"}

    async with started(ECHO, answers={"host/ask": answer}) as client:
        await client.initialize(tmp_path)
        id = await client.send("test/ask", {"text": "x", "timeout_s": 60})
        await client.until(lambda: any(one.get("method") == "host/ask" for one in client.received))
        client.close_input()
        assert await client.result(id) == {"text": None, "failure": "gone"}
        assert await client.exit_code(2) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_answers_what_is_in_flight(number: signal.Signals, tmp_path: Path) -> None:
    async with started(ECHO) as client:
        await client.initialize(tmp_path)
        quick = await client.send("test/nap", {"s": 0.3})
        endless = await client.send("test/nap", {"s": 60})
        stopping = tmp_path / "stopped"
        await client.request("test/stopping", {"text": str(stopping)})
        began = time.monotonic()
        client.kill(number)
        assert await client.result(quick) == {"text": "rested"}
        with pytest.raises(Fault, match="-32800"):
            await client.result(endless)
        assert await client.exit_code() == 0
        assert time.monotonic() - began < 2
        assert stopping.read_text() == "durable"


async def test_signals_hurry_an_ending_that_has_begun_and_what_is_in_flight_is_still_answered(tmp_path: Path) -> None:
    async with started(ECHO) as client:
        await client.initialize(tmp_path)
        nap = await client.send("test/nap", {"s": 60})
        await client.request("health/get")
        client.close_input()
        await client.until(lambda: any(line["message"] == "ending: input" for line in client.log))
        began = time.monotonic()
        client.kill(signal.SIGTERM)
        client.kill(signal.SIGINT)
        client.kill(signal.SIGTERM)
        with pytest.raises(Fault, match="-32800"):
            await client.result(nap)
        assert await client.exit_code() == 0
        assert time.monotonic() - began < 2


async def test_a_signal_ends_even_a_process_whose_event_loop_hangs(tmp_path: Path) -> None:
    async with started(ECHO) as client:
        await client.initialize(tmp_path)
        await client.send("test/hang", {"s": 60})
        await client.notification("state/changed")
        began = time.monotonic()
        client.kill(signal.SIGTERM)
        assert await client.exit_code() == 0
        assert time.monotonic() - began < 2.5


@pytest.mark.parametrize("sockets", [False, True], ids=["pipes", "sockets"])
@pytest.mark.parametrize("command", WAYS)
async def test_the_process_ends_when_the_hosts_end_is_gone(command: str, sockets: bool, tmp_path: Path) -> None:
    async with started(WAYS[command], sockets=sockets) as client:
        await client.initialize(tmp_path)
        client.close_output()
        for _ in range(3):  # a thread finds out only by writing
            try:
                await client.raw(frame(encoded({"jsonrpc": "2.0", "id": 9, "method": "health/get"})))
            except BrokenPipeError:
                break
        assert await client.exit_code(10) == 0


@pytest.mark.parametrize("command", WAYS)
async def test_a_host_that_was_killed_leaves_no_process_behind(command: str, tmp_path: Path) -> None:
    async with started(WAYS[command]) as client:
        await client.initialize(tmp_path)
        client.close_output()
        client.close_input()
        assert await client.exit_code(10) == 0


async def test_an_ending_that_could_not_make_all_durable_says_so_by_its_code(tmp_path: Path) -> None:
    async with started(ECHO) as client:
        await client.initialize(tmp_path)
        await client.request("test/stopping", {"text": ""})
        client.close_input()
        assert await client.exit_code() == 1
        await client.until(lambda: any("the disk is full" in str(line.get("traceback")) for line in client.log))


async def test_a_sidecar_that_cannot_be_loaded_says_why_in_its_log() -> None:
    program = (
        "import sys; sys.modules['foldstate.sidecar.service'] = None; import foldstate.sidecar.__main__ as m; m.main()"
    )
    async with started([sys.executable, "-c", program]) as client:
        await client.notification("sidecar/starting")
        assert await client.exit_code() == 70
        await client.until(lambda: any("ModuleNotFoundError" in str(line.get("traceback")) for line in client.log))


async def test_input_that_ends_within_a_frame_ends_the_process_too(tmp_path: Path) -> None:
    async with started(ECHO) as client:
        await client.initialize(tmp_path)
        await client.raw(b'Content-Length: 50\r\n\r\n{"jsonrpc"')
        client.close_input()
        assert await client.exit_code() == 0
        await client.until(lambda: any("middle of a frame" in str(line["message"]) for line in client.log))


async def test_regular_files_serve_as_input_and_output(tmp_path: Path) -> None:
    requests: list[Object] = [
        {"jsonrpc": "2.0", "id": 1, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": 2, "method": "health/get"},
    ]
    given, written = tmp_path / "in", tmp_path / "out"
    given.write_bytes(b"".join(frame(encoded(request)) for request in requests))
    with given.open("rb") as stdin, written.open("wb") as stdout:
        process = await anyio.open_process(list(ECHO), stdin=stdin, stdout=stdout, stderr=None)
        with anyio.fail_after(20):
            assert await process.wait() == 0
    text = written.read_text()
    assert '"id":1,"result":null' in text
    assert '"code":"not_initialized"' in text


async def test_the_first_frame_comes_before_anything_slow_is_loaded() -> None:
    async with started(SIDECAR) as client:
        params = await client.notification("sidecar/starting")
        assert params == {"pid": client.process.pid}
        assert client.received[0]["method"] == "sidecar/starting"


async def test_a_host_that_is_gone_before_the_first_frame_leaves_no_process_behind() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = await anyio.open_process(list(SIDECAR), stdin=None, stdout=writing)
    finally:
        os.close(writing)
    with anyio.fail_after(20):
        assert await process.wait() == 0
