"""Section 4: the state as it is shown at an instant."""

from __future__ import annotations

import msgspec

from foldstate.kernel.projection import item_view, state_view
from foldstate.kernel.state import State
from foldstate.kernel.view import ItemView
from tests.kernel.batches import LATER, LONG_AFTER, NOW, accept, after, family, leave, merge, new, patch, source


def viewed(state: State, item: str, now: str = LATER) -> ItemView:
    view = item_view(state, item, now)
    assert view is not None
    return view


def test_an_empty_state_has_an_empty_root_and_says_that_reading_is_not_collected() -> None:
    view = state_view(State(), NOW)
    assert (view.revision, view.root.budget, view.root.used, view.root.items) == (0, 64, 0, ())
    assert (view.last_seen_at, view.since_seen, view.last_checked_at, view.not_active) == (None, None, None, ())


def test_items_are_ranked_from_1_with_their_layers() -> None:
    view = state_view(after(family(), patch("errand", weight="high")), LATER)
    assert [(one.rank, one.id, one.share) for one in view.root.items] == [(1, "errand", 12), (2, "trip", 6)]
    assert view.root.used == 18
    layer = view.root.items[1].children
    assert layer is not None
    assert [(one.rank, one.id) for one in layer.items] == [(1, "flight"), (2, "hotel")]
    assert (layer.budget, layer.used) == (64, 12)


def test_children_are_null_where_none_is_active() -> None:
    state = after(family(), leave("flight"), leave("hotel"))
    assert viewed(state, "trip").children is None


def test_durations_are_whole_seconds_and_negative_once_past() -> None:
    state = after(State(), new("x", due_at="2026-10-10T09:59:59.5+08:00", stale_after="2026-10-10T11:00:00+08:00"))
    state = after(state, patch("x", title="Moved"), now="2026-10-10T09:59:00+08:00")
    seen = viewed(state, "x")
    assert (seen.age, seen.since_update, seen.until_due, seen.until_stale) == (3600, 60, -1, 3600)
    assert viewed(after(State(), new("y")), "y").until_due is None


def test_an_age_is_never_below_0() -> None:
    assert viewed(after(State(), new("x"), now=LATER), "x", NOW).age == 0


def test_what_left_the_state_is_listed_newest_first_with_how_it_left() -> None:
    state = after(family(), leave("trip", "Called off."))
    state = after(state, new("b"), now=LATER)
    state = after(state, merge("both", "errand", "b"), now=LONG_AFTER)
    gone = state_view(state, LONG_AFTER).not_active
    assert [(one.id, one.status, one.parent, one.merged_into, one.reason, one.via, one.at) for one in gone] == [
        ("b", "merged", None, "both", None, None, LONG_AFTER),
        ("errand", "merged", None, "both", None, None, LONG_AFTER),
        ("flight", "withdrawn", "trip", None, "Called off.", "trip", NOW),
        ("hotel", "withdrawn", "trip", None, "Called off.", "trip", NOW),
        ("trip", "withdrawn", None, None, "Called off.", None, NOW),
    ]


def test_a_limited_list_keeps_what_is_asked_for_and_counts_the_rest() -> None:
    state = State()
    for hour in range(5):
        state = after(state, new(f"x-{hour}"), now=f"2026-10-10T1{hour}:00:00Z")
        state = after(state, leave(f"x-{hour}"), now=f"2026-10-10T1{hour}:30:00Z")
    view = state_view(state, LONG_AFTER, 2, frozenset({"x-0", "x-4"}))
    assert [one.id for one in view.not_active] == ["x-4", "x-3", "x-0"]
    assert view.not_active_omitted == 2
    assert state_view(state, LONG_AFTER).not_active_omitted == 0


def test_what_was_restored_and_left_again_counts_as_having_left_last() -> None:
    state = after(State(), new("a"), new("b"), new("c"))
    for item in ("a", "b", "c"):
        state = after(state, leave(item))
    state = after(state, patch("a"), now=LATER)
    assert [one.id for one in state_view(state, LATER).not_active] == ["b", "c"]
    state = after(state, leave("a"), now=LONG_AFTER)
    assert [one.id for one in state_view(state, LONG_AFTER).not_active] == ["a", "b", "c"]


def test_those_that_left_at_one_instant_are_listed_by_id_whichever_batch_took_them_out() -> None:
    state = after(State(), new("a"), new("b"), new("c"), new("z"))
    state = after(state, leave("z"))
    for item, now in (("b", LATER), ("c", "2026-10-10T02:00:00Z"), ("a", LATER)):
        state = after(state, leave(item), now=now)
    assert [one.id for one in state_view(state, LATER).not_active] == ["a", "b", "c", "z"]


def test_a_limited_list_looks_only_at_what_it_shows() -> None:
    state = State()
    for number in range(30):
        state = after(state, new(f"x-{number:02}"))
        state = after(state, leave(f"x-{number:02}"))
    seen: set[str] = set()

    class Watched(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            seen.add(key)
            return super().__getitem__(key)

        def values(self) -> object:  # type: ignore[override]
            raise AssertionError("every item was looked at")

    watched = msgspec.structs.replace(state, items=Watched(state.items))
    view = state_view(watched, LATER, 3, frozenset({"x-29", "nobody"}))
    assert [one.id for one in view.not_active] == ["x-00", "x-01", "x-02", "x-29"]
    assert seen == {"x-00", "x-01", "x-02", "x-29"}


def test_the_time_of_the_last_check_is_shown() -> None:
    assert state_view(accept(family(), now=LATER).state, LATER).last_checked_at == LATER


def test_one_item_can_be_seen_in_whatever_status() -> None:
    state = after(family(), patch("errand", sources=[source("e")]))
    assert (viewed(state, "hotel").rank, viewed(state, "errand").sources[0].ref) == (2, "event:e")
    gone = viewed(after(state, leave("errand")), "errand")
    assert (gone.rank, gone.sources[0].ref) == (None, "event:e")
    assert item_view(state, "nobody", LATER) is None
