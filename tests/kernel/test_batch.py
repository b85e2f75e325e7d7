"""B1 to B9: all or nothing, acknowledgements, results, replays, stale bases, recorded time, the order of faults."""

from __future__ import annotations

import msgspec
import pytest

from foldstate.kernel.annotations import annotate, annotation_faults
from foldstate.kernel.batch import submit
from foldstate.kernel.fingerprint import fingerprint
from foldstate.kernel.projection import state_view
from foldstate.kernel.state import Annotation, State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, ItemChange, LayerUse, Receipt, Record, Refused, Verdict
from tests.kernel.batches import (
    LATER,
    LONG_AFTER,
    NOW,
    accept,
    after,
    batch_of,
    family,
    faults,
    leave,
    merge,
    new,
    only_fault,
    patch,
    send,
    source,
)

EMPTY = State()


def noted(state: State, *notes: tuple[str, str]) -> State:
    for note, item in notes:
        state = annotate(state, Annotation(note, item, "Please look.", NOW))
    return state


def record_of(accepted: Accepted) -> Record:
    assert accepted.record is not None
    return accepted.record


def again(state: State, prior: Record, batch: Json) -> Verdict:
    return submit(state, batch_id=prior.batch_id, now=LONG_AFTER, batch=batch, prior=prior)


def test_b1_a_refused_batch_changes_nothing_and_the_same_id_may_be_used_again() -> None:
    state = family()
    before = msgspec.json.encode(state)
    assert isinstance(send(state, new("x"), patch("nobody")), Refused)
    assert msgspec.json.encode(state) == before
    assert accept(state, new("x")).receipt.batch_id == "b-1"


def test_b3_only_annotations_that_exist_are_acknowledged() -> None:
    state = noted(family(), ("a-1", "trip"))
    told = faults(state, acknowledges=("a-1", "a-2"))
    assert [(one.code, one.path, one.fields) for one in told] == [
        ("annotation_not_found", "batch.acknowledges[1]", {"annotation": "a-2"})
    ]


def test_b3_acknowledging_again_or_twice_has_no_further_effect() -> None:
    state = noted(family(), ("a-2", "trip"), ("a-1", "errand"))
    first = accept(state, acknowledges=("a-2", "a-1", "a-2"))
    assert (first.receipt.result, first.receipt.acknowledged) == ("acknowledge", ("a-1", "a-2"))
    second = accept(first.state, acknowledges=("a-1",))
    assert (second.receipt.result, second.receipt.acknowledged) == ("checked", ())


def test_b4_what_a_batch_comes_to_is_its_result() -> None:
    state = noted(family(), ("a-1", "trip"))
    assert accept(state, new("x"), acknowledges=("a-1",)).receipt.result == "commit"
    assert accept(state, acknowledges=("a-1",)).receipt.result == "acknowledge"
    assert accept(state).receipt.result == "checked"
    assert accept(state, patch("errand")).receipt.result == "checked"


def test_b4_only_checked_moves_last_checked_at() -> None:
    state = noted(family(), ("a-1", "trip"))
    assert accept(state, new("x"), now=LATER).state.last_checked_at is None
    assert accept(state, acknowledges=("a-1",), now=LATER).state.last_checked_at is None
    checked = accept(state, now=LATER)
    assert checked.state.last_checked_at == LATER
    assert accept(checked.state, new("x"), now=LONG_AFTER).state.last_checked_at == LATER


def test_b4_a_record_has_all_of_the_batch_and_of_its_receipt() -> None:
    batch = batch_of(new("b"), new("a"))
    accepted = accept(EMPTY, new("b"), new("a"), base=0)
    receipt = Receipt(
        batch_id="b-1",
        result="commit",
        revision=1,
        at=NOW,
        replayed=False,
        changes=(ItemChange("a", "created"), ItemChange("b", "created")),
        acknowledged=(),
        layers={"root": LayerUse(64, 12)},
    )
    assert accepted.receipt == receipt
    assert accepted.record == Record("b-1", NOW, "commit", 1, 0, batch, fingerprint({"batch": batch}), receipt, ())


def test_b4_a_check_of_an_empty_state_leaves_it_empty() -> None:
    assert accept(EMPTY).state == State(recorded_at=NOW, last_checked_at=NOW)


def test_b5_the_same_content_again_is_answered_with_the_first_receipt() -> None:
    first = accept(EMPTY, new("x"))
    assert not first.receipt.replayed
    replay = again(first.state, record_of(first), batch_of(new("x")))
    assert isinstance(replay, Accepted)
    assert replay.receipt == msgspec.structs.replace(first.receipt, replayed=True)
    assert (replay.state, replay.record, replay.changed) == (first.state, None, frozenset())


def test_b5_content_is_compared_as_parsed() -> None:
    declared = new("x", share=6, reason="r")
    first = accept(EMPTY, declared)
    reordered: Json = {"acknowledges": [], "declarations": [dict(reversed(declared.items()))]}
    assert isinstance(again(first.state, record_of(first), reordered), Accepted)
    assert isinstance(again(first.state, record_of(first), batch_of({**declared, "share": 6.0})), Accepted)


@pytest.mark.parametrize("other", [batch_of(new("x"), new("y")), batch_of(), batch_of(new("x", title="B")), None, True])
def test_b5_other_content_under_an_accepted_id_is_a_conflict_and_comes_alone(other: Json) -> None:
    first = accept(EMPTY, new("x"))
    verdict = again(first.state, record_of(first), other)
    assert isinstance(verdict, Refused)
    assert [fault.code for fault in verdict.faults] == ["batch_conflict"]


def test_b5_true_is_not_one() -> None:
    first = accept(EMPTY, new("x", share=1, reason="r"))
    assert isinstance(again(first.state, record_of(first), batch_of(new("x", share=True, reason="r"))), Refused)


def test_b5_is_judged_before_everything_else() -> None:
    first = accept(EMPTY, new("x"))
    moved = after(first.state, patch("x", title="Moved"))
    batch = batch_of(new("x"))
    verdict = submit(moved, batch_id="b-1", now=LATER, batch=batch, base_revision=0, prior=record_of(first))
    assert isinstance(verdict, Accepted)


def test_b6_commits_and_acknowledgements_count_as_revisions() -> None:
    state = noted(family(), ("a-1", "trip"))
    assert EMPTY.revision == 0
    assert state.revision == 1
    acknowledged = accept(state, acknowledges=("a-1",)).state
    assert acknowledged.revision == 2
    assert accept(acknowledged).state.revision == 2


def test_b6_a_batch_on_what_changed_later_is_refused() -> None:
    state = after(family(), patch("errand", title="Moved"))
    fault = only_fault(state, patch("errand", title="Late"), base=1)
    assert (fault.code, fault.fields) == ("stale_base", {"current": 2, "changed": ["errand"]})
    assert accept(state, patch("errand", title="Late"), base=2).receipt.revision == 3
    assert accept(state, patch("flight", title="Late"), base=1).receipt.revision == 3


def test_b6_asks_for_every_id_that_the_batch_names() -> None:
    state = after(family(), patch("flight", title="Moved"))
    nested = patch("trip", children=[patch("flight"), patch("hotel")])
    for declared in (nested, leave("flight"), merge("both", "flight", "hotel")):
        assert only_fault(state, declared, base=1).fields["changed"] == ["flight"]


def test_b6_being_withdrawn_with_an_ancestor_counts() -> None:
    state = after(family(), leave("trip"))
    assert "stale_base" in [one.code for one in faults(state, patch("flight"), base=1)]


def test_b6_an_id_created_meanwhile_exists() -> None:
    state = after(family(), new("x"))
    assert [one.code for one in faults(state, new("x"), base=1)] == ["item_exists"]


def test_b6_an_id_that_never_was_did_not_change() -> None:
    assert [one.code for one in faults(family(), patch("nobody"), base=0)] == ["item_not_found"]


def test_b6_annotations_and_acknowledgements_do_not_count() -> None:
    state = accept(noted(family(), ("a-1", "errand")), acknowledges=("a-1",)).state
    assert accept(state, patch("errand", title="Fine"), base=1).receipt.result == "commit"


def test_b7_recorded_time_never_runs_backwards() -> None:
    state = after(EMPTY, new("x"), now=LATER)
    early = accept(state, new("y"), now=NOW)
    assert (early.receipt.at, early.state.items["y"].created_at, early.state.recorded_at) == (LATER, LATER, LATER)


def test_b7_a_time_is_compared_as_an_instant_and_kept_as_given() -> None:
    state = after(EMPTY, new("x"), now="2026-10-10T09:00:00+08:00")
    assert accept(state, new("y"), now="2026-10-10T01:00:01Z").receipt.at == "2026-10-10T01:00:01Z"


def test_b7_a_time_that_is_none_is_refused() -> None:
    verdict = submit(EMPTY, batch_id="b", now="2026-10-10T09:00:00", batch=batch_of())
    assert isinstance(verdict, Refused)
    assert [(fault.path, fault.fields["problem"]) for fault in verdict.faults] == [("now", "time")]


def test_b8_faults_come_in_the_order_of_their_kinds() -> None:
    state = noted(after(family(), patch("errand", title="Moved"), leave("hotel")), ("a-1", "trip"))
    told = faults(
        state,
        *(new(f"big-{n}", weight="critical") for n in range(3)),
        patch("errand", weight="trace"),
        patch("trip", children=[]),
        patch("nobody"),
        new("twice"),
        new("twice"),
        new("long", title="x" * 25),
        acknowledges=("a-9",),
        base=1,
    )
    assert [fault.code for fault in told] == [
        "invalid_field",
        "duplicate_declaration",
        "item_not_found",
        "explicit_withdraw_required",
        "invalid_field",
        "annotation_not_found",
        "stale_base",
        "layer_budget",
    ]


def test_b8_faults_of_structure_come_after_those_of_identity() -> None:
    state = after(EMPTY, new("a"), new("b"))
    told = faults(state, new("p", children=[new("c")]), merge("m", "a", "b", children=[new("d")]), patch("nobody"))
    assert [(fault.code, fault.path) for fault in told] == [
        ("item_not_found", "batch.declarations[2].id"),
        ("invalid_field", "batch.declarations[0].summary"),
        ("unsupported_merge_structure", "batch.declarations[1].children"),
    ]


def test_b8_nothing_is_said_of_a_field_that_could_not_be_read() -> None:
    full = after(EMPTY, new("a", share=60, reason="r"), new("b", share=4, reason="r"))
    assert only_fault(full, new("x", weight="huge")).fields["problem"] == "choice"
    assert only_fault(full, new("x", share=99, reason="r")).fields["problem"] == "share"
    assert only_fault(EMPTY, new("p", summary=" ", children=[new("c")])).fields["problem"] == "blank"


def test_b8_what_names_an_id_twice_is_set_aside_and_takes_no_share() -> None:
    state = after(EMPTY, *(new(f"c-{n}", weight="critical") for n in range(2)), new("a"), new("b"))
    doubled = (leave("a"), merge("m", "a", "b", weight="critical"))
    assert [fault.code for fault in faults(state, *doubled)] == ["duplicate_declaration"]


def test_b8_at_most_20_faults_are_told() -> None:
    assert len(faults(EMPTY, *(patch(f"x-{n}") for n in range(50)))) == 20


def test_b8_a_fault_that_follows_from_another_is_not_told() -> None:
    below_unknown = patch("nobody", children=[new("c")])
    assert [one.code for one in faults(family(), below_unknown)] == ["item_not_found"]
    unreadable_weight = new("x", weight="enormous")
    assert [one.code for one in faults(after(EMPTY, new("a", share=60, reason="r")), unreadable_weight)] == [
        "invalid_field"
    ]
    gone = after(family(), leave("trip"))
    parent_unread = {**patch("trip"), "relation": "restores:trip"}
    assert [one.code for one in faults(gone, parent_unread, patch("flight"))] == ["invalid_field"]


def test_b9_a_fault_has_a_path_into_what_was_sent() -> None:
    bad = new("p", summary="s", children=[new("c", title="x" * 30)])
    assert only_fault(EMPTY, new("ok"), bad).path == "batch.declarations[1].children[0].title"


def test_a_receipt_names_the_layers_that_were_touched() -> None:
    changed = accept(family(), new("x"), patch("flight", weight="high"))
    assert {name: (use.budget, use.used) for name, use in changed.receipt.layers.items()} == {
        "root": (64, 18),
        "trip": (64, 18),
    }
    assert accept(family()).receipt.layers == {}


def test_an_annotation_shows_on_the_last_successor_and_stays_pending() -> None:
    state = noted(family(), ("a-1", "flight"))
    state = after(state, merge("booked", "flight", "hotel"))
    state = noted(state, ("a-2", "flight"))
    trip = next(item for item in state_view(state, LATER).root.items if item.id == "trip")
    assert trip.children is not None
    assert [(one.id, one.item) for one in trip.children.items[0].annotations] == [("a-1", "flight"), ("a-2", "flight")]
    gone = after(state, leave("trip"))
    assert [one.status for one in gone.annotations.values()] == ["saved", "saved"]
    assert noted(gone, ("a-3", "trip")).annotations["a-3"].status == "saved"


def test_an_annotation_is_no_revision_and_no_update() -> None:
    state = family()
    assert noted(state, ("a-1", "trip")).revision == state.revision
    assert noted(state, ("a-1", "trip")).items == state.items


def test_an_annotation_has_1_to_500_code_points_and_may_have_new_lines() -> None:
    state = family()
    assert annotation_faults(state, "trip", "字" * 499 + "\n") == ()
    assert [one.fields["problem"] for one in annotation_faults(state, "trip", "字" * 501)] == ["too_long"]
    assert [one.code for one in annotation_faults(state, "nobody", " ")] == ["item_not_found", "invalid_field"]
    with pytest.raises(ValueError, match="item_not_found"):
        annotate(state, Annotation("a-1", "nobody", "Text", NOW))


def test_ten_declarations_cost_no_more_in_a_session_with_many_items_than_copying_its_tables() -> None:
    """Counted in looked-up items, not in time: what a batch doesn't name isn't looked at."""
    state = after(EMPTY, new("p", summary="s", children=[new("c")]))
    for n in range(300):
        state = after(state, new(f"old-{n}", sources=[source("e")]))
        state = after(state, leave(f"old-{n}"))

    seen: list[str] = []

    class Watched(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            seen.append(key)
            return super().__getitem__(key)

        def values(self) -> object:  # type: ignore[override]
            raise AssertionError("every item was looked at")

        def items(self) -> object:  # type: ignore[override]
            raise AssertionError("every item was looked at")

    watched = msgspec.structs.replace(state, items=Watched(state.items))
    ten = [new(f"fresh-{n}", weight="trace") for n in range(7)]
    accept(watched, *ten, patch("c", title="C"), patch("old-1"), leave("old-2"))
    assert set(seen) <= {"p", "c", "old-1", "old-2"}
