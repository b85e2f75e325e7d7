"""The user's notes on items over the wire of the real process: kept once, shown, acknowledged, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from foldstate.kernel.values import Json
from tests.support.session import BEGAN, ask, at, rows
from tests.support.wire import Fault, Object, WireClient, started

pytestmark = pytest.mark.anyio

LATER = "2026-03-02T18:00:00+08:00"
"""A time of the user's own, after `BEGAN`."""


async def opened(client: WireClient, folder: Path, *items: str) -> None:
    """An open session that has these items in its root layer."""
    await client.initialize(folder, clock="manual", now=BEGAN, config={"editor": "off"})
    await ask(client, "session/open", {"session": "s"})
    if items:
        await batch(client, "setup", *(new(item) for item in items))


def new(item: str) -> Json:
    return {"id": item, "relation": "new", "title": item, "weight": "low", "kind": "fyi"}


def gone(item: str) -> Json:
    return {"id": item, "relation": "withdraw", "reason": "It is over."}


async def batch(client: WireClient, batch_id: str, *declarations: Json, acknowledges: tuple[str, ...] = ()) -> Object:
    """An accepted batch's receipt."""
    content: Json = {"declarations": list(declarations), "acknowledges": list(acknowledges)}
    params: Object = {"session": "s", "batch_id": batch_id, "now": at(60), "batch": content}
    answer = await ask(client, "batch/submit", params)
    assert answer["accepted"], answer
    return cast(Object, answer["receipt"])


async def note(client: WireClient, item: str, text: str, **more: Json) -> Object:
    return await ask(client, "annotation/add", {"session": "s", "item": item, "text": text, **more})


async def notes_on(client: WireClient, item: str, **more: Json) -> list[tuple[Json, Json]]:
    """The texts and statuses of the notes that the state shows on an item of the root layer."""
    state = await ask(client, "state/get", {"session": "s", **more})
    shown = next(one for one in rows(cast(Object, state["root"])["items"]) if one["id"] == item)
    return [(one["text"], one["status"]) for one in rows(shown["annotations"])]


async def pending(client: WireClient) -> list[Object]:
    """The notes that a round would be given, asked for by one that is cancelled at once."""
    begun = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
    await client.request("round/cancel", {"session": "s", "batch_id": begun["batch_id"]})
    return rows(begun["pending_annotations"])


async def test_a_note_shows_on_its_item_and_in_the_next_round(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        added = await note(client, "trip", "Ask about\nthe visa", at=LATER)
        assert added["duplicate"] is False
        expected = {
            "id": added["annotation"],
            "item": "trip",
            "text": "Ask about\nthe visa",
            "created_at": LATER,
            "status": "saved",
        }
        assert await pending(client) == [expected]
        shown = cast(Object, (await ask(client, "item/get", {"session": "s", "item": "trip"}))["item"])
        assert shown["annotations"] == [expected]
        assert await notes_on(client, "trip") == [("Ask about\nthe visa", "saved")]


async def test_a_note_without_a_time_has_the_sessions_own(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        await client.request("clock/set", {"now": at(90)})
        await note(client, "trip", "Now")
        assert [one["created_at"] for one in await pending(client)] == [at(90)]


async def test_the_same_key_is_the_same_note_also_after_a_restart(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        first = await note(client, "trip", "Look again", key="k-1", at=LATER)
        again = await note(client, "trip", "Look again", key="k-1")
        assert again == {**first, "duplicate": True}
        client.kill()
        await client.exit_code()
    async with started() as client:
        await opened(client, tmp_path)
        assert await note(client, "trip", "Look again", key="k-1") == {**first, "duplicate": True}
        assert [(one["id"], one["created_at"]) for one in await pending(client)] == [(first["annotation"], LATER)]


async def test_notes_without_a_key_are_each_a_new_one(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        added = [await note(client, "trip", "Look again") for _ in range(2)]
        assert [one["duplicate"] for one in added] == [False, False]
        assert len({cast(str, one["annotation"]) for one in added}) == len(await pending(client)) == 2


@pytest.mark.parametrize(("item", "text"), [("trip", "Look away"), ("visa", "Look again")])
async def test_a_key_that_stands_for_another_note_is_a_conflict_and_adds_nothing(
    tmp_path: Path, item: str, text: str
) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip", "visa")
        await note(client, "trip", "Look again", key="k-1")
        with pytest.raises(Fault, match="a key of its own") as conflict:
            await note(client, item, text, key="k-1")
        assert conflict.value.code == -32016
        assert [(one["item"], one["text"]) for one in await pending(client)] == [("trip", "Look again")]


@pytest.mark.parametrize(
    ("text", "mend"),
    [("", "white space"), (" \n", "white space"), ("字" * 501, "500"), ("a\tb", r"U\+0009"), ("a\u202eb", r"U\+202E")],
)
async def test_a_text_that_is_no_note_is_refused_by_its_path_with_how_to_mend_it(
    tmp_path: Path, text: str, mend: str
) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        with pytest.raises(Fault, match=mend) as fault:
            await note(client, "trip", text)
        assert fault.value.code == -32602
        assert cast(Object, fault.value.data)["path"] == "params.text"
        assert await pending(client) == []
        await note(client, "trip", "字" * 500)


async def test_a_note_on_an_item_that_never_was_is_refused(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        with pytest.raises(Fault, match="item_not_found"):
            await note(client, "nobody", "Look again")
        assert await pending(client) == []


async def test_a_round_acknowledges_a_note_and_the_next_one_is_not_given_it(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        seen = cast(str, (await note(client, "trip", "Seen", at=at(1)))["annotation"])
        await note(client, "trip", "Not seen", at=at(2))
        begun = cast(Object, (await ask(client, "round/begin", {"session": "s"}))["round"])
        output: Json = {"dispositions": [], "batch": {"declarations": [], "acknowledges": [seen]}}
        params: Object = {"session": "s", "batch_id": begun["batch_id"], "output": output}
        receipt = cast(Object, (await ask(client, "round/submit", params))["receipt"])
        assert (receipt["result"], receipt["revision"], receipt["acknowledged"]) == ("acknowledge", 2, [seen])
        assert [one["text"] for one in await pending(client)] == ["Not seen"]
        assert await notes_on(client, "trip") == [("Seen", "acknowledged"), ("Not seen", "saved")]


async def test_a_note_on_what_was_merged_shows_on_the_successor_and_one_on_what_was_withdrawn_stays_pending(
    tmp_path: Path,
) -> None:
    async with started() as client:
        await opened(client, tmp_path, "flight", "hotel", "visa")
        await note(client, "flight", "Before", at=at(1))
        trip: Json = {
            "id": "trip",
            "relation": "merges:[flight, hotel]",
            "title": "Trip",
            "weight": "low",
            "kind": "fyi",
        }
        await batch(client, "merge", trip, gone("visa"))
        await note(client, "hotel", "After", at=at(61))
        await note(client, "visa", "Was it?", at=at(62))
        assert await notes_on(client, "trip") == [("Before", "saved"), ("After", "saved")]
        assert [one["item"] for one in await pending(client)] == ["flight", "hotel", "visa"]


async def test_a_note_moves_no_revision_and_the_host_hears_of_it_as_an_annotation(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        await note(client, "trip", "Look again", key="k-1")
        told = await client.notification("state/changed", lambda params: params["cause"] == "annotation")
        assert told == {"session": "s", "revision": 1, "cause": "annotation"}
        await note(client, "trip", "Look again", key="k-1")
        await batch(client, "next", new("visa"))
        await client.notification("state/changed", lambda params: params["revision"] == 2)
        causes = [params["cause"] for name, params in client.notifications if name == "state/changed"]
        assert causes == ["commit", "annotation", "commit"]


async def test_an_earlier_revision_shows_the_notes_as_they_were_by_then(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        first = cast(str, (await note(client, "trip", "First", at=at(1)))["annotation"])
        await batch(client, "two", new("visa"))
        await note(client, "trip", "Second", at=at(2))
        await batch(client, "three", acknowledges=(first,))
        await note(client, "trip", "Third", at=at(3))
        history = {
            1: [],
            2: [("First", "saved")],
            3: [("First", "acknowledged"), ("Second", "saved")],
        }
        for revision, expected in history.items():
            assert await notes_on(client, "trip", revision=revision) == expected
        assert await notes_on(client, "trip") == [*history[3], ("Third", "saved")]


async def test_a_checked_batch_between_two_notes_keeps_them_in_their_places(tmp_path: Path) -> None:
    async with started() as client:
        await opened(client, tmp_path, "trip")
        await note(client, "trip", "First", at=at(1))
        assert (await batch(client, "look"))["result"] == "checked"
        await note(client, "trip", "Second", at=at(2))
        left = await ask(client, "state/get", {"session": "s", "revision": 1})
        assert left["last_checked_at"] is None
        await batch(client, "two", new("visa"))
        assert await notes_on(client, "trip", revision=2) == [("First", "saved"), ("Second", "saved")]


async def test_who_only_reads_a_session_sees_the_notes_and_leaves_none(tmp_path: Path) -> None:
    async with started() as owner, started() as reader:
        await opened(owner, tmp_path, "trip")
        await note(owner, "trip", "Look again")
        await opened(reader, tmp_path)
        assert await notes_on(reader, "trip") == [("Look again", "saved")]
        with pytest.raises(Fault, match="read_only"):
            await note(reader, "trip", "Me too")
