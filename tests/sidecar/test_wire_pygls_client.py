"""The sidecar as another program's client sees it: pygls's own, which shares none of the tests' framing."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException

from tests.support.wire import ECHO, ROOT, SIDECAR

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("command", [ECHO, SIDECAR], ids=["echo", "sidecar"])
async def test_a_client_of_pygls_drives_it(command: tuple[str, ...], tmp_path: Path) -> None:
    client = JsonRPCClient()
    with anyio.fail_after(30):
        await client.start_io(*command, cwd=ROOT)
        result = await client.protocol.send_request_async(
            "initialize",
            {"protocol": 1, "host": {"name": "pygls", "version": "2"}, "data_dir": str(tmp_path), "config": {}},
        )
        assert result.protocol == 1
        assert result.config.tier0_tokens == 400
        assert (await client.protocol.send_request_async("health/get")).uptime_s >= 0
        with pytest.raises(JsonRpcException) as fault:
            await client.protocol.send_request_async("no/such", {})
        assert fault.value.code == -32601
        with pytest.raises(JsonRpcException) as fault:
            await client.protocol.send_request_async("health/get", {"what": 1})
        assert fault.value.code == -32602
        assert await client.protocol.send_request_async("shutdown") is None
        client.protocol.notify("exit")
        await client.stop()  # type: ignore[no-untyped-call]  # pygls leaves it without types
