"""D9 to D15 and B2: the tree, what leaves and returns to it, merges, target sets, and the budget of each layer."""

from __future__ import annotations

from itertools import permutations

import pytest

from foldstate.kernel.layer import ranked
from foldstate.kernel.state import State
from foldstate.kernel.values import Json
from tests.kernel.batches import (
    LATER,
    LONG_AFTER,
    accept,
    after,
    codes,
    family,
    faults,
    leave,
    merge,
    new,
    only_fault,
    patch,
    source,
)

EMPTY = State()


def test_d9_superseding_a_withdrawn_item_restores_it_in_its_own_layer() -> None:
    state = after(family(), leave("flight"))
    restored = accept(state, patch("flight"), now=LATER)
    item = restored.state.items["flight"]
    assert [(one.item, one.change) for one in restored.receipt.changes] == [("flight", "restored")]
    assert (item.status, item.parent, item.withdrawal, item.updated_at) == ("active", "trip", None, LATER)


def test_d9_the_children_of_a_restored_item_stay_withdrawn() -> None:
    state = after(after(family(), leave("trip")), patch("trip"))
    assert [state.items[one].status for one in ("trip", "flight", "hotel")] == ["active", "withdrawn", "withdrawn"]


def test_d9_a_child_is_restored_only_under_an_active_parent() -> None:
    state = after(family(), leave("trip"))
    fault = only_fault(state, patch("flight"))
    assert (fault.code, fault.fields) == ("inactive_parent", {"item": "flight", "parent": "trip"})
    assert after(state, patch("flight"), patch("trip")).items["flight"].status == "active"


def test_d9_nothing_is_changed_below_what_the_same_batch_withdraws() -> None:
    assert codes(family(), leave("trip"), patch("flight", title="Late")) == ["inactive_parent"]
    assert codes(family(), leave("trip"), merge("both", "flight", "hotel")) == ["inactive_parent"]


def test_d9_a_merged_item_is_answered_with_the_last_successor() -> None:
    state = after(after(EMPTY, new("a"), new("b"), new("c")), merge("ab", "a", "b"))
    state = after(state, merge("abc", "ab", "c"))
    for declared in (patch("a"), leave("a")):
        fault = only_fault(state, declared)
        assert (fault.code, fault.fields) == ("item_merged", {"item": "a", "merged_into": "abc"})
    assert codes(after(state, new("d")), merge("x", "a", "d")) == ["item_merged"]


def test_d9_an_unknown_id_is_not_found_by_any_relation() -> None:
    assert codes(EMPTY, patch("x")) == ["item_not_found"]
    assert codes(EMPTY, leave("x")) == ["item_not_found"]
    assert codes(after(EMPTY, new("a")), merge("m", "a", "x")) == ["item_not_found"]


def test_d9_withdrawing_a_withdrawn_item_is_no_change() -> None:
    state = after(after(EMPTY, new("x")), leave("x", "First."))
    again = accept(state, leave("x", "Second."), now=LATER)
    assert again.receipt.result == "checked"
    assert again.state.items == state.items


def test_d9_withdrawing_a_withdrawn_item_keeps_no_other_from_leaving() -> None:
    state = after(after(EMPTY, new("x"), new("y")), leave("x"))
    assert after(state, leave("x"), leave("y")).items["y"].status == "withdrawn"


def test_d10_everyone_below_leaves_however_deep_and_whoever_leaves_for_itself() -> None:
    below: list[Json] = [new("b", summary="s", children=[new("c")]), new("d"), new("e")]
    state = after(EMPTY, new("a", summary="s", children=below))
    left = {one: item.withdrawal for one, item in after(state, leave("a"), leave("e", "For e.")).items.items()}
    assert {one: said and (said.reason, said.via) for one, said in left.items()} == {
        "a": ("It is over.", None),
        "b": ("It is over.", "a"),
        "c": ("It is over.", "a"),
        "d": ("It is over.", "a"),
        "e": ("For e.", None),
    }


def test_d10_withdrawing_takes_the_whole_subtree_with_the_ancestors_reason() -> None:
    left = accept(family(), leave("trip", "Called off."), now=LATER)
    assert [(one.item, one.change) for one in left.receipt.changes] == [
        ("flight", "withdrawn"),
        ("hotel", "withdrawn"),
        ("trip", "withdrawn"),
    ]
    flight, trip = left.state.items["flight"].withdrawal, left.state.items["trip"].withdrawal
    assert flight is not None
    assert trip is not None
    assert (flight.reason, flight.via, trip.reason, trip.via) == ("Called off.", "trip", "Called off.", None)
    assert left.receipt.layers["root"].used == 6


def test_d10_a_withdrawn_item_keeps_its_own_reason_and_shows_it_again() -> None:
    state = after(EMPTY, new("x", reason="Its own.", sources=[source("e")]))
    gone = after(state, leave("x", "Not now."))
    assert gone.items["x"].reason == "Its own."
    back = after(gone, patch("x")).items["x"]
    assert (back.reason, back.sources) == ("Its own.", state.items["x"].sources)
    assert after(gone, patch("x", reason="A new one.")).items["x"].reason == "A new one."


def test_d10_an_item_and_its_descendant_each_keep_the_reason_given_for_it() -> None:
    state = after(EMPTY, new("a", summary="s", children=[new("b", summary="s", children=[new("c")])]))
    gone = after(state, leave("b", "For b."), leave("a", "For a.")).items
    said = {one: (gone[one].withdrawal or pytest.fail(one)) for one in "abc"}
    assert {one: (left.reason, left.via) for one, left in said.items()} == {
        "a": ("For a.", None),
        "b": ("For b.", None),
        "c": ("For b.", "b"),
    }


def test_d11_a_merge_joins_the_layer_and_takes_sources_in_the_order_listed() -> None:
    state = after(
        EMPTY,
        new("a", sources=[source("1"), source("2")], summary="A", due_at="2026-10-16T16:00:00Z", reason="R"),
        new("b", sources=[source("3"), source("1")]),
    )
    merged = accept(state, merge("m", "b", "a", sources=[source("2"), source("4")]), now=LATER)
    item = merged.state.items["m"]
    assert [one.ref for one in item.sources] == ["event:3", "event:1", "event:2", "event:4"]
    assert (item.parent, item.summary, item.due_at, item.reason, item.created_at) == (None, None, None, None, LATER)
    assert [(one.item, one.change) for one in merged.receipt.changes] == [
        ("a", "merged"),
        ("b", "merged"),
        ("m", "created"),
    ]
    assert merged.receipt.layers["root"].used == 6


def test_d11_the_limit_of_16_counts_only_the_sources_of_its_own() -> None:
    def many(name: str) -> list[Json]:
        return [source(f"{name}-{n}") for n in range(16)]

    state = after(EMPTY, new("a", sources=many("a")), new("b", sources=many("b")))
    assert len(after(state, merge("m", "a", "b", sources=many("m"))).items["m"].sources) == 48


def test_d11_a_merge_of_fewer_than_two_is_refused() -> None:
    for declared in (merge("m", "a"), merge("m")):
        fault = only_fault(after(EMPTY, new("a")), declared)
        assert (fault.code, fault.fields["field"]) == ("invalid_field", "relation")


def test_d11_a_source_listed_twice_is_a_duplicate() -> None:
    assert codes(after(EMPTY, new("a")), merge("m", "a", "a")) == ["duplicate_declaration"]


def test_d11_items_of_different_layers_do_not_merge() -> None:
    fault = only_fault(family(), merge("m", "flight", "errand"))
    assert (fault.code, fault.fields["layers"]) == ("merge_layer_mismatch", ["root", "trip"])


def test_d11_only_active_leaves_that_never_had_a_child_merge() -> None:
    once_a_parent = after(family(), leave("flight"), leave("hotel"))
    assert codes(family(), merge("m", "trip", "errand")) == ["unsupported_merge_structure"]
    assert codes(once_a_parent, merge("m", "trip", "errand")) == ["unsupported_merge_structure"]
    assert codes(once_a_parent, merge("m", "flight", "hotel")) == ["unsupported_merge_structure"]


def test_d11_the_result_has_no_children() -> None:
    state = after(EMPTY, new("a"), new("b"))
    fault = only_fault(state, merge("m", "a", "b", summary="s", children=[new("c")]))
    assert (fault.code, fault.path) == ("unsupported_merge_structure", "batch.declarations[0].children")


def test_d12_children_is_the_target_set_of_its_layer() -> None:
    fault = only_fault(family(), patch("trip", children=[patch("flight")]))
    assert fault.code == "explicit_withdraw_required"
    assert fault.fields == {"item": "trip", "omitted_children": ["hotel"]}
    nothing: tuple[Json, ...] = ([], None)
    for empty in nothing:
        assert only_fault(family(), patch("trip", children=empty)).fields["omitted_children"] == ["flight", "hotel"]


def test_d12_is_asked_of_every_target_set_of_the_batch() -> None:
    unread = patch("errand", children=[7])
    told = faults(family(), unread, new("x"), patch("trip", children=[]))
    assert [(one.code, one.path) for one in told] == [
        ("invalid_field", "batch.declarations[0].children[0]"),
        ("explicit_withdraw_required", "batch.declarations[2].children"),
    ]


def test_d12_a_child_left_out_is_withdrawn_in_the_list_or_at_the_top() -> None:
    inside = after(family(), patch("trip", children=[patch("flight"), leave("hotel")]))
    outside = after(family(), patch("trip", children=[patch("flight")]), leave("hotel"))
    assert inside == outside
    assert inside.items["hotel"].status == "withdrawn"


def test_d12_a_patch_without_children_keeps_the_layer() -> None:
    state = after(family(), patch("trip", title="Trip moved"))
    assert state.layers["trip"] == ("flight", "hotel")


def test_d12_a_child_that_is_merged_in_the_batch_is_accounted_for() -> None:
    state = after(family(), patch("trip", children=[new("taxi")]), merge("booked", "flight", "hotel"))
    assert state.layers["trip"] == ("booked", "taxi")


def test_d12_a_merge_inside_children_is_refused() -> None:
    told = faults(family(), patch("trip", children=[merge("booked", "flight", "hotel")]))
    assert [(fault.code, fault.fields["field"]) for fault in told] == [("invalid_field", "relation")]


def test_d12_a_withdrawn_child_in_the_list_is_restored_or_left_as_it_is() -> None:
    state = after(family(), leave("hotel", "Full."))
    assert after(state, patch("trip", children=[patch("flight"), patch("hotel")])).items["hotel"].status == "active"
    assert accept(state, patch("trip", children=[patch("flight"), leave("hotel")])).receipt.result == "checked"


def test_d12_a_child_restored_beside_a_target_set_stands_in_it() -> None:
    state = after(family(), leave("hotel"))
    fault = only_fault(state, patch("trip", children=[patch("flight")]), patch("hotel"))
    assert (fault.code, fault.fields["omitted_children"]) == ("explicit_withdraw_required", ["hotel"])


def test_d12_a_child_that_could_not_be_read_is_not_said_to_be_missing() -> None:
    told = faults(family(), patch("trip", children=[patch("flight"), {**patch("hotel"), "relation": "keep"}]))
    assert [fault.code for fault in told] == ["invalid_field"]


def test_d13_an_item_of_another_layer_cannot_be_moved() -> None:
    listed: list[Json] = [patch("flight"), patch("hotel")]
    for foreign in (patch("errand"), leave("errand")):
        fault = only_fault(family(), patch("trip", children=[*listed, foreign]))
        assert (fault.code, fault.fields["item"]) == ("unsupported_move", "errand")
    assert codes(family(), patch("trip", children=[*listed, new("errand")])) == ["item_exists"]
    assert codes(family(), new("other", summary="s", children=[patch("errand")])) == ["unsupported_move"]


def test_d13_a_child_is_patched_at_the_top_without_naming_its_parent() -> None:
    item = after(family(), patch("flight", title="Flight at noon")).items["flight"]
    assert (item.title, item.parent) == ("Flight at noon", "trip")


def test_d14_an_id_appears_once_in_a_batch() -> None:
    state = family()
    for declared in (
        [patch("errand"), leave("errand")],
        [new("x"), new("x")],
        [new("x"), new("p", summary="s", children=[new("x")])],
        [leave("flight"), merge("m", "flight", "hotel")],
        [merge("errand-2", "flight", "hotel"), new("errand-2")],
        [patch("trip", children=[patch("flight"), patch("hotel")]), patch("hotel", title="H")],
    ):
        assert codes(state, *declared) == ["duplicate_declaration"], declared


def test_d14_names_the_id_and_each_place() -> None:
    fault = only_fault(EMPTY, new("x"), new("p", summary="s", children=[new("x")]))
    assert fault.fields == {
        "item": "x",
        "paths": ["batch.declarations[0].id", "batch.declarations[1].children[0].id"],
    }


def test_d15_the_order_of_declarations_decides_nothing() -> None:
    declarations = (
        leave("hotel", "Full."),
        patch("trip", weight="low", reason="Less.", children=[patch("flight", title="Late"), new("tent")]),
        new("bus", weight="critical"),
        patch("errand", kind="done"),
        new("walk", summary="s", children=[new("shoes")]),
    )
    results = {str(after(family(), *order, now=LATER)) for order in permutations(declarations)}
    assert len(results) == 1


def test_b2_each_layer_has_64_parts_and_a_child_layer_has_its_own() -> None:
    full: list[Json] = [
        new("a", weight="critical"),
        new("b", weight="critical"),
        new("c", weight="high"),
        new("d", share=4, reason="r"),
    ]
    inner: list[Json] = [{**one, "id": f"in-{one['id']}"} for one in full if isinstance(one, dict)]
    state = after(EMPTY, *full[:-1], {**new("d", share=4, reason="r"), "summary": "s", "children": inner})
    assert state.layers["root"] == ("a", "b", "c", "d")
    assert len(state.layers["d"]) == 4


def test_b2_a_layer_over_its_budget_is_refused_with_the_arithmetic() -> None:
    state = after(EMPTY, new("a", weight="critical"), new("b", weight="critical"))
    fault = only_fault(state, new("d", weight="high"), new("c", weight="high"))
    assert (fault.code, fault.fields) == (
        "layer_budget",
        {
            "layer": "root",
            "budget": 64,
            "declared": 72,
            "over": 8,
            "shares": [
                {"item": "a", "share": 24},
                {"item": "b", "share": 24},
                {"item": "c", "share": 12},
                {"item": "d", "share": 12},
            ],
        },
    )


def test_b2_names_the_layer_by_its_parent() -> None:
    crowd: list[Json] = [new(f"c-{n}", weight="critical") for n in range(3)]
    fault = only_fault(EMPTY, new("p", summary="s", children=crowd))
    assert (fault.code, fault.fields["layer"], fault.fields["over"]) == ("layer_budget", "p", 8)


def test_b2_is_asked_of_the_state_that_results() -> None:
    state = after(EMPTY, *(new(f"c-{n}", weight="critical") for n in range(2)))
    moved = after(state, new("fresh", weight="critical"), leave("c-0"), patch("c-1", weight="high", reason="Yields."))
    assert moved.layers["root"] == ("c-1", "fresh")


def test_rank_is_by_share_kind_due_update_and_id() -> None:
    state = after(EMPTY, new("z-old"), new("y-old"))
    state = after(
        state,
        new("b-small", weight="trace", kind="needs-you"),
        new("c-done", kind="done"),
        new("d-due-later", kind="in-progress", due_at="2026-10-17T00:00:00+09:00"),
        new("e-due-sooner", kind="in-progress", due_at="2026-10-16T16:00:00+02:00"),
        new("f-no-due", kind="in-progress"),
        new("g-you", kind="needs-you"),
        new("h-big", weight="low", share=10, reason="r"),
        new("x-fresh"),
        now=LONG_AFTER,
    )
    assert [item.id for item in ranked(state.items.values())] == [
        "h-big",
        "g-you",
        "e-due-sooner",
        "d-due-later",
        "f-no-due",
        "c-done",
        "x-fresh",
        "y-old",
        "z-old",
        "b-small",
    ]
