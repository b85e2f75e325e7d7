"""What a session takes in, keeps and shows, over the wire of the real process and across its deaths."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import cast

import anyio
import pytest

from foldstate.kernel.values import Json
from foldstate.sidecar.sessions.registry import OPEN_LIMIT
from foldstate.sidecar.store.names import database_path, surface_path
from tests.support.session import BEGAN, BEGAN_MS, ask, at, entry, rows, said, send, take_all, turn
from tests.support.wire import Fault, Object, WireClient, started

pytestmark = pytest.mark.anyio


async def opened(client: WireClient, folder: Path, session: str = "s") -> Object:
    await client.initialize(folder, clock="manual", now=BEGAN, config={"editor": "off"})
    return await ask(client, "session/open", {"session": session})


async def waiting(client: WireClient, session: str = "s") -> list[Object]:
    """The events that wait, as a round that is cancelled at once shows them."""
    begun = cast(Object, (await ask(client, "round/begin", {"session": session}))["round"])
    await client.request("round/cancel", {"session": session, "batch_id": begun["batch_id"]})
    return rows(begun["events"])


async def judged(client: WireClient, session: str = "s") -> Object:
    begun = cast(Object, (await ask(client, "round/begin", {"session": session}))["round"])
    answer: Object = {"session": session, "batch_id": begun["batch_id"], "output": take_all(begun)}
    return await ask(client, "round/submit", answer)


async def test_entries_sent_again_become_no_second_event(tmp_path: Path) -> None:
    async with started() as client:
        assert (await opened(client, tmp_path))["cursor"] == -1
        first = await send(client, turn(0, "Ship it", "Yes."))
        again = await send(client, turn(0, "Ship it", "Yes."))
        assert len(cast("list[Json]", first["ledger"])) == 2
        assert again == {"cursor": 3, "ledger": []}
        assert [event["channel"] for event in await waiting(client)] == ["user", "agent"]


async def test_a_number_that_the_host_used_again_after_a_kill_is_a_new_fact(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, [said(0, "Ship it"), said(1, "and tell me")])
        again = await ask(client, "session/open", {"session": "s", "head": {"seq": 0, "time": BEGAN_MS}})
        assert (again["cursor"], again["resend_from"]) == (1, 1)
        other = cast(Object, {**said(1, "and tell the team"), "time": BEGAN_MS + 5000})
        await send(client, [other], after=0)
        texts = [event["text"] for event in await waiting(client)]
        assert texts == ["Ship it", "and tell me", "and tell the team"]
        begun = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        coverage = cast(Object, cast(Object, begun["signal"])["coverage"])
        assert cast(Object, coverage["user"])["status"] == "unknown"


async def test_a_hole_is_refused_with_the_cursor_and_taken_on_demand_as_unknown(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, [said(0, "Ship it")])
        params: Object = {"session": "s", "after": 9, "through": 10, "events": [said(10, "And now?")]}
        with pytest.raises(Fault) as gap:
            await client.request("session/events", params)
        assert gap.value.code == -32010
        assert gap.value.data == {"code": "cursor_gap", "cursor": 0}
        await client.request("session/events", {**params, "accept_gap": True})
        begun = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        coverage = cast(Object, cast(Object, begun["signal"])["coverage"])
        assert cast(Object, coverage["user"])["status"] == "unknown"
        await client.request("round/cancel", {"session": "s", "batch_id": begun["batch_id"]})
        assert "coverage" in cast(str, (await ask(client, "surface/get", {"session": "s"}))["text"])
        await judged(client)
        assert "coverage" not in cast(str, (await ask(client, "surface/get", {"session": "s"}))["text"])


async def test_what_is_left_aside_is_counted_by_its_kind(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        params: Object = {
            "session": "s",
            "after": -1,
            "through": 9,
            "events": [entry(4, "novel/thing", {"x": 1})],
            "skipped": {"step/start": 3, "request/header": 2},
        }
        await client.request("session/events", params)
        skipped = (await ask(client, "health/get", {}))["skipped"]
        assert skipped == {"novel/thing": 1, "request/header": 2, "step/start": 3}


async def test_what_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    texts: list[str] = []
    for life in range(3):
        async with started() as client:
            cursor = cast(int, (await opened(client, tmp_path))["cursor"])
            for step in range(5):
                text = f"wish {life}.{step}"
                await send(client, [said(cursor + 1, text)], after=cursor)
                cursor += 1
                texts.append(text)
            client.kill()
            await client.exit_code()
    async with started() as client:
        assert (await opened(client, tmp_path))["cursor"] == 14
        assert [event["text"] for event in await waiting(client)] == texts


async def test_a_state_is_the_same_after_a_restart_byte_for_byte_and_so_is_its_surface(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        await judged(client)
        state = await ask(client, "state/get", {"session": "s", "now": at(60)})
        surface = await ask(client, "surface/get", {"session": "s"})
    async with started() as client:
        await opened(client, tmp_path)
        assert await ask(client, "state/get", {"session": "s", "now": at(60)}) == state
        assert await ask(client, "surface/get", {"session": "s"}) == surface
    kept = surface_path(tmp_path / "sessions", "s").read_text()
    assert cast(str, surface["text"]).splitlines()[0] in kept


async def test_an_earlier_revision_is_what_its_batch_left(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "First wish", "Yes."))
        await judged(client)
        first = await ask(client, "state/get", {"session": "s", "now": at(60)})
        await send(client, turn(4, "Second wish", "Yes.", 2), after=3)
        await judged(client)
        assert await ask(client, "state/get", {"session": "s", "now": at(60), "revision": 1}) == first
        empty = await ask(client, "state/get", {"session": "s", "revision": 0})
        assert cast(Object, empty["root"])["items"] == []
        with pytest.raises(Fault, match="revision 2"):
            await client.request("state/get", {"session": "s", "revision": 3})


async def test_a_second_owner_only_reads_and_says_so_and_takes_over_when_the_first_has_ended(tmp_path: Path) -> None:
    async with started() as second:
        async with started() as first:
            await opened(first, tmp_path)
            await send(first, turn(0, "Ship it", "Yes."))
            await judged(first)
            reader = await opened(second, tmp_path)
            assert reader["read_only"] is True
            assert [one["code"] for one in rows(reader["degraded"])] == ["read_only"]
            state = await ask(second, "state/get", {"session": "s"})
            assert len(rows(cast(Object, state["root"])["items"])) == 1
            with pytest.raises(Fault, match="read_only"):
                await send(second, [said(4, "And now?")], after=3)
        again = await ask(second, "session/open", {"session": "s"})
        assert again["read_only"] is False
        await send(second, [said(4, "And now?")], after=3)
        assert [event["text"] for event in await waiting(second)] == ["And now?"]


async def test_evidence_is_the_events_own_words_in_pieces_with_the_digest_of_the_whole(tmp_path: Path) -> None:
    text = "签证材料还缺银行流水。" * 500
    async with started() as client:
        await opened(client, tmp_path)
        (event,) = cast("list[Json]", (await send(client, [said(0, text)]))["ledger"])
        first = await ask(client, "evidence/get", {"session": "s", "ref": f"event:{event}"})
        assert len(cast(str, first["text"])) == 2400
        assert (first["truncated"], first["length"]) == (True, len(text))
        assert first["digest"] == hashlib.sha256(text.encode()).hexdigest()
        read = ""
        while len(read) < len(text):
            part = await ask(client, "evidence/get", {"session": "s", "ref": f"event:{event}", "offset": len(read)})
            read += cast(str, part["text"])
        assert read == text
        with pytest.raises(Fault, match="ref_not_found"):
            await client.request("evidence/get", {"session": "s", "ref": "event:none"})


async def test_an_item_shows_its_history_and_its_events_also_once_withdrawn(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        await judged(client)
        leave: Json = {"declarations": [{"id": "ask-0", "relation": "withdraw", "reason": "Over."}], "acknowledges": []}
        await client.request("batch/submit", {"session": "s", "batch_id": "b", "now": at(5), "batch": leave})
        item = await ask(client, "item/get", {"session": "s", "item": "ask-0"})
        assert [step["change"] for step in rows(item["history"])] == ["created", "withdrawn"]
        assert [event["text"] for event in rows(item["events"])] == ["Ship it"]
        assert cast(Object, item["item"])["status"] == "withdrawn"
        with pytest.raises(Fault, match="item_not_found"):
            await client.request("item/get", {"session": "s", "item": "none"})


async def test_a_posted_event_is_taken_once_and_never_as_the_hosts_own(tmp_path: Path) -> None:
    mail: Object = {"id": "m-1", "channel": "email", "from": "agent", "at": BEGAN, "text": "Two papers are missing."}
    async with started() as client:
        await opened(client, tmp_path)
        params: Object = {"session": "s", "event": mail}
        assert await client.request("event/post", params) == {"event": "m-1", "duplicate": False}
        assert await client.request("event/post", params) == {"event": "m-1", "duplicate": True}
        with pytest.raises(Fault, match="event_conflict"):
            await client.request("event/post", {"session": "s", "event": {**mail, "text": "Three."}})
        for posing in ({"channel": "user"}, {"channel": "feedback"}, {"id": "h:1"}):
            with pytest.raises(Fault) as refused:
                await client.request("event/post", {"session": "s", "event": {**mail, **cast(Object, posing)}})
            assert refused.value.code == -32602
        assert [event["text"] for event in await waiting(client)] == ["Two papers are missing."]


async def test_a_subagents_facts_belong_to_its_root_and_each_is_told_once(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        child: Object = {"session": "c", "origin": "subagent", "parent": "s"}
        assert (await ask(client, "session/open", child))["session"] == "s"
        start: Object = {"session": "s", "child": "c", "run": "r1", "label": "finder", "at": BEGAN}
        await client.request("subagent/started", start)
        end: Object = {**start, "stop_reason": "completed", "closing": "found 42", "at": at(5)}
        first = await ask(client, "subagent/settled", end)
        again = await ask(client, "subagent/settled", end)
        assert (first["duplicate"], again["duplicate"]) == (False, True)
        assert first["event"] == again["event"]
        assert [event["channel"] for event in await waiting(client)] == ["subagent", "subagent"]


async def test_a_fork_begins_empty_with_one_event_that_names_its_parent(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        for _ in range(2):
            await client.request("session/open", {"session": "f", "parent": "s"})
        skip: Object = {"session": "f", "after": -1, "through": 45, "events": [], "skipped": {"inherited": 46}}
        await client.request("session/events", skip)
        (event,) = await waiting(client, "f")
        assert "session s" in cast(str, event["text"])


async def test_a_damaged_file_is_kept_whole_beside_a_fresh_start_that_is_told(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
    path = database_path(tmp_path / "sessions", "s")
    path.write_bytes(b"no database at all" * 100)
    async with started() as client:
        again = await opened(client, tmp_path)
        assert again["cursor"] == -1
        (told,) = rows(again["degraded"])
        assert told["code"] == "damaged"
        kept = next(one for one in path.parent.iterdir() if "damaged" in one.name)
        assert kept.name in cast(str, told["message"])
        assert kept.read_bytes() == b"no database at all" * 100


async def test_only_so_many_files_are_open_and_every_session_still_answers(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        names = [f"s-{number}" for number in range(OPEN_LIMIT + 8)]
        for name in names:
            await client.request("session/open", {"session": name})
            await send(client, [said(0, f"for {name}")], session=name)
            await judged(client, name)
        assert len(held(client)) <= OPEN_LIMIT
        for name in names:
            state = await ask(client, "state/get", {"session": name})
            assert [item["title"] for item in rows(cast(Object, state["root"])["items"])] == [f"for {name}"]


async def test_a_request_that_is_cancelled_still_commits_and_sending_it_again_adds_nothing(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        params: Object = {"session": "s", "after": -1, "through": 0, "events": [said(0, "Ship it")]}
        number = await client.send("session/events", params)
        await client.cancel(number)
        try:
            await client.result(number)
        except Fault as fault:
            assert fault.code == -32800
        await client.request("session/events", params)
        assert [event["text"] for event in await waiting(client)] == ["Ship it"]


async def test_requests_of_many_tasks_at_once_are_each_answered_and_kept(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)

        async def post(number: int) -> None:
            event: Json = {"id": f"m-{number}", "channel": "ci", "from": "ci", "at": BEGAN, "text": f"run {number}"}
            await client.request("event/post", {"session": "s", "event": event})

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(post, number)
        assert (await ask(client, "health/get", {}))["pending_events"] == 100


def held(client: WireClient) -> set[Path]:
    """The session files that the process has open."""
    links = Path(f"/proc/{client.process.pid}/fd").iterdir()
    return {file for file in (link.readlink() for link in links) if file.suffix == ".sqlite"}


async def test_reads_beside_closing_and_opening_never_bring_the_process_down(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        for number in range(12):
            await send(client, turn(number * 4, "Ship it", "Yes.", number + 1), after=number * 4 - 1)
            await judged(client)
        for _ in range(20):
            asked = [await client.send("state/get", {"session": "s", "revision": 1}) for _ in range(3)]
            asked.append(await client.send("session/close", {"session": "s"}))
            asked.append(await client.send("session/open", {"session": "s"}))
            for request in asked:
                try:
                    await client.result(request)
                except Fault as fault:
                    assert fault.code == -32011


async def test_skipped_entries_are_counted_once_though_the_log_is_sent_again(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        params: Object = {"session": "s", "after": -1, "through": 5, "events": [], "skipped": {"step/start": 5}}
        await client.request("session/events", params)
        await client.request("session/events", params)
        await client.request("session/events", {**params, "after": 5, "through": 9, "skipped": {"step/start": 4}})
        assert (await ask(client, "health/get", {}))["skipped"] == {"step/start": 9}


async def test_every_event_is_in_one_signals_window_also_where_the_clock_was_set_back(tmp_path: Path) -> None:
    async def received(client: WireClient, cursor: int) -> list[Json]:
        await send(client, [said(cursor, "Ship it")], after=cursor - 1)
        begun = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        answer: Object = {"session": "s", "batch_id": begun["batch_id"], "output": take_all(begun)}
        await client.request("round/submit", answer)
        signal = cast(Object, begun["signal"])
        return [signal["received"], cast(Object, signal["window"])["from"], cast(Object, signal["window"])["to"]]

    async with started() as client:
        await opened(client, tmp_path)
        await ask(client, "clock/set", {"now": at(3600)})
        assert await received(client, 0) == [1, None, at(3600)]
        assert await received(client, 1) == [1, at(3600), at(3600)]
    async with started() as client:
        await opened(client, tmp_path)
        assert await received(client, 2) == [1, at(3600), at(3600)]


async def test_a_later_check_changes_nothing_of_what_an_earlier_revision_left(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "First wish", "Yes."))
        await judged(client)
        first = await ask(client, "state/get", {"session": "s", "revision": 1})
        await ask(client, "clock/set", {"now": at(60)})
        nothing: Json = {"declarations": [], "acknowledges": []}
        checked: Object = {"session": "s", "batch_id": "c", "now": at(60), "batch": nothing}
        assert cast(Object, (await ask(client, "batch/submit", checked))["receipt"])["result"] == "checked"
        assert await ask(client, "state/get", {"session": "s", "revision": 1}) == first
        assert (await ask(client, "state/get", {"session": "s"}))["last_checked_at"] == at(60)


async def test_a_file_that_is_damaged_while_it_is_open_is_set_aside_when_the_session_is_opened_again(
    tmp_path: Path,
) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        words: list[Json] = [said(seq, f"{seq} " + "And now? " * 300) for seq in range(300)]
        await send(client, words)  # more than the cache holds, so that it is read from the file again
        path = database_path(tmp_path / "sessions", "s")
        for file in (path, path.with_name(f"{path.name}-wal")):
            spoil(file)
        with pytest.raises(Fault) as unreadable:
            await waiting(client)
        assert unreadable.value.code == -32013
        again = await ask(client, "session/open", {"session": "s"})
        assert [one["code"] for one in rows(again["degraded"])] == ["damaged"]
        await send(client, turn(0, "Ship it", "Yes."))
        assert (await ask(client, "health/get", {}))["pending_events"] == 2


def spoil(file: Path) -> None:
    """Overwrites all of a file but the beginning that names its kind."""
    size = file.stat().st_size
    with file.open("r+b") as handle:
        handle.seek(4096)
        handle.write(b"\xff" * max(0, size - 4096))


async def test_what_intake_remembers_may_be_unreadable_and_the_session_still_opens(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
    with closing(sqlite3.connect(database_path(tmp_path / "sessions", "s"))) as other:
        other.execute("UPDATE intake SET state = ?", (b'{"version": 7}',))
        other.commit()
    async with started() as client:
        again = await opened(client, tmp_path)
        assert [one["code"] for one in rows(again["degraded"])] == ["damaged"]
        await send(client, turn(0, "Ship it", "Yes."))


async def test_a_folder_that_is_taken_away_harms_no_other_session_and_the_process_lives(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await client.request("session/open", {"session": "t"})
        await send(client, turn(0, "Ship it", "Yes."))
        shutil.rmtree(tmp_path / "sessions")
        with suppress(Fault):
            await client.request("session/close", {"session": "s"})
        assert (await ask(client, "health/get", {}))["sessions_open"] == 1
        await client.request("session/close", {"session": "t"})
        assert (await ask(client, "session/open", {"session": "s"}))["cursor"] == -1


async def test_sessions_whose_files_are_put_away_still_count(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        for number in range(OPEN_LIMIT + 8):
            await client.request("session/open", {"session": f"s-{number}"})
            await send(client, [said(0, "Ship it"), entry(1, "novel/thing", {})], session=f"s-{number}")
        health = await ask(client, "health/get", {})
        assert (health["pending_events"], health["skipped"]) == (OPEN_LIMIT + 8, {"novel/thing": OPEN_LIMIT + 8})


async def test_rounds_that_were_forgotten_hold_no_file_open_for_ever(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        for number in range(OPEN_LIMIT + 8):
            await client.request("session/open", {"session": f"s-{number}"})
            await client.request("round/begin", {"session": f"s-{number}"})
        await ask(client, "clock/set", {"now": at(3600)})
        await client.request("session/open", {"session": "one-more"})
        assert len(held(client)) <= OPEN_LIMIT


async def test_an_opening_whose_asker_went_away_locks_nobody_out(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        for number in range(30):
            name = f"s-{number}"
            opening = await client.send("session/open", {"session": name})
            await client.cancel(opening)
            with suppress(Fault):
                await client.result(opening)
            assert (await ask(client, "session/open", {"session": name}))["read_only"] is False


async def test_the_surfaces_file_is_written_as_soon_as_it_can_be(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        path = surface_path(tmp_path / "sessions", "s")
        path.unlink()
        path.mkdir()
        await send(client, turn(0, "Ship it", "Yes."))
        await judged(client)
        assert [one["where"] for one in rows((await ask(client, "health/get", {}))["last_errors"])] == ["surface file"]
        path.rmdir()
        await send(client, [said(4, "And now?")], after=3)
        assert json.loads(path.read_text())["revision"] == 1


async def test_a_grandchilds_facts_reach_the_root_whichever_of_its_parents_is_told_first(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await client.request("session/open", {"session": "gc", "origin": "subagent", "parent": "c"})
        await client.request("session/open", {"session": "c", "origin": "subagent", "parent": "s"})
        await client.request("subagent/started", {"session": "c", "child": "gc", "run": "r", "at": BEGAN})
        assert len(await waiting(client)) == 1
        await client.request("session/close", {"session": "gc"})


async def test_a_reader_sees_what_the_owner_has_written_since(tmp_path: Path) -> None:
    async with started() as owner, started() as reader:
        await opened(owner, tmp_path)
        await opened(reader, tmp_path)
        await send(owner, turn(0, "Ship it", "Yes."))
        await judged(owner)
        state = await ask(reader, "state/get", {"session": "s"})
        assert [item["title"] for item in rows(cast(Object, state["root"])["items"])] == ["Ship it"]


async def test_after_shutdown_nothing_is_opened_any_more(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path)
        await client.request("shutdown")
        with pytest.raises(Fault) as refused:
            await client.request("session/open", {"session": "t"})
        assert refused.value.code == -32600


@pytest.mark.parametrize("channel", ["User", "user ", "us\u200ber", "a\nb", ""])
async def test_no_posted_channel_looks_like_another(channel: str, tmp_path: Path) -> None:
    mail: Object = {"channel": channel, "from": "x", "at": BEGAN, "text": "Two papers are missing."}
    async with started() as client:
        await opened(client, tmp_path)
        with pytest.raises(Fault) as refused:
            await client.request("event/post", {"session": "s", "event": mail})
        assert refused.value.code == -32602
