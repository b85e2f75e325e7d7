from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foldstate.kernel.event import Disposition, Event, Feedback
from foldstate.kernel.signal import Coverage
from foldstate.kernel.signals import Waiting
from foldstate.kernel.values import Json
from foldstate.sidecar.store.errors import EventConflict
from foldstate.sidecar.store.names import database_path
from foldstate.sidecar.store.session_store import SessionStore
from tests.sidecar.store_making import NOON, SESSION, add, at, event, item, record, state


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0) as opened:
        yield opened


def ids(events: list[Event]) -> list[str]:
    return [one.id for one in events]


def test_an_event_comes_back_word_for_word(store: SessionStore) -> None:
    told = Event(
        id="e-1",
        channel="feedback",
        speaker="user",
        at="2026-05-01T12:00:00+08:00",
        text="先等等 \u2028 {{x}}\n",
        feedback=Feedback("item", "later", "snooze", "button", until=NOON),
        length=70_000,
        cut=True,
    )
    assert add(store, told) == [True]
    assert store.event("e-1") == told
    assert store.event_digest("e-1") == "d"
    assert store.event("e-2") is None
    assert store.event_digest("e-2") is None


def test_the_same_event_again_is_there_already_and_other_content_is_refused(store: SessionStore) -> None:
    assert add(store, event("e-1"), event("e-1")) == [True, False]
    with pytest.raises(EventConflict, match="e-1"):
        add(store, event("e-1", text="another text"))
    with pytest.raises(EventConflict), store.transaction():
        store.add_event(event("e-1"), digest="of a longer text", heard_at=NOON)
    assert store.event("e-1") == event("e-1")
    assert store.waiting_summary().count == 1


def test_waiting_events_are_given_oldest_first_without_those_a_round_has(store: SessionStore) -> None:
    add(store, *(event(f"e-{number}") for number in range(6)))
    assert ids(store.waiting(3)) == ["e-0", "e-1", "e-2"]
    assert ids(store.waiting(3, exclude={"e-0", "e-2"})) == ["e-1", "e-3", "e-4"]
    assert store.waiting(0) == []


def test_the_summary_says_when_the_first_and_the_last_were_heard_and_what_will_not_wait(store: SessionStore) -> None:
    assert store.waiting_summary() == Waiting(0, None, None, ())
    add(store, event("old", "mail"), heard_at=at(1))
    add(store, event("asked", "question"), event("pressed", "feedback"), heard_at=at(2))
    add(store, event("asks", "approval"), event("newest", "mail"), heard_at=at(3))
    assert store.waiting_summary() == Waiting(5, at(1), at(3), ("approval", "question", "feedback"))
    with store.transaction():
        store.judge_events(["old", "asked", "asks", "no such event"], "b-1")
    assert store.waiting_summary() == Waiting(2, at(2), at(3), ("feedback",))
    with store.transaction():
        store.judge_events(["old", "pressed", "newest"], "b-2")
    assert store.waiting_summary() == Waiting(0, None, None, ())


def test_what_is_undone_in_a_savepoint_is_gone_and_the_rest_stays(store: SessionStore) -> None:
    with store.transaction():
        store.add_event(event("kept"), digest="d", heard_at=NOON)
        with pytest.raises(RuntimeError), store.savepoint():
            store.add_event(event("outer"), digest="d", heard_at=NOON)
            with pytest.raises(KeyError), store.savepoint():
                store.add_event(event("inner"), digest="d", heard_at=NOON)
                raise KeyError
            assert store.event("inner") is None
            assert store.event("outer") is not None
            raise RuntimeError
    assert ids(store.waiting(10)) == ["kept"]
    assert store.waiting_summary().count == 1


def test_a_transaction_that_raises_changes_nothing(store: SessionStore) -> None:
    with pytest.raises(RuntimeError), store.transaction():
        store.add_event(event("e-1"), digest="d", heard_at=NOON)
        store.count_skips({"token": 3})
        raise RuntimeError
    assert store.waiting_summary().count == 0
    assert store.skips() == {}


def test_a_window_counts_what_came_from_outside_after_a_number_whatever_the_clock_said(store: SessionStore) -> None:
    assert (store.last_event_number(), store.count_outside_after(0)) == (0, 0)
    add(store, event("before"), heard_at=at(10))
    begun = store.last_event_number()
    assert begun == 1
    assert store.count_outside_after(begun) == 0
    add(store, event("ours", "reminder"), event("same instant"), heard_at=at(10))
    add(store, event("clock set back"), heard_at=at(0))
    assert store.last_event_number() == 4
    assert store.count_outside_after(begun) == 2
    assert store.count_outside_after(0) == 3
    assert store.count_outside_after(store.last_event_number()) == 0
    add(store, event("before"))
    assert store.last_event_number() == 4


def test_a_time_without_an_offset_is_refused_and_nothing_kept(store: SessionStore) -> None:
    with pytest.raises(ValueError, match="offset"):
        add(store, event("e-1"), heard_at="2026-05-01T12:00:00")
    assert store.event("e-1") is None


def dispose(store: SessionStore, batch_id: str, **disposed: str) -> None:
    dispositions = tuple(
        Disposition(one.replace("_", "-"), how, "because")  # type: ignore[arg-type]
        for one, how in disposed.items()
    )
    with store.transaction():
        store.save_batch(record(batch_id, 0, dispositions=dispositions, result="checked"), state(0), frozenset())
        store.judge_events([one.event for one in dispositions], batch_id)


def test_r7_deferred_events_stay_until_another_disposition_or_a_citation_takes_them_up(store: SessionStore) -> None:
    add(store, *(event(f"e-{number}") for number in range(5)))
    dispose(store, "b-1", e_0="deferred", e_1="deferred", e_2="deferred", e_3="noise", e_4="deferred")
    assert ids(store.deferred(20)) == ["e-0", "e-1", "e-2", "e-4"]
    assert ids(store.deferred(2)) == ["e-2", "e-4"]
    dispose(store, "b-2", e_0="noise", e_1="deferred")
    assert ids(store.deferred(20)) == ["e-1", "e-2", "e-4"]
    nested: Json = {
        "declarations": [
            {"id": "i-1", "children": [{"id": "i-2", "sources": [{"channel": "email", "ref": "event:e-4"}]}]},
            {"id": "i-3", "sources": [{"channel": "email", "ref": "log:7"}]},
        ],
        "acknowledges": [],
    }
    with store.transaction():
        store.save_batch(record("b-3", 1, batch=nested), state(1), frozenset())
    assert ids(store.deferred(20)) == ["e-1", "e-2"]
    assert store.waiting_summary().count == 0


def test_an_items_events_are_those_cited_related_or_answering_it(store: SessionStore) -> None:
    press = Event("press", "feedback", "user", NOON, "done", feedback=Feedback("i-1", "done", "act", "button"))
    add(store, event("cited"), event("related"), event("other"), press, event("cited-twice"))
    sources: list[Json] = [{"channel": "email", "ref": f"event:{one}"} for one in ("cited", "cited-twice", "not there")]
    batch: Json = {"declarations": [{"id": "i-1", "sources": sources}], "acknowledges": []}
    related = (Disposition("related", "duplicate", "told before", ("i-1",)), Disposition("other", "noise", "an ad"))
    with store.transaction():
        store.save_batch(record("b-1", 1, batch=batch, dispositions=related), state(1, item("i-1")), frozenset({"i-1"}))
        store.save_batch(record("b-2", 2, batch=batch), state(2, item("i-1")), frozenset({"i-1"}))
    assert ids(store.item_events("i-1")) == ["cited", "related", "press", "cited-twice"]
    assert ids(store.item_events("i-1", limit=2)) == ["press", "cited-twice"]
    assert store.item_events("i-2") == []


def test_many_ids_are_looked_up_at_once_and_unknown_ones_left_out(store: SessionStore) -> None:
    add(store, *(event(f"e-{number}") for number in range(1300)))
    found = store.events([*(f"e-{number}" for number in range(1200)), "nope", "e-1", "x' OR 1=1 --"])
    assert set(found) == {f"e-{number}" for number in range(1200)}


def test_skips_add_up_by_kind(store: SessionStore) -> None:
    with store.transaction():
        store.count_skips({"token": 2, "user/message:time-context": 1})
        store.count_skips({"token": 3})
    assert store.skips() == {"token": 5, "user/message:time-context": 1}


def test_coverage_keeps_the_time_since_when_a_channel_stands_as_it_does(store: SessionStore) -> None:
    with store.transaction():
        assert store.set_coverage("user", "ok", at(0)) == Coverage("ok", at(0))
        assert store.set_coverage("user", "ok", at(5)) == Coverage("ok", at(0))
        assert store.set_coverage("tool", "ok", at(0)) == Coverage("ok", at(0))
        assert store.set_coverage("tool", "unknown", at(7)) == Coverage("unknown", at(7))
    assert store.coverage() == {"user": Coverage("ok", at(0)), "tool": Coverage("unknown", at(7))}


@contextmanager
def counted(path: Path, counts: list[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionStore]:
    """The session with each hundred steps of SQLite's machine counted: a measure that no other load disturbs."""
    connect = sqlite3.connect

    def counting(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.set_progress_handler(lambda: counts.append(1), 100)
        return connection

    monkeypatch.setattr(sqlite3, "connect", counting)
    with SessionStore.open(path, SESSION, lock_wait_s=0) as store:
        yield store


def steps(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What each question costs when `number` events wait and as many are deferred."""
    with SessionStore.open(folder, SESSION, lock_wait_s=0) as store:
        for start in range(0, number, 1000):
            add(store, *(event(f"{kind}-{one}") for one in range(start, min(start + 1000, number)) for kind in "wd"))
        for start in range(0, number, 1000):
            some = tuple(
                Disposition(f"d-{one}", "deferred", "later") for one in range(start, min(start + 1000, number))
            )
            with store.transaction():
                store.save_batch(record(f"b-{start}", 0, dispositions=some, result="checked"), state(0), frozenset())
                store.judge_events([one.event for one in some], f"b-{start}")
    counts: list[int] = []
    questions: dict[str, Callable[[SessionStore], object]] = {
        "summary": lambda store: store.waiting_summary(),
        "waiting": lambda store: store.waiting(40, exclude={"w-1"}),
        "deferred": lambda store: store.deferred(20),
        "window": lambda store: store.count_outside_after(store.last_event_number() - 20),
        "add": lambda store: store.add_event(event("new"), digest="d", heard_at=NOON),
        "judge": lambda store: store.judge_events(["new", "w-2"], "b-new"),
        "dispose": lambda store: store.save_batch(
            record("b-new", 0, dispositions=(Disposition("d-3", "noise", "old"),)), state(0), frozenset()
        ),
        "load": lambda store: (store.load_head(), store.load_state(), store.load_intake(), store.coverage()),
    }
    cost: dict[str, int] = {}
    with counted(folder, counts, monkeypatch) as store:
        cost["opening"] = len(counts)
        for name, ask in questions.items():
            counts.clear()
            with store.transaction():
                ask(store)
            cost[name] = len(counts)
    monkeypatch.undo()
    return cost


def test_each_question_costs_the_same_in_a_short_session_and_in_a_long_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = steps(tmp_path / "short", 100, monkeypatch)
    long = steps(tmp_path / "long", 10_000, monkeypatch)
    assert database_path(tmp_path / "long", SESSION).stat().st_size > 4_000_000
    assert {name: long[name] - short[name] for name in short if long[name] > short[name] + 2} == {}
