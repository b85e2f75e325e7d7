"""What the transport survives: each bad input is answered as the protocol says, and the next request is served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from foldstate.kernel.values import Json
from tests.support.wire import ECHO, SIDECAR, Fault, WireClient, encoded, frame, started

pytestmark = pytest.mark.anyio

COMMANDS = {"echo": ECHO, "sidecar": SIDECAR}
HEALTH = encoded({"jsonrpc": "2.0", "id": 7, "method": "health/get"})


@pytest.fixture(params=COMMANDS, scope="module")
async def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WireClient]:
    """One process for all tests of the module: what one of them did to it must not show in the next."""
    async with started(COMMANDS[request.param]) as client:
        await client.initialize(tmp_path_factory.mktemp("data"))
        yield client


@pytest.fixture(params=COMMANDS)
async def doomed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[WireClient]:
    """A process of the test's own, to be ended by it."""
    async with started(COMMANDS[request.param]) as client:
        await client.initialize(tmp_path)
        yield client


async def serves(client: WireClient) -> None:
    result = await client.request("health/get")
    assert isinstance(result, dict)
    assert "uptime_s" in result


async def refused(client: WireClient, body: bytes) -> tuple[Json, int]:
    """The id and the code that the body is refused with; the next request must be served."""
    before = len(client.received)
    await client.raw(frame(body))
    await client.until(lambda: len(client.received) > before)
    reply = client.received[-1]
    with pytest.raises(Fault) as fault:
        await (client.result(reply["id"]) if reply["id"] is not None else client.stray())
    await serves(client)
    return reply["id"], fault.value.code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"jsonrpc":"2.0","id":5,"method":"health/get",}',
        b'{"jsonrpc":"2.0","id":5,"method":"health/get","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":5,"method":"health/get","params":{"x":"\\q"}}',
        b'{"jsonrpc":"2.0","id":5,"method":"health/get"} {}',
        b'{"jsonrpc":"2.0","id":5,"method":"health/get","params":{"x":"\xff"}}',
        b'{"jsonrpc":"2.0","id":5,"method":"health/get","other":"\xc3\x28"}',
        b"[" * 30_000 + b"]" * 30_000,
        b'{"jsonrpc":"2.0","id":5,"method":"health/get","params":' + b'{"a":' * 30_000 + b"1" + b"}" * 30_001,
    ],
    ids=["empty", "cut", "comma", "nan", "escape", "two", "utf8-params", "utf8-extra", "deep", "deep-params"],
)
async def test_what_is_no_json_is_a_parse_error_without_an_id(client: WireClient, body: bytes) -> None:
    assert await refused(client, body) == (None, -32700)


@pytest.mark.parametrize(
    ("body", "id"),
    [
        (b"5", None),
        (b'"text"', None),
        (b"null", None),
        (b"[]", None),
        (b"[" + HEALTH + b"]", None),
        (b'{"id":5,"method":"health/get"}', 5),
        (b'{"jsonrpc":"1.0","id":"five","method":"health/get"}', "five"),
        (b'{"jsonrpc":2.0,"id":5,"method":"health/get"}', 5),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', 5),
        (b'{"jsonrpc":"2.0","id":5}', 5),
        (b'{"jsonrpc":"2.0","id":null,"method":"health/get"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"health/get"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"health/get"}', None),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"health/get"}', None),
        (b"{}", None),
    ],
)
async def test_json_that_is_no_message_is_an_invalid_request(client: WireClient, body: bytes, id: Json) -> None:
    assert await refused(client, body) == (id, -32600)


async def test_a_whole_number_of_any_size_is_an_id(client: WireClient) -> None:
    id = 2**80
    await client.send("health/get", id=id)
    assert isinstance(await client.result(id), dict)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        (b"[]", "params"),
        (b"5", "params"),
        (b'{"protocol":1,"host":{"name":"t","version":"0"},"data_dir":5}', "params.data_dir"),
        (b'{"protocol":1,"host":{"name":"t","version":"0"},"data_dir":"/d","extra":1}', "params.extra"),
        (b'{"protocol":1,"host":{"name":"t","version":"0","x":1},"data_dir":"/d"}', "params.host.x"),
        (b'{"protocol":1,"host":{"name":"t"},"data_dir":"/d"}', "params.host.version"),
        (b'{"protocol":2,"host":{"name":"t","version":"0"},"data_dir":"/d"}', "params.protocol"),
        (
            b'{"protocol":1,"host":{"name":"t","version":"0"},"data_dir":"/d","config":{"tier0_tokens":801}}',
            "params.config.tier0_tokens",
        ),
        (
            b'{"protocol":1,"host":{"name":"t","version":"0"},"data_dir":"/d","clock":"manual","now":"2026-01-31T09:30"}',
            "params.now",
        ),
        (
            b'{"protocol":1,"host":{"name":"t","version":"0"},"data_dir":"/d","clock":"manual"}',
            "params.now",
        ),
    ],
)
async def test_params_that_do_not_fit_are_refused_with_their_path(client: WireClient, params: bytes, path: str) -> None:
    await client.raw(frame(b'{"jsonrpc":"2.0","id":"p","method":"initialize","params":' + params + b"}"))
    with pytest.raises(Fault) as fault:
        await client.result("p")
    assert fault.value.code == -32602
    assert isinstance(fault.value.data, dict)
    assert fault.value.data["path"] == path
    assert fault.value.data["message"]
    await serves(client)


async def test_an_editor_that_there_is_not_is_refused_with_those_there_are(client: WireClient) -> None:
    with pytest.raises(Fault, match="give `model` or `off` or `rules`") as fault:
        await client.initialize(Path("/d"), config={"editor": "none"})
    assert fault.value.code == -32602


async def test_a_method_that_does_not_exist_is_refused_by_name(client: WireClient) -> None:
    with pytest.raises(Fault, match="no/such") as fault:
        await client.request("no/such", {"any": "thing"})
    assert fault.value.code == -32601
    await serves(client)


@pytest.mark.parametrize(
    "data",
    [
        frame(b'{"jsonrpc":"2.0","id":7,"method":"health/get"}'),
        frame(b'{"jsonrpc":"2.0","id":7,"method":"health/get","params":{}}'),
        frame(b'{"jsonrpc":"2.0","id":7,"method":"health/get","params":null}'),
        frame(b'{"jsonrpc":"2.0","id":7,"method":"health/get","trace":{"a":[1]}}'),
        b"content-length: %d\r\n\r\n%b" % (len(HEALTH), HEALTH),
        b"CONTENT-LENGTH:%d\r\n\r\n%b" % (len(HEALTH), HEALTH),
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b"
        % (len(HEALTH), HEALTH),
        b"Content-Length: %d\r\nContent-Type: application/json\r\n\r\n%b" % (len(HEALTH), HEALTH),
        b"Content-Length: %d\n\n%b" % (len(HEALTH), HEALTH),
    ],
    ids=["no-params", "empty", "null", "extra", "lower", "upper", "type-first", "type-last", "bare-newlines"],
)
async def test_what_other_hosts_send_is_served(client: WireClient, data: bytes) -> None:
    await client.raw(data)
    assert isinstance(await client.result(7), dict)


async def test_a_frame_that_comes_byte_by_byte_is_served(client: WireClient) -> None:
    for byte in frame(HEALTH):
        await client.raw(bytes([byte]))
    assert isinstance(await client.result(7), dict)


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 8388609\r\n\r\n",
        b"Content-Length: 100000000000\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: 1_0\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
        b"this is not a header\r\n\r\n",
        b"X: " + b"y" * 10_000,
        b"\r\n\r\n",
    ],
    ids=[
        "8MiB+1",
        "1e11",
        "5000-digits",
        "negative",
        "no-number",
        "underscore",
        "empty",
        "none",
        "two",
        "garbage",
        "endless",
        "blank",
    ],
)
async def test_a_stream_that_cannot_be_trusted_ends_the_process(doomed: WireClient, data: bytes) -> None:
    id = await doomed.send("health/get")
    await doomed.raw(data)
    with pytest.raises(Fault) as fault:
        await doomed.stray()
    assert fault.value.code == -32700
    assert isinstance(await doomed.result(id), dict)
    assert await doomed.exit_code() == 1


async def test_a_body_of_eight_mebibytes_is_served(client: WireClient) -> None:
    filler = 8 * 1024 * 1024 - len(HEALTH) - len(b',"x":""')
    body = HEALTH[:-1] + b',"x":"' + b"y" * filler + b'"}'
    assert len(body) == 8 * 1024 * 1024
    await client.raw(frame(body))
    assert isinstance(await client.result(7), dict)


async def test_notifications_are_never_answered(client: WireClient) -> None:
    before = len(client.received)
    await client.notify("no/such", {"a": 1})
    await client.notify("health/get", {"unknown": 1})
    await client.notify("health/get")
    await client.cancel("nothing of that id")
    await client.notify("$/cancelRequest", {"wrong": 1})
    await serves(client)
    assert len(client.received) == before + 1


async def test_replies_to_nothing_are_ignored(client: WireClient) -> None:
    before = len(client.received)
    for reply in (
        b'{"jsonrpc":"2.0","id":1,"result":null}',
        b'{"jsonrpc":"2.0","id":"fold-1","result":{"text":"x"}}',
        b'{"jsonrpc":"2.0","id":"fold-1","error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":"fold-1","error":5}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}',
    ):
        await client.raw(frame(reply))
    await serves(client)
    assert len(client.received) == before + 1


@pytest.mark.parametrize("command", COMMANDS)
async def test_nothing_is_served_before_initialize(command: str) -> None:
    async with started(COMMANDS[command]) as client:
        with pytest.raises(Fault) as fault:
            await client.request("health/get")
        assert fault.value.code == -32002
        assert fault.value.data == {"code": "not_initialized"}
        assert await client.request("shutdown") is None
        await client.notify("exit")
        assert await client.exit_code() == 0


@pytest.mark.parametrize("sockets", [False, True], ids=["pipes", "sockets"])
@pytest.mark.parametrize("command", COMMANDS)
async def test_shutdown_and_exit_end_the_process(command: str, sockets: bool, tmp_path: Path) -> None:
    async with started(COMMANDS[command], sockets=sockets) as client:
        await client.initialize(tmp_path)
        await serves(client)
        assert await client.request("shutdown") is None
        await client.notify("exit")
        assert await client.exit_code() == 0
