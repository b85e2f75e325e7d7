"""D1 to D8: the four relations, patches, evidence kept or replaced, reasons, and updates that are none."""

from __future__ import annotations

import pytest

from foldstate.kernel.state import State
from foldstate.kernel.values import SHARES, Json, Weight
from tests.kernel.batches import (
    LATER,
    NOW,
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


def test_d1_a_relation_that_is_left_out_is_new() -> None:
    without = {name: value for name, value in new("x").items() if name != "relation"}
    assert after(EMPTY, without).items["x"].status == "active"


@pytest.mark.parametrize(
    "relation",
    [
        "detail-of:x",
        "NEW",
        "new ",
        "",
        "supersedes",
        "supersedes: x",
        "merges:a,b",
        "merges:[a,]",
        "merges:[A, b]",
        "merges:[Xa, b]",
        "merges:[a, Xb, c]",
        "merges:[\ta, b]",
        "merges:[a,\tb]",
        None,
        3,
    ],
)
def test_d1_any_other_relation_is_refused(relation: Json) -> None:
    assert [(one.code, one.fields["field"]) for one in faults(EMPTY, {**new("x"), "relation": relation})] == [
        ("invalid_field", "relation")
    ]


def test_d1_supersedes_names_the_declarations_own_id() -> None:
    fault = only_fault(after(EMPTY, new("x"), new("y")), {**patch("x"), "relation": "supersedes:y"})
    assert (fault.code, fault.fields["field"], fault.fields["problem"]) == (
        "invalid_field",
        "relation",
        "relation_other_id",
    )


@pytest.mark.parametrize("relation", ["merges:[a, b]", "merges:[a,b]", "merges: [ a ,  b ]"])
def test_d1_the_spaces_of_a_merge_are_optional(relation: str) -> None:
    state = after(EMPTY, new("a"), new("b"))
    assert after(state, {**merge("m", "a", "b"), "relation": relation}).items["a"].merged_into == "m"


@pytest.mark.parametrize("field", ["weight", "kind"])
def test_d2_every_declaration_but_withdraw_carries_weight_and_kind(field: str) -> None:
    state = after(EMPTY, new("x"), new("a"), new("b"))
    for declared in (new("y"), patch("x"), merge("m", "a", "b")):
        fault = only_fault(state, {name: value for name, value in declared.items() if name != field})
        assert (fault.code, fault.fields["field"], fault.fields["problem"]) == ("invalid_field", field, "missing")


@pytest.mark.parametrize("field", ["weight", "kind", "title", "summary", "share", "sources", "children", "due_at"])
def test_d2_withdraw_carries_nothing_else(field: str) -> None:
    fault = only_fault(after(EMPTY, new("x")), {**leave("x"), field: None})
    assert (fault.code, fault.fields["field"]) == ("invalid_field", field)


def test_d3_new_and_merges_carry_a_title() -> None:
    state = after(EMPTY, new("a"), new("b"))
    for declared in (new("x"), merge("m", "a", "b")):
        fault = only_fault(state, {name: value for name, value in declared.items() if name != "title"})
        assert (fault.code, fault.fields["field"]) == ("invalid_field", "title")


def test_d3_an_id_is_never_used_twice_whatever_became_of_it() -> None:
    state = after(after(EMPTY, new("here"), new("gone"), new("a"), new("b")), leave("gone"), merge("m", "a", "b"))
    for taken in ("here", "gone", "a", "m"):
        assert codes(state, new(taken)) == ["item_exists"]
        assert codes(state, merge(taken, "here", "m"))[0] in ("item_exists", "duplicate_declaration")
    assert only_fault(state, new("gone")).fields == {"item": "gone", "status": "withdrawn"}


def test_d4_a_patch_keeps_what_it_leaves_out() -> None:
    full = new(
        "x",
        summary="Kept.",
        share=9,
        reason="Kept too.",
        due_at="2026-10-16T16:00:00+08:00",
        stale_after="2026-10-17T16:00:00+08:00",
        sources=[source("e")],
    )
    before = after(EMPTY, full).items["x"]
    changed = after(after(EMPTY, full), patch("x", title="Another"), now=LATER).items["x"]
    kept = ("summary", "share_override", "reason", "due_at", "stale_after", "sources", "created_at", "weight", "kind")
    assert [getattr(changed, name) for name in kept] == [getattr(before, name) for name in kept]
    assert (changed.title, changed.updated_at) == ("Another", LATER)


def test_d4_a_patch_gives_every_field_that_it_names_its_value() -> None:
    state = after(EMPTY, new("x", weight="low", kind="fyi"))
    given: dict[str, Json] = {
        "title": "Another",
        "summary": "New.",
        "weight": "high",
        "kind": "done",
        "share": 9,
        "reason": "Because.",
        "due_at": "2026-10-16T16:00:00+08:00",
        "stale_after": "2026-10-17T16:00:00+08:00",
    }
    item = after(state, patch("x", **given)).items["x"]
    assert {name: getattr(item, "share_override" if name == "share" else name) for name in given} == given


@pytest.mark.parametrize("field", ["summary", "due_at", "stale_after"])
def test_d4_null_clears_a_field_that_can_be_cleared(field: str) -> None:
    given = "2026-10-16T16:00:00+08:00"
    assert (
        getattr(after(after(EMPTY, new("x", **{field: given})), patch("x", **{field: None})).items["x"], field) is None
    )


def test_d4_null_cancels_a_share_override() -> None:
    state = after(EMPTY, new("x", share=9, reason="For now."))
    item = after(state, patch("x", share=None, reason="No longer.")).items["x"]
    assert (item.share_override, item.share) == (None, SHARES["normal"])


def test_d4_null_means_left_out_on_new_and_merges() -> None:
    nulls: dict[str, Json] = dict.fromkeys(("summary", "share", "due_at", "stale_after", "children"))
    state = after(EMPTY, new("a", **nulls), new("b"))
    assert after(state, merge("m", "a", "b", **nulls)).items["m"].summary is None


@pytest.mark.parametrize("field", ["title", "reason", "sources", "weight", "kind"])
def test_d4_null_for_any_other_field_is_refused(field: str) -> None:
    fault = only_fault(after(EMPTY, new("x")), patch("x", **{field: None}))
    assert (fault.code, fault.fields["field"], fault.fields["problem"]) == ("invalid_field", field, "null")


def test_d5_sources_replace_the_whole_group_when_given() -> None:
    state = after(EMPTY, new("x", sources=[source("a"), source("b")]))
    assert [one.ref for one in after(state, patch("x", sources=[source("c")])).items["x"].sources] == ["event:c"]


def test_d5_an_empty_group_is_refused() -> None:
    fault = only_fault(EMPTY, new("x", sources=[]))
    assert (fault.code, fault.fields["field"]) == ("invalid_field", "sources")


def test_d6_an_item_with_an_active_child_has_a_summary() -> None:
    fault = only_fault(EMPTY, new("p", children=[new("c")]))
    assert (fault.code, fault.path, fault.fields["field"]) == (
        "invalid_field",
        "batch.declarations[0].summary",
        "summary",
    )
    assert only_fault(family(), patch("trip", summary=None)).fields["item"] == "trip"


def test_d6_is_asked_of_the_state_that_results() -> None:
    state = after(family(), patch("trip", summary=None), leave("flight"), leave("hotel"))
    assert state.items["trip"].summary is None
    fault = only_fault(state, patch("hotel"))
    assert (fault.fields["item"], fault.path) == ("trip", "batch.declarations[0].id")
    assert after(state, patch("hotel"), patch("trip", summary="Again.")).items["hotel"].status == "active"


@pytest.mark.parametrize(
    ("lower", "higher"), [("trace", "low"), ("low", "normal"), ("normal", "high"), ("high", "critical")]
)
def test_d7_a_lower_weight_needs_a_reason(lower: Weight, higher: Weight) -> None:
    state = after(EMPTY, new("x", weight=higher))
    fault = only_fault(state, patch("x", weight=lower))
    assert (fault.code, fault.path, fault.fields["field"]) == (
        "invalid_field",
        "batch.declarations[0].reason",
        "reason",
    )
    assert after(state, patch("x", weight=lower, reason="Less now.")).items["x"].weight == lower
    assert after(after(EMPTY, new("x", weight=lower)), patch("x", weight=higher)).items["x"].weight == higher


def test_d7_a_lower_weight_needs_a_reason_when_restoring_too() -> None:
    state = after(after(EMPTY, new("x", weight="high")), leave("x"))
    assert only_fault(state, patch("x", weight="low")).fields["field"] == "reason"
    assert after(state, patch("x", weight="high")).items["x"].status == "active"


def test_d7_a_share_needs_a_reason_wherever_it_is_a_number() -> None:
    state = after(EMPTY, new("x", share=9, reason="Why."), new("a"), new("b"))
    for declared in (new("y", share=1), merge("m", "a", "b", share=1), patch("x", share=9), patch("x", share=2)):
        assert only_fault(state, declared).fields["field"] == "reason"


def test_d7_cancelling_an_override_needs_a_reason_only_where_one_stands() -> None:
    state = after(EMPTY, new("x", share=9, reason="Why."), new("plain"))
    assert only_fault(state, patch("x", share=None)).fields["field"] == "reason"
    assert accept(state, patch("plain", share=None)).receipt.result == "checked"


def test_d7_withdrawing_needs_a_reason() -> None:
    fault = only_fault(after(EMPTY, new("x")), {"id": "x", "relation": "withdraw"})
    assert (fault.code, fault.fields["field"], fault.fields["problem"]) == ("invalid_field", "reason", "reason_needed")


def test_d7_an_override_stays_through_weight_changes_and_restores() -> None:
    state = after(EMPTY, new("x", share=9, reason="Why."))
    for declared in (patch("x", weight="critical"), leave("x"), patch("x", weight="critical")):
        state = after(state, declared)
    assert (state.items["x"].status, state.items["x"].share) == ("active", 9)


def test_d7_an_unreadable_reason_is_told_once() -> None:
    told = faults(after(EMPTY, new("x", weight="high")), patch("x", weight="low", reason=""))
    assert [fault.fields["problem"] for fault in told] == ["blank"]


def test_d8_a_patch_that_changes_nothing_is_no_update() -> None:
    full: dict[str, Json] = {
        "title": "Same",
        "summary": "Same.",
        "due_at": "2026-10-16T16:00:00+08:00",
        "sources": [source("e", observed_at="2026-10-10T00:00:00Z")],
    }
    state = after(EMPTY, new("x", **full))
    again = accept(state, patch("x", **full), now=LATER)
    assert (again.receipt.result, again.receipt.changes, again.changed) == ("checked", (), frozenset())
    assert again.state.items == state.items
    assert again.state.touched == state.touched


def test_d8_the_same_instant_written_differently_is_the_same_value() -> None:
    state = after(EMPTY, new("x", due_at="2026-10-16T16:00:00+08:00"))
    again = accept(state, patch("x", due_at="2026-10-16T08:00:00.0Z"))
    assert again.receipt.result == "checked"
    assert again.state.items["x"].due_at == "2026-10-16T16:00:00+08:00"


def test_d8_a_source_observed_at_the_same_instant_is_the_same_source() -> None:
    state = after(EMPTY, new("x", sources=[source("a", observed_at="2026-10-10T09:00:00+08:00")]))
    same, other = ([source("a", observed_at=f"2026-10-10T01:00:0{n}Z")] for n in (0, 1))
    assert accept(state, patch("x", sources=[*same])).receipt.result == "checked"
    assert accept(state, patch("x", sources=[*other])).receipt.result == "commit"


def test_d8_a_reason_alone_is_no_change_and_is_not_stored() -> None:
    state = after(EMPTY, new("x", reason="First."))
    again = accept(state, patch("x", reason="Second."))
    assert (again.receipt.result, again.state.items["x"].reason) == ("checked", "First.")


@pytest.mark.parametrize(
    "sources",
    [
        [source("b"), source("a")],
        [source("a"), source("b", quote="word")],
        [source("a"), source("b", channel="chat")],
        [source("a")],
    ],
)
def test_d8_sources_differ_by_any_member_and_by_order(sources: list[Json]) -> None:
    state = after(EMPTY, new("x", sources=[source("a"), source("b")]))
    assert accept(state, patch("x", sources=sources)).receipt.result == "commit"


def test_d8_a_parent_is_not_updated_by_what_happens_in_its_layer() -> None:
    state = family()
    below = accept(state, patch("flight", title="Flight moved"), now=LATER)
    assert below.state.items["trip"] == state.items["trip"]
    added = accept(state, patch("trip", children=[patch("flight"), patch("hotel"), new("taxi")]), now=LATER)
    assert [one.item for one in added.receipt.changes] == ["taxi"]
    assert added.state.items["trip"].updated_at == NOW


def test_d8_only_what_changed_counts_as_a_change() -> None:
    changed = accept(after(EMPTY, new("a"), new("b")), patch("a"), patch("b", title="B"), now=LATER)
    assert [(one.item, one.change) for one in changed.receipt.changes] == [("b", "updated")]
    assert changed.changed == {"b"}
