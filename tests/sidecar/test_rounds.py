"""When the editor is called, what it is told, and what becomes of its answers: the real process, on a manual clock."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from foldstate.kernel.values import Json
from tests.support.session import BEGAN, Editor, ask, at, round_of, rows, said, send, take_all, turn
from tests.support.wire import Fault, Object, WireClient, started

pytestmark = pytest.mark.anyio


async def opened(client: WireClient, folder: Path, **config: Json) -> None:
    await client.initialize(folder, clock="manual", now=BEGAN, config=cast(Json, config))
    await ask(client, "session/open", {"session": "s"})


async def titles(client: WireClient) -> list[Json]:
    state = await ask(client, "state/get", {"session": "s"})
    return [item["title"] for item in rows(cast(Object, state["root"])["items"])]


async def test_a_turn_that_has_ended_becomes_state_after_three_quiet_seconds(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship the release", "Working on it."))
        early = await ask(client, "clock/set", {"now": at(2.9)})
        assert early["fired"] == []
        due = await ask(client, "clock/set", {"now": at(3)})
        assert [one["reasons"] for one in rows(due["fired"])] == [["events"]]
        await client.notification("state/changed")
        assert await titles(client) == ["Ship the release"]


async def test_while_a_turn_is_open_the_first_event_waits_two_minutes_at_most(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship the release", "Working on it.")[:2])
        assert (await ask(client, "clock/set", {"now": at(119)}))["fired"] == []
        assert (await ask(client, "clock/set", {"now": at(120)}))["fired"] != []
        await client.notification("state/changed")
        assert await titles(client) == ["Ship the release"]


async def test_what_arrives_while_a_round_runs_is_joined_into_the_next_one(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "First wish", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await send(client, turn(4, "Second wish", "Yes.", 2), after=3)
        await client.notification("state/changed")
        await ask(client, "clock/set", {"now": at(10)})
        await client.notification("state/changed", lambda told: told["revision"] == 2)
        assert [len(rows(round_of(asked)["events"])) for asked in editor.asked] == [2, 2]
        assert await titles(client) == ["Second wish", "First wish"]


async def test_a_refused_answer_goes_back_with_its_faults_and_the_mended_one_counts(tmp_path: Path) -> None:
    editor = Editor("I think all is well.", take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship the release", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await client.notification("state/changed")
        first, second = editor.asked
        assert (first["attempt"], second["attempt"]) == (1, 2)
        assert rows(second["messages"])[0] == rows(first["messages"])[0]
        assert rows(second["messages"])[1] == {"role": "assistant", "text": "I think all is well."}
        assert "invalid_output" in cast(str, rows(second["messages"])[2]["text"])
        assert second["system"] == first["system"]


async def test_an_editor_refused_three_times_is_left_alone_for_five_seconds_and_loses_nothing(tmp_path: Path) -> None:
    editor = Editor("no", "no", "no", take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship the release", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await client.notification("surface/changed", lambda told: told["text"] != "")
        assert len(editor.asked) == 3
        assert (await ask(client, "clock/set", {"now": at(7.9)}))["fired"] == []
        assert (await ask(client, "clock/set", {"now": at(8)}))["fired"] != []
        await client.notification("state/changed")
        assert await titles(client) == ["Ship the release"]
        healthy = await ask(client, "health/get", {})
        assert healthy["rounds"] == {"accepted": 1, "rejected": 3, "failed": 1, "skipped": 0}
        assert healthy["pending_events"] == 0


async def test_an_empty_answer_is_a_failure_with_its_own_words(tmp_path: Path) -> None:
    editor = Editor(" \n", take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship the release", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await client.notification("surface/changed", lambda told: told["text"] != "")
        health = await ask(client, "health/get", {})
        assert cast(Object, health["rounds"])["failed"] == 1
        assert health["pending_events"] == 2


async def test_with_the_editor_off_only_the_wire_begins_rounds(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, editor="off")
        await send(client, turn(0, "Ship the release", "Yes."))
        assert (await ask(client, "clock/set", {"now": at(500)}))["fired"] == []
        assert await client.request("round/finish", {"session": "s", "timeout_s": 1}) == {"receipt": None}
        begun = await ask(client, "round/begin", {"session": "s"})
        given = cast(Object, begun["round"])
        receipt = await ask(
            client, "round/submit", {"session": "s", "batch_id": given["batch_id"], "output": take_all(given)}
        )
        assert receipt["accepted"] is True
        assert await titles(client) == ["Ship the release"]


async def test_r9_an_event_is_in_one_open_round_at_most_and_waits_again_when_that_is_cancelled(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, editor="off")
        await send(client, turn(0, "Ship the release", "Yes."))
        first = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        second = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        assert len(rows(first["events"])) == 2
        assert second["events"] == []
        await client.request("round/cancel", {"session": "s", "batch_id": first["batch_id"]})
        third = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        assert third["events"] == first["events"]


async def test_b5_an_accepted_answer_sent_again_is_a_replay_and_another_one_is_a_conflict(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, editor="off")
        await send(client, turn(0, "Ship the release", "Yes."))
        given = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        answer: Object = {"session": "s", "batch_id": given["batch_id"], "output": take_all(given)}
        first = await ask(client, "round/submit", answer)
        again = await ask(client, "round/submit", answer)
        assert again["receipt"] == {**cast(Object, first["receipt"]), "replayed": True}
        other: Object = {"dispositions": [], "batch": {"declarations": [], "acknowledges": []}}
        refused = await ask(client, "round/submit", {**answer, "output": other})
        assert cast(Object, refused["error"])["code"] == "batch_conflict"


async def test_r9_a_round_older_than_ten_minutes_has_ended_and_its_events_wait(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, editor="off")
        await send(client, turn(0, "Ship the release", "Yes."))
        given = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        await ask(client, "clock/set", {"now": at(600)})
        with pytest.raises(Fault, match="round_unknown"):
            await client.request(
                "round/submit", {"session": "s", "batch_id": given["batch_id"], "output": take_all(given)}
            )
        later = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        assert later["events"] == given["events"]


async def test_finish_lets_one_round_run_at_once_and_says_what_it_did(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship the release", "Yes."))
        finished = await ask(client, "round/finish", {"session": "s", "timeout_s": 10})
        assert cast(Object, finished["receipt"])["result"] == "commit"
        nothing = await ask(client, "round/finish", {"session": "s", "timeout_s": 10})
        assert nothing["receipt"] is None
        assert len(editor.asked) == 1


async def test_finish_gives_up_in_time_and_its_events_wait_for_the_next_process(tmp_path: Path) -> None:
    async def hang(_params: Object) -> Object:
        from anyio import sleep_forever

        await sleep_forever()
        raise AssertionError("unreachable")

    async with started(answers={"editor/complete": hang}) as client:
        await client.initialize(tmp_path)
        await ask(client, "session/open", {"session": "s"})
        await send(client, turn(0, "Ship the release", "Yes."))
        assert (await ask(client, "round/finish", {"session": "s", "timeout_s": 0.2}))["receipt"] is None
        await client.notification("$/cancelRequest")
        begun = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        assert len(rows(begun["events"])) == 2
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await ask(client, "round/finish", {"session": "s", "timeout_s": 10})
        assert await titles(client) == ["Ship the release"]


async def test_the_language_of_the_prompt_is_the_users(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, [said(0, "帮我修一下 build.py 的报错")])
        await ask(client, "round/finish", {"session": "s", "timeout_s": 10})
        assert "编辑" in cast(str, editor.asked[0]["system"])


async def test_the_rules_edit_without_asking_the_host_for_a_model(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path, editor="rules")
        health = await ask(client, "health/get", {})
        assert health["editor"] == "rules"
        await ask(client, "subagent/started", {"session": "s", "child": "c", "run": "r", "label": "docs", "at": BEGAN})
        await send(client, turn(0, "Ship the release", "Yes."))
        receipt = cast(Object, (await ask(client, "round/finish", {"session": "s", "timeout_s": 10}))["receipt"])
        assert receipt["result"] == "commit"
        assert await titles(client) == ["Running: docs"]
        batches = rows((await ask(client, "history/list", {"session": "s"}))["batches"])
        given = [one["disposition"] for batch in batches for one in rows(batch["dispositions"])]
        assert sorted(cast("list[str]", given)) == ["deferred", "deferred", "used"]
        assert editor.asked == []


async def test_a_failing_model_never_becomes_the_rules(tmp_path: Path) -> None:
    async def fail(_params: Object) -> Object:
        raise Fault(-32603, "no model")

    async with started(answers={"editor/complete": fail}) as client:
        await opened(client, tmp_path)
        await ask(client, "subagent/started", {"session": "s", "child": "c", "run": "r", "label": "docs", "at": BEGAN})
        finished = await ask(client, "round/finish", {"session": "s", "timeout_s": 10})
        assert finished["receipt"] is None
        assert await titles(client) == []
        health = await ask(client, "health/get", {})
        assert (health["editor"], health["pending_events"]) == ("model", 1)
