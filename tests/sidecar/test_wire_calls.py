"""Requests both ways: slow ones beside others, cancelled ones, failing ones, and the sidecar's own to its host."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.support.wire import ECHO, Fault, Object, WireClient, encoded, frame, started

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["loop", "threads"])
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[WireClient]:
    command = [*ECHO, "--threads"] if request.param == "threads" else ECHO
    async with started(command) as client:
        await client.initialize(tmp_path)
        yield client


async def test_a_slow_handler_holds_up_nothing(client: WireClient) -> None:
    slow = await client.send("test/nap", {"s": 30})
    for number in range(100):
        assert await client.request("test/echo", {"text": str(number)}) == {"text": str(number)}
    await client.cancel(slow)
    with pytest.raises(Fault) as fault:
        await client.result(slow)
    assert fault.value.code == -32800


async def test_an_id_in_flight_is_not_taken_twice_and_is_free_afterwards(client: WireClient) -> None:
    await client.send("test/nap", {"s": 30}, id="same")
    await client.send("test/echo", {"text": "again"}, id="same")
    with pytest.raises(Fault, match="in flight already") as fault:
        await client.stray()
    assert fault.value.code == -32600
    await client.cancel("same")
    with pytest.raises(Fault) as fault:
        await client.result("same")
    assert fault.value.code == -32800
    await client.send("test/echo", {"text": "once more"}, id="same")
    assert await client.result("same") == {"text": "once more"}


async def test_a_request_cancelled_before_it_began_is_answered_and_forgotten(client: WireClient) -> None:
    request = encoded({"jsonrpc": "2.0", "id": "early", "method": "test/nap", "params": {"s": 30}})
    cancel = encoded({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "early"}})
    for _ in range(3):
        await client.raw(frame(request) + frame(cancel))
        with pytest.raises(Fault) as fault:
            await client.result("early")
        assert fault.value.code == -32800
    assert await client.request("test/echo", {"text": "x"}) == {"text": "x"}


async def test_too_many_requests_at_once_are_refused_and_none_is_lost(client: WireClient) -> None:
    nap = [encoded({"jsonrpc": "2.0", "id": f"n{n}", "method": "test/nap", "params": {"s": 30}}) for n in range(1024)]
    await client.raw(b"".join(map(frame, nap)))
    with pytest.raises(Fault) as fault:
        await client.request("test/echo", {"text": "one more"})
    assert fault.value.code == -32015
    assert fault.value.data == {"code": "too_large", "limit": 1024}
    for number in range(1024):
        await client.cancel(f"n{number}")
    for number in range(1024):
        with pytest.raises(Fault, match="-32800"):
            await client.result(f"n{number}")
    assert await client.request("test/echo", {"text": "now"}) == {"text": "now"}


async def test_an_unexpected_error_names_only_its_place_in_the_log(client: WireClient) -> None:
    with pytest.raises(Fault) as fault:
        await client.request("test/boom", {"text": "x"})
    assert fault.value.code == -32603
    assert isinstance(fault.value.data, dict)
    (reference,) = fault.value.data.values()
    assert "secret" not in json.dumps(client.received[-1])
    assert str(Path(__file__).parents[2]) not in json.dumps(client.received[-1])

    def logged() -> list[Object]:
        return [line for line in client.log if line.get("reference") == reference]

    await client.until(lambda: bool(logged()))
    assert "secret" in str(logged()[0]["traceback"])
    health = await client.request("health/get")
    assert isinstance(health, dict)
    assert isinstance(health["last_errors"], list)
    (shown,) = health["last_errors"]
    assert isinstance(shown, dict)
    assert (shown["reference"], shown["where"], shown["error"]) == (reference, "test/boom", "KeyError")


async def test_a_result_that_no_json_can_hold_is_an_error_and_not_silence(client: WireClient) -> None:
    with pytest.raises(Fault) as fault:
        await client.request("test/unsendable")
    assert fault.value.code == -32603
    assert await client.request("test/echo", {"text": "x"}) == {"text": "x"}


async def test_an_error_of_the_protocol_carries_its_code_and_fields(client: WireClient) -> None:
    with pytest.raises(Fault) as fault:
        await client.request("test/gap")
    assert (fault.value.code, fault.value.data) == (-32010, {"code": "cursor_gap", "cursor": 7})


async def test_opaque_content_is_passed_on_unjudged(client: WireClient) -> None:
    async def shown(content: bytes) -> str:
        await client.raw(
            frame(b'{"jsonrpc":"2.0","id":"o","method":"test/opaque","params":{"content":' + content + b"}}")
        )
        result = await client.result("o")
        assert isinstance(result, dict)
        return str(result["shown"])

    assert await shown(b'{"a": [1, null, "x"]}') == "{'a': [1, None, 'x']}"
    assert await shown(b'{"a": "\\ud800", "b": 1e999}') == "{'a': '\\ud800', 'b': inf}"
    assert await shown(b"9" * 5000) == "inf"
    assert await shown(b'"text"') == "'text'"
    assert await shown(b"[" * 128 + b"]" * 128) == "[" * 128 + "]" * 128


async def test_opaque_content_nested_beyond_any_use_is_a_parse_error_with_the_id(client: WireClient) -> None:
    deep = b"[" * 129 + b"]" * 129
    await client.raw(frame(b'{"jsonrpc":"2.0","id":"d","method":"test/opaque","params":{"content":' + deep + b"}}"))
    with pytest.raises(Fault) as fault:
        await client.result("d")
    assert fault.value.code == -32700


async def test_a_lone_surrogate_elsewhere_is_replaced(client: WireClient) -> None:
    assert await client.request("test/echo", {"text": "a\ud800b"}) == {"text": "a\ufffdb"}


async def test_stray_prints_and_children_reach_stderr_and_not_the_wire(client: WireClient) -> None:
    assert await client.request("test/print") is None
    assert await client.request("test/echo", {"text": "x"}) == {"text": "x"}
    await client.until(lambda: {"a stray line", "and another", "from a child ''"} <= set(client.noise))


async def test_the_host_answers_the_sidecar(tmp_path: Path) -> None:
    async def answer(params: Object) -> Object:
        return {"text": f"you said {params['text']}", "and": "more than the protocol knows"}

    async with started(ECHO, answers={"host/ask": answer}) as client:
        await client.initialize(tmp_path)
        assert await client.request("test/ask", {"text": "hi", "timeout_s": 10}) == {
            "text": "you said hi",
            "failure": None,
        }


async def test_the_hosts_errors_and_nonsense_reach_the_one_who_asked(tmp_path: Path) -> None:
    async def answer(params: Object) -> Object:
        if params["text"] == "error":
            raise Fault(-32050, "no model")
        return {"text": 5}

    async with started(ECHO, answers={"host/ask": answer}) as client:
        await client.initialize(tmp_path)

        async def failure(text: str) -> object:
            result = await client.request("test/ask", {"text": text, "timeout_s": 10})
            assert isinstance(result, dict)
            return result["failure"]

        assert await failure("error") == "-32050 no model"
        assert await failure("nonsense") == "-32602 result.text: Expected `str`, got `int`"


async def test_a_request_that_timed_out_is_cancelled_at_the_host_and_its_late_reply_harms_nothing(
    tmp_path: Path,
) -> None:
    late = anyio.Event()

    async def answer(_params: Object) -> Object:
        with anyio.CancelScope(shield=True):  # a host that does not heed the cancellation
            await late.wait()
        return {"text": "too late"}

    async with started(ECHO, answers={"host/ask": answer}) as client:
        await client.initialize(tmp_path)
        try:
            result = await client.request("test/ask", {"text": "x", "timeout_s": 0.05})
            assert result == {"text": None, "failure": "timeout"}
            (asked,) = [one["id"] for one in client.received if one.get("method") == "host/ask"]
            assert await client.notification("$/cancelRequest") == {"id": asked}
        finally:
            late.set()
        assert await client.request("test/echo", {"text": "x"}) == {"text": "x"}
        await client.raw(frame(encoded({"jsonrpc": "2.0", "id": asked, "result": {"text": "again"}})))
        assert await client.request("test/echo", {"text": "x"}) == {"text": "x"}


async def test_a_reply_with_the_id_of_the_hosts_own_request_answers_nothing(client: WireClient) -> None:
    nap = await client.send("test/nap", {"s": 0.2}, id="mine")
    await client.raw(frame(encoded({"jsonrpc": "2.0", "id": "mine", "result": {"text": "from the wrong side"}})))
    assert await client.request("test/echo", {"text": "x"}) == {"text": "x"}
    assert await client.result(nap) == {"text": "rested"}


async def test_cancelling_a_request_cancels_what_it_asked_of_the_host(tmp_path: Path) -> None:
    async def answer(_params: Object) -> Object:
        await anyio.sleep(60)
        return {"text": "never"}

    async with started(ECHO, answers={"host/ask": answer}) as client:
        await client.initialize(tmp_path)
        id = await client.send("test/ask", {"text": "x", "timeout_s": 60})
        await client.until(lambda: any(one.get("method") == "host/ask" for one in client.received))
        await client.cancel(id)
        with pytest.raises(Fault) as fault:
            await client.result(id)
        assert fault.value.code == -32800
        await client.notification("$/cancelRequest")


async def test_the_hosts_request_may_not_take_the_id_of_one_of_the_sidecars_own(tmp_path: Path) -> None:
    async def answer(_params: Object) -> Object:
        await client.send("test/echo", {"text": "x"}, id=asked()[0])
        with pytest.raises(Fault, match="in flight already"):
            await client.stray()
        return {"text": "still answered"}

    async with started(ECHO, answers={"host/ask": answer}) as client:

        def asked() -> list[str]:
            return [str(one["id"]) for one in client.received if one.get("method") == "host/ask"]

        await client.initialize(tmp_path)
        assert await client.request("test/ask", {"text": "x", "timeout_s": 10}) == {
            "text": "still answered",
            "failure": None,
        }
