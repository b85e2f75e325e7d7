"""The driver where things go wrong around it: late answers, a busy file, others' rounds, a host that ends."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import anyio
import pytest

from foldstate.kernel.values import Json
from foldstate.sidecar.sessions.registry import OPEN_LIMIT
from foldstate.sidecar.store.names import database_path, surface_path
from tests.support.session import BEGAN, Editor, Held, ask, at, rows, send, take_all, turn
from tests.support.wire import Fault, Object, WireClient, started

pytestmark = pytest.mark.anyio


async def opened(client: WireClient, folder: Path, **config: Json) -> None:
    await client.initialize(folder, clock="manual", now=BEGAN, config=cast(Json, config))
    await ask(client, "session/open", {"session": "s"})


async def health(client: WireClient) -> Object:
    return await ask(client, "health/get", {})


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Another program holds the session's file for writing."""
    with closing(sqlite3.connect(database_path(folder / "sessions", "s"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_an_answer_to_a_round_that_grew_too_old_is_a_failure_and_the_events_are_asked_about_again(
    tmp_path: Path,
) -> None:
    editor = Held()
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await client.until(lambda: len(editor.asked) == 1)
        await ask(client, "clock/set", {"now": at(700)})
        editor.free.set()
        await client.notification("surface/changed", lambda told: "editor" in cast(str, told["text"]))
        await ask(client, "clock/set", {"now": at(706)})
        await client.notification("state/changed")
        assert (await health(client))["pending_events"] == 0


async def test_a_file_that_was_busy_for_a_while_stops_no_later_round(tmp_path: Path) -> None:
    editor = Held()
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await client.until(lambda: len(editor.asked) == 1)
        with busy(tmp_path):
            editor.free.set()
            await client.notification("surface/changed", lambda told: told["text"] != "", timeout_s=30)
        await ask(client, "clock/set", {"now": at(30)})
        await client.notification("state/changed")
        assert (await health(client))["pending_events"] == 0


async def test_while_somebody_elses_round_has_the_events_the_driver_rests_until_it_ends(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        await ask(client, "round/begin", {"session": "s"})
        assert (await ask(client, "clock/set", {"now": at(100)}))["fired"] == []
        assert cast(Object, (await health(client))["rounds"])["skipped"] == 0
        assert (await ask(client, "clock/set", {"now": at(600)}))["fired"] != []
        await client.notification("state/changed")


async def test_a_round_whose_asker_gave_up_before_it_began_keeps_no_events(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path, editor="off")
        await send(client, turn(0, "Ship it", "Yes."))
        with busy(tmp_path):
            begun = await client.send("round/begin", {"session": "s"})
            await client.cancel(begun)
            with pytest.raises(Fault):
                await client.result(begun)
        given = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        assert len(rows(given["events"])) == 2


async def test_a_finish_that_ran_out_of_time_before_its_round_began_keeps_no_events(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        with busy(tmp_path):
            assert (await ask(client, "round/finish", {"session": "s", "timeout_s": 0.2}))["receipt"] is None
        finished = await ask(client, "round/finish", {"session": "s", "timeout_s": 10})
        assert cast(Object, finished["receipt"])["result"] == "commit"


async def test_sessions_whose_events_call_their_editor_are_never_put_away(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        names = [f"s-{number}" for number in range(OPEN_LIMIT)]
        for name in names:
            await client.request("session/open", {"session": name})
            await send(client, turn(0, f"for {name}", "Yes."), session=name)
        fired = await client.send("clock/set", {"now": at(3)})
        another = await client.send("session/open", {"session": "one-more"})
        told = cast(Object, await client.result(fired))
        await client.result(another)
        assert [one["session"] for one in rows(told["fired"])] == sorted(names)
        await client.until(lambda: len(editor.asked) == len(names))
        for name in names:
            await client.notification("state/changed", told_of(name))


async def test_a_host_that_ends_in_the_middle_of_a_round_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    editor = Held()
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        await ask(client, "clock/set", {"now": at(3)})
        await client.until(lambda: len(editor.asked) == 1)
        client.close_input()
        assert await client.exit_code() == 0
    kept = json.loads(surface_path(tmp_path / "sessions", "s").read_text())
    assert kept["text"] == ""


async def test_an_event_that_arrives_during_the_last_failing_call_calls_again(tmp_path: Path) -> None:
    editor = Held(lambda _: "no answer")
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        editor.free.set()
        clock = 3.0
        for failures, pause in enumerate((5, 30, 300), start=1):
            await ask(client, "clock/set", {"now": at(clock)})
            await failed(client, failures)
            clock += pause
        editor.free = anyio.Event()
        await ask(client, "clock/set", {"now": at(clock)})
        await client.until(lambda: len(editor.asked) % 3 == 1 and len(editor.asked) > 9)
        await send(client, turn(4, "And now?", "Yes.", 2), after=3)
        asked = len(editor.asked)
        editor.free.set()
        await client.until(lambda: len(editor.asked) > asked + 2)


async def test_an_editor_that_used_up_its_pauses_is_left_alone_until_something_new_is_heard(tmp_path: Path) -> None:
    editor = Editor("no answer")
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        await send(client, turn(0, "Ship it", "Yes."))
        clock = 3.0
        for failures, pause in enumerate((5, 30, 300, 0), start=1):
            await ask(client, "clock/set", {"now": at(clock)})
            await failed(client, failures)
            clock += pause
        assert (await ask(client, "clock/set", {"now": at(5000)}))["fired"] == []
        asked = len(editor.asked)
        await send(client, turn(4, "And now?", "Yes.", 2), after=3)
        await client.until(lambda: len(editor.asked) > asked)


def told_of(name: str) -> Callable[[Object], bool]:
    return lambda told: told["session"] == name


async def failed(client: WireClient, times: int) -> None:
    """Waits until so many rounds have failed."""
    with anyio.fail_after(20):
        while cast(Object, (await health(client))["rounds"])["failed"] != times:
            await anyio.lowlevel.checkpoint()


async def test_what_came_due_is_told_in_the_order_of_its_time(tmp_path: Path) -> None:
    editor = Editor(take_all)
    async with started(answers=editor.handlers) as client:
        await opened(client, tmp_path)
        for number, name in enumerate(("c", "a", "b")):
            await client.request("session/open", {"session": name})
            await ask(client, "clock/set", {"now": at(number)})
            await send(client, turn(0, "Ship it", "Yes."), session=name)
        await client.request("state/get", {"session": "c"})
        told = await ask(client, "clock/set", {"now": at(60)})
        assert [(one["session"], one["at"]) for one in rows(told["fired"])] == [
            ("c", at(3)),
            ("a", at(4)),
            ("b", at(5)),
        ]


async def test_a_batch_under_an_open_rounds_id_is_refused(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, editor="off")
        await send(client, turn(0, "Ship it", "Yes."))
        given = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        batch: Json = {"declarations": [], "acknowledges": []}
        with pytest.raises(Fault, match="round/submit"):
            await client.request(
                "batch/submit", {"session": "s", "batch_id": given["batch_id"], "now": at(1), "batch": batch}
            )
        answer: Object = {"session": "s", "batch_id": given["batch_id"], "output": take_all(given)}
        assert (await ask(client, "round/submit", answer))["accepted"] is True
