from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from foldstate.kernel.state import Annotation, Source, State, Withdrawal
from foldstate.kernel.view import Profile
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.store.session_store import SessionStore
from tests.sidecar.store_making import NOON, SESSION, item, record, state


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0) as opened:
        yield opened


def test_a_new_session_has_an_empty_state_and_a_head_with_nothing_but_its_id(store: SessionStore) -> None:
    assert store.load_state() == State()
    assert store.load_head() == Head(SESSION)


def test_the_head_comes_back_as_it_was_saved_and_leaves_the_state_alone(store: SessionStore) -> None:
    head = Head(SESSION, "A title", "/home/user/ws", "session-0", "zh", Profile(purpose="ship"), NOON, 7)
    with store.transaction():
        store.save_batch(record("b-1", 1), state(1), frozenset())
        store.save_head(head)
    assert store.load_head() == head
    assert store.load_state().revision == 1


def test_the_state_comes_back_whole_from_the_rows_that_batches_changed(tmp_path: Path) -> None:
    rich = replace(
        item("rich", "标题"),
        summary="a summary",
        share_override=9,
        reason="why",
        sources=(Source("mail", "event:e-1", "a quote", NOON), Source("log", "log:1")),
        had_child=True,
    )
    gone = replace(item("gone"), status="withdrawn", withdrawal=Withdrawal("no longer", "rich", NOON))
    second = replace(rich, title="another title")
    note = Annotation("a-1", "rich", "look again", NOON)
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0) as store:
        with store.transaction():
            store.save_batch(record("b-1", 1), state(1, rich, gone), frozenset({"rich", "gone"}))
            assert store.add_annotation(note)
            assert not store.add_annotation(note)
        after = State(
            revision=2,
            recorded_at=NOON,
            last_checked_at="2026-05-01T13:00:00Z",
            items={"rich": second, "gone": gone},
            annotations={"a-1": replace(note, status="acknowledged")},
            touched={"rich": 2, "gone": 1},
        )
        with store.transaction():
            store.save_batch(record("b-2", 2, acknowledged=("a-1",)), after, frozenset({"rich"}))
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0) as store:
        assert store.load_state() == after


def test_an_item_that_was_not_named_as_changed_is_not_written(store: SessionStore) -> None:
    with store.transaction():
        store.save_batch(record("b-1", 1), state(1, item("i-1")), frozenset({"i-1"}))
        store.save_batch(record("b-2", 2), state(2, item("i-1", "not written"), item("i-2")), frozenset({"i-2"}))
    loaded = store.load_state()
    assert (loaded.items["i-1"].title, loaded.touched) == ("A title", {"i-1": 1, "i-2": 2})


def test_a_batch_is_found_by_its_id_for_ever_and_listed_in_order(store: SessionStore) -> None:
    batches = [record(f"b-{number}", number, changes={"i-1": "updated"}) for number in range(1, 6)]
    with store.transaction():
        numbers = [store.save_batch(one, state(one.revision, item("i-1")), frozenset({"i-1"})) for one in batches]
    assert numbers == [1, 2, 3, 4, 5]
    assert store.record("b-3") == batches[2]
    assert store.record("b-9") is None
    assert store.records(0, 2) == [(1, batches[0]), (2, batches[1])]
    assert store.records(3, 10) == [(4, batches[3]), (5, batches[4])]
    assert store.records(5, 10) == []


def test_an_items_history_is_the_batches_that_changed_it(store: SessionStore) -> None:
    first = record("b-1", 1, changes={"i-1": "created", "i-2": "created"})
    second = record("b-2", 2, changes={"i-2": "updated"})
    third = record("b-3", 3, changes={"i-1": "withdrawn"})
    with store.transaction():
        for one in (first, second, third):
            store.save_batch(one, state(one.revision, item("i-1"), item("i-2")), frozenset({"i-1", "i-2"}))
    assert store.item_records("i-1", 10) == [(1, first), (3, third)]
    assert store.item_records("i-1", 1) == [(3, third)]
    assert store.item_records("i-9", 10) == []


def test_an_annotation_remembers_after_which_batch_it_came(store: SessionStore) -> None:
    early, late = Annotation("a-1", "i-1", "first", NOON), Annotation("a-2", "i-1", "second", NOON)
    with store.transaction():
        store.add_annotation(early)
        store.save_batch(record("b-1", 1), state(1, item("i-1")), frozenset({"i-1"}))
        store.add_annotation(late)
    assert store.annotations_with_batch() == [(0, early), (1, late)]
