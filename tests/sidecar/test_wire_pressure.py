"""A host that stops reading: timers and commits go on, memory stays bounded, and nothing that was owed is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from tests.support.wire import ECHO, Fault, WireClient, started

pytestmark = pytest.mark.anyio

MEBIBYTE = 1024 * 1024


@pytest.fixture(params=["loop", "threads"])
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[WireClient]:
    command = [*ECHO, "--threads"] if request.param == "threads" else ECHO
    async with started(command) as client:
        await client.initialize(tmp_path)
        yield client


def resident_mib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("the kernel does not say how much memory the process has")


def count(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


async def written(path: Path, lines: int) -> None:
    """Waits until the file has as many lines."""
    with anyio.fail_after(20):
        while count(path) < lines:  # noqa: ASYNC110 - another process writes it
            await anyio.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read where Linux shows it")
async def test_what_waits_for_a_host_that_does_not_read_is_bounded(client: WireClient, tmp_path: Path) -> None:
    path = tmp_path / "ticks"
    tick = await client.send("test/tick", {"path": str(path), "count": 10_000, "every_s": 0.005})
    await written(path, 1)
    client.pause()
    text = "x" * MEBIBYTE
    ids = [f"big-{number}" for number in range(200)]

    sent: list[str] = []

    async def flood() -> None:
        for id in ids:
            await client.send("test/echo", {"text": text}, id=id)
            sent.append(id)

    async with anyio.create_task_group() as group:
        group.start_soon(flood)
        await client.until(lambda: any("does not read" in str(line["message"]) for line in client.log))
        before = -1
        while before < len(sent):  # until nothing more was taken in for as long as 40 commits took
            before = len(sent)
            await written(path, count(path) + 40)
        assert len(sent) < len(ids)
        assert resident_mib(client.process.pid) < 160
        client.resume()
    for id in ids:
        assert await client.result(id) == {"text": text}
    await client.cancel(tick)
    with pytest.raises(Fault, match="-32800"):
        await client.result(tick)


async def test_of_notifications_about_one_session_a_host_that_reads_again_gets_the_newest(
    client: WireClient, tmp_path: Path
) -> None:
    path = tmp_path / "ticks"
    client.pause()
    tick = await client.send("test/tick", {"path": str(path), "count": 1000, "every_s": 0})
    await written(path, 1000)
    client.resume()
    assert await client.result(tick) is None
    await client.notification("state/changed", lambda params: params["revision"] == 1000)
    told = [params["revision"] for method, params in client.notifications if method == "state/changed"]
    assert all(isinstance(one, int) and isinstance(next_, int) and one < next_ for one, next_ in pairwise(told))
    assert len(told) < 500
