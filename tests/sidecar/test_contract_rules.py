"""Rules that need more than the kernel: what the real process keeps between one round and the next."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from foldstate.kernel.values import Disposed, Json
from tests.support.session import BEGAN, ask, at, rows
from tests.support.wire import Fault, Object, WireClient, started

pytestmark = pytest.mark.anyio


async def opened(client: WireClient, folder: Path) -> None:
    await client.initialize(folder, clock="manual", now=BEGAN, config={"editor": "off"})
    await ask(client, "session/open", {"session": "s"})


async def post(client: WireClient, *names: str) -> None:
    for name in names:
        event: Json = {"id": name, "channel": "mail", "from": "Ann", "at": BEGAN, "text": f"Words of {name}."}
        await client.request("event/post", {"session": "s", "event": event})


async def begin(client: WireClient) -> Object:
    return cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])


async def submit(client: WireClient, begun: Object, output: Json) -> Object:
    return await ask(client, "round/submit", {"session": "s", "batch_id": begun["batch_id"], "output": output})


def disposed(event: str, disposition: Disposed) -> Json:
    return {"event": event, "disposition": disposition, "why": "It says so.", "related": []}


def answer(dispositions: list[Json], *declarations: Json) -> Json:
    return {"dispositions": dispositions, "batch": {"declarations": list(declarations), "acknowledges": []}}


def item(name: str, relation: str = "new", **more: Json) -> Json:
    return {"id": name, "relation": relation, "title": name, "weight": "low", "kind": "fyi", **more}


def ids(events: Json) -> list[Json]:
    return [event["id"] for event in rows(events)]


async def test_r7_a_review_shows_the_newest_20_that_were_not_taken_up(tmp_path: Path) -> None:
    names = [f"m-{number:02}" for number in range(23)]
    async with started() as client:
        await opened(client, tmp_path)
        await post(client, *names)
        put_off = await begin(client)
        assert put_off["deferred"] is None
        await submit(client, put_off, answer([disposed(name, "deferred") for name in names]))
        review = await begin(client)
        assert cast(Object, review["signal"])["type"] == "review"
        assert (review["events"], ids(review["deferred"])) == ([], names[3:])
        cites: Json = [{"channel": "mail", "ref": "event:m-22", "quote": "Words of m-22."}]
        taken = answer([disposed("m-21", "noise"), disposed("m-20", "deferred")], item("bike", sources=cites))
        assert (await submit(client, review, taken))["accepted"] is True
        assert ids((await begin(client))["deferred"]) == names[1:21]


async def test_r7_the_first_disposition_stays_in_history(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await post(client, "m-1")
        for disposition in ("deferred", "noise"):
            begun = await begin(client)
            await submit(client, begun, answer([disposed("m-1", disposition)]))
        history = rows((await ask(client, "history/list", {"session": "s"}))["batches"])
        assert [[one["disposition"] for one in rows(batch["dispositions"])] for batch in history] == [
            ["deferred"],
            ["noise"],
        ]


async def test_r8_dispositions_stand_in_history_also_where_nothing_changed(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await post(client, "m-1")
        receipt = cast(
            Object, (await submit(client, await begin(client), answer([disposed("m-1", "noise")])))["receipt"]
        )
        assert (receipt["result"], receipt["revision"]) == ("checked", 0)
        (batch,) = rows((await ask(client, "history/list", {"session": "s"}))["batches"])
        assert batch["dispositions"] == [disposed("m-1", "noise")]
        assert ids((await begin(client))["events"]) == []


async def test_r9_any_number_of_refusals_leave_the_round_open_and_the_state_as_it_was(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await post(client, "m-1")
        begun = await begin(client)
        for _ in range(4):
            refused = await submit(client, begun, answer([]))
            assert cast(Object, refused["error"])["code"] == "disposition_missing"
        assert (await ask(client, "history/list", {"session": "s"}))["batches"] == []
        assert (await submit(client, begun, answer([disposed("m-1", "noise")])))["accepted"] is True


async def test_r9_a_stale_answer_ends_its_round_and_the_events_wait_in_order(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        bare: Object = {"session": "s", "now": at(1), "base_revision": None}
        batch: Json = {"declarations": [item("trip")], "acknowledges": []}
        await client.request("batch/submit", {**bare, "batch_id": "b-1", "batch": batch})
        await post(client, "m-1", "m-2")
        begun = await begin(client)
        later: Json = {"declarations": [item("trip", "supersedes:trip", title="Trip home")], "acknowledges": []}
        await client.request("batch/submit", {**bare, "batch_id": "b-2", "batch": later})
        output = answer(
            [disposed("m-1", "used"), disposed("m-2", "noise")], item("trip", "supersedes:trip", title="Trip")
        )
        refused = await submit(client, begun, output)
        assert cast(Object, refused["error"])["code"] == "stale_base"
        with pytest.raises(Fault, match="round_unknown"):
            await submit(client, begun, output)
        assert ids((await begin(client))["events"]) == ["m-1", "m-2"]


async def test_r9_a_round_ends_with_its_process_and_its_events_wait(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await post(client, "m-1")
        begun = await begin(client)
        client.kill()
        await client.exit_code()
    async with started() as client:
        await opened(client, tmp_path)
        with pytest.raises(Fault, match="round_unknown"):
            await submit(client, begun, answer([disposed("m-1", "noise")]))
        assert ids((await begin(client))["events"]) == ["m-1"]


async def test_b5_a_batch_sent_again_after_a_restart_is_a_replay_and_other_content_a_conflict(tmp_path: Path) -> None:
    batch: Object = {"declarations": [item("trip")], "acknowledges": []}
    params: Object = {"session": "s", "batch_id": "b-1", "now": at(1), "batch": batch}
    async with started() as client:
        await opened(client, tmp_path)
        first = cast(Object, (await ask(client, "batch/submit", params))["receipt"])
        client.kill()
        await client.exit_code()
    async with started() as client:
        await opened(client, tmp_path)
        again = await ask(client, "batch/submit", params)
        assert again["receipt"] == {**first, "replayed": True}
        other: Json = {**batch, "declarations": [item("journey")]}
        refused = await ask(client, "batch/submit", {**params, "batch": other})
        assert cast(Object, refused["error"])["code"] == "batch_conflict"
        assert [one["batch_id"] for one in rows((await ask(client, "history/list", {"session": "s"}))["batches"])] == [
            "b-1"
        ]
