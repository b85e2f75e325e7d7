"""R1 to R5, R7 and R8: what an answer owes its round, and what an editor is given."""

from __future__ import annotations

import json

import pytest

from foldstate.kernel.annotations import annotate
from foldstate.kernel.event import Feedback, Reminder
from foldstate.kernel.round import cited_ids, decide, replay, round_input
from foldstate.kernel.state import Annotation, State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, Refused
from foldstate.kernel.view import Profile
from tests.kernel.batches import LATER, LONG_AFTER, NOW, after, family, leave, merge, new, patch, source
from tests.kernel.rounds import BILL, NEWS, OLD, answer, disposed, event, round_of, settle, wrong, wrong_codes

EMPTY = State()
GOOD = answer(
    [disposed("e-1", "used", "bill"), disposed("e-2", "noise")],
    new("bill", sources=[source("e-1", quote="due on 15 October")]),
)


def test_an_answer_that_owes_nothing_is_accepted_as_text_or_as_a_value() -> None:
    round_ = round_of(BILL, NEWS)
    as_value = settle(EMPTY, round_, GOOD)
    as_text = settle(EMPTY, round_, f"Here you are:\n```json\n{json.dumps(GOOD)}\n```")
    assert as_value == as_text
    assert as_value.receipt.changes[0].item == "bill"
    assert as_value.state.items["bill"].created_at == LATER


def test_r1_each_event_has_a_disposition() -> None:
    told = wrong(EMPTY, round_of(BILL, NEWS, OLD), answer([disposed("e-2", "noise")]))
    assert [(one.code, one.path, one.fields) for one in told] == [
        ("disposition_missing", "dispositions", {"events": ["e-1", "e-0"]})
    ]


def test_r1_a_disposition_whose_event_could_not_be_read_may_be_the_one_that_is_missing() -> None:
    unread: Json = {"event": 7, "disposition": "noise", "why": "w"}
    assert wrong_codes(EMPTY, round_of(BILL), answer([unread])) == ["invalid_field"]
    assert wrong_codes(EMPTY, round_of(BILL, NEWS), answer([unread])) == ["invalid_field", "disposition_missing"]


def test_r1_no_event_has_two() -> None:
    told = wrong(EMPTY, round_of(NEWS), answer([disposed("e-2", "noise"), disposed("e-2", "deferred")]))
    assert [(one.code, one.path, one.fields) for one in told] == [
        ("disposition_duplicate", "dispositions[1].event", {"event": "e-2"})
    ]


def test_r1_no_other_event_has_one() -> None:
    told = wrong(EMPTY, round_of(NEWS), answer([disposed("e-2", "noise"), disposed("e-9")]), event("e-9"))
    assert [(one.code, one.fields) for one in told] == [("disposition_unknown_event", {"event": "e-9"})]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"event": "e-2", "disposition": "ignored", "why": "w"}, "disposition"),
        ({"event": "e-2", "disposition": "noise"}, "why"),
        ({"event": "e-2", "disposition": "noise", "why": " "}, "why"),
        ({"event": "e-2", "disposition": "noise", "why": "x" * 501}, "why"),
        ({"event": "e-2", "disposition": "noise", "why": "w", "related": "bill"}, "related"),
        ({"event": "e-2", "disposition": "noise", "why": "w", "because": "x"}, "because"),
        ({"disposition": "noise", "why": "w"}, "event"),
        ("e-2", "dispositions"),
    ],
)
def test_r2_a_disposition_that_breaks_a_rule_is_refused(bad: Json, field: str) -> None:
    told = wrong(EMPTY, round_of(NEWS), answer([bad]))
    assert [(one.code, one.fields["field"]) for one in told] == [("invalid_field", field)]


def test_r2_related_ids_exist_or_are_declared_in_the_batch() -> None:
    state = after(family(), leave("errand"))
    nested = new("p", summary="s", sources=[source("e-1")], children=[new("c", sources=[source("e-1")])])
    settle(state, round_of(BILL), answer([disposed("e-1", "used", "trip", "errand", "p", "c")], nested))
    told = wrong(state, round_of(BILL), answer([disposed("e-1", "used", "trip", "nobody")]))
    assert [(one.code, one.path, one.fields["item"]) for one in told] == [
        ("related_not_found", "dispositions[0].related[1]", "nobody")
    ]


def test_r2_related_ids_are_not_judged_where_the_batch_could_not_be_read() -> None:
    output: Json = {"dispositions": [disposed("e-1", "used", "nobody")], "batch": []}
    assert wrong_codes(EMPTY, round_of(BILL), output) == ["invalid_field"]


def test_r2_an_id_that_the_batch_declares_badly_is_told_there_alone() -> None:
    output = answer([disposed("e-1", "used", "Bad Id")], new("Bad Id", sources=[source("e-1")]))
    assert [one.path for one in wrong(EMPTY, round_of(BILL), output)] == ["batch.declarations[0].id"]


def test_r2_noise_is_related_to_nothing() -> None:
    told = wrong(family(), round_of(NEWS), answer([disposed("e-2", "noise", "trip")]))
    assert [(one.code, one.fields["field"]) for one in told] == [("invalid_field", "related")]


@pytest.mark.parametrize("disposition", ["noise", "duplicate", "deferred"])
def test_r3_an_event_of_the_round_that_is_cited_is_used(disposition: str) -> None:
    cited = new("bill", sources=[source("e-1")])
    told = wrong(EMPTY, round_of(BILL), answer([disposed("e-1", disposition)], cited))
    assert [one.code for one in told] == ["cited_not_used"]
    assert told[0].fields == {"item": "bill", "event": "e-1", "disposition": disposition}


def test_r3_a_citation_that_does_not_fit_is_told_once_for_each_event_where_it_is_first_cited() -> None:
    cites: list[Json] = [source("e-9"), {"channel": "web", "ref": "page"}, source("e-1"), source("e-1", quote="bill")]
    output = answer([disposed("e-1", "noise")], new("a", sources=cites), new("b", sources=[source("e-1")]))
    told = wrong(EMPTY, round_of(BILL), output, event("e-9"))
    assert [(one.code, one.path) for one in told] == [("cited_not_used", "batch.declarations[0].sources[2]")]


def test_r3_a_cited_event_whose_disposition_is_missing_or_unreadable_is_told_by_that_alone() -> None:
    cited = new("bill", sources=[source("e-1")])
    assert wrong_codes(EMPTY, round_of(BILL), answer([], cited)) == ["disposition_missing"]
    unreadable = wrong(EMPTY, round_of(BILL), answer([disposed("e-1", "ignored")], cited))
    assert [(one.code, one.fields["field"]) for one in unreadable] == [("invalid_field", "disposition")]


def test_r3_used_need_not_change_anything() -> None:
    assert settle(family(), round_of(BILL), answer([disposed("e-1", "used", "errand")])).receipt.result == "checked"


def test_r4_new_and_nested_items_cite_an_event() -> None:
    nested = new("p", summary="s", sources=[source("e-1")], children=[new("c")])
    told = wrong(
        EMPTY, round_of(BILL), answer([disposed("e-1")], nested, new("q", sources=[{"channel": "web", "ref": "page"}]))
    )
    assert [(one.code, one.fields["item"]) for one in told] == [
        ("source_required", "c"),
        ("source_required", "q"),
    ]


def test_r4_inherited_events_count_for_a_merge() -> None:
    cited = settle(
        EMPTY, round_of(BILL), answer([disposed("e-1")], *(new(one, sources=[source("e-1")]) for one in "ab"))
    ).state
    settle(cited, round_of(base=cited.revision), answer([], merge("m", "a", "b")))
    bare = after(EMPTY, new("a"), new("b"))
    assert wrong_codes(bare, round_of(base=1), answer([], merge("m", "a", "b"))) == ["source_required"]


def test_r4_a_merge_of_bare_items_may_cite_an_event_itself() -> None:
    bare = after(EMPTY, new("a"), new("b"))
    merged = merge("m", "a", "b", sources=[source("e-1")])
    settle(bare, round_of(BILL, base=1), answer([disposed("e-1")], merged))


def test_r4_sources_that_could_not_be_read_are_given_the_benefit_of_the_doubt() -> None:
    unread = wrong(EMPTY, round_of(), answer([], new("x", sources=["event:e-1"])))
    assert [one.code for one in unread] == ["invalid_field"]
    half_read = new("x", sources=[source("e-9", quote="\x1b")])
    assert wrong_codes(EMPTY, round_of(), answer([], half_read)) == ["invalid_field"]
    assert wrong_codes(after(EMPTY, new("a")), round_of(base=1), answer([], merge("m", "a", "b"))) == ["item_not_found"]


def test_r4_a_supersede_needs_none() -> None:
    state = after(family(), leave("errand"))
    settle(state, round_of(base=2), answer([], patch("errand"), patch("trip", title="Moved")))


def test_r5_a_cited_event_is_in_the_ledger() -> None:
    cited = new("x", sources=[source("e-7")])
    told = wrong(EMPTY, round_of(), answer([], cited))
    assert [(one.code, one.path, one.fields["event"]) for one in told] == [
        ("event_not_found", "batch.declarations[0].sources[0].ref", "e-7")
    ]
    settle(EMPTY, round_of(), answer([], cited), event("e-7"))


def test_r5_the_channel_is_the_events_own() -> None:
    told = wrong(EMPTY, round_of(BILL), answer([disposed("e-1")], new("x", sources=[source("e-1", channel="email")])))
    assert [(one.code, one.fields["channel"], one.fields["expected"]) for one in told] == [
        ("channel_mismatch", "email", "mail")
    ]


def test_r7_a_deferred_event_that_is_shown_again_may_have_one_disposition_and_needs_none() -> None:
    round_ = round_of(deferred=[OLD], review=True)
    settle(EMPTY, round_, answer([]))
    settle(EMPTY, round_, answer([disposed("e-0", "noise")]))
    assert wrong_codes(EMPTY, round_, answer([disposed("e-0"), disposed("e-0")])) == ["disposition_duplicate"]
    taken = settle(EMPTY, round_, answer([], new("bike", sources=[source("e-0", channel="chat")])))
    assert taken.receipt.result == "commit"


def test_r7_r3_does_not_apply_to_a_deferred_event() -> None:
    cited = new("bike", sources=[source("e-0", channel="chat")])
    settle(EMPTY, round_of(deferred=[OLD], review=True), answer([disposed("e-0", "noise")], cited))


def test_r8_what_an_event_is_related_to_is_recorded_in_the_order_given() -> None:
    output = answer([disposed("e-1", "duplicate", "trip", "errand")])
    record = settle(family(), round_of(BILL, base=1), output).record
    assert record is not None
    assert [one.related for one in record.dispositions] == [("trip", "errand")]


def test_r8_dispositions_are_recorded_also_when_nothing_changed() -> None:
    record = settle(EMPTY, round_of(NEWS), answer([disposed("e-2", "noise", why="Not ours.")])).record
    assert record is not None
    assert record.result == "checked"
    assert [(one.event, one.disposition, one.why, one.related) for one in record.dispositions] == [
        ("e-2", "noise", "Not ours.", ())
    ]


def test_r9_the_rounds_base_and_time_are_those_it_was_begun_with() -> None:
    state = after(family(), patch("errand", title="Moved"), now=LONG_AFTER)
    assert wrong_codes(state, round_of(base=1), answer([], patch("errand", title="Late"))) == ["stale_base"]
    record = settle(family(), round_of(base=1), answer([], patch("errand", title="In time"))).record
    assert record is not None
    assert (record.at, record.base_revision, record.batch_id) == (LATER, 1, "r-1")


@pytest.mark.parametrize("output", ["no json at all", "{} {}", [], None, 7, '{"dispositions": [], "batch": '])
def test_an_answer_that_is_not_one_object_is_invalid_and_comes_alone(output: Json) -> None:
    assert wrong_codes(EMPTY, round_of(NEWS), output) == ["invalid_output"]


def test_dispositions_and_batch_are_both_required_and_nothing_else_is_taken() -> None:
    told = wrong(EMPTY, round_of(NEWS), {"notes": []})
    assert [(one.code, one.path) for one in told] == [
        ("invalid_field", "batch"),
        ("invalid_field", "dispositions"),
        ("invalid_field", "notes"),
    ]


def test_b8_faults_of_the_round_stand_between_reasons_and_acknowledgements() -> None:
    state = after(EMPTY, new("x", weight="high"))
    output = answer(
        [disposed("e-1", "noise", "x"), disposed("e-9")],
        patch("x", weight="low", sources=[source("e-8")]),
        new("y", title="t" * 25),
        acknowledges=("a-1",),
    )
    assert wrong_codes(state, round_of(BILL, NEWS, base=1), output) == [
        "invalid_field",
        "invalid_field",
        "disposition_missing",
        "invalid_field",
        "disposition_unknown_event",
        "event_not_found",
        "source_required",
        "annotation_not_found",
    ]


def test_b5_an_answer_sent_again_is_a_replay_whether_as_text_or_as_a_value() -> None:
    round_ = round_of(BILL, NEWS)
    first = settle(EMPTY, round_, GOOD)
    assert first.record is not None
    for output in (GOOD, json.dumps(GOOD, indent=2)):
        replayed = replay(first.state, first.record, output)
        assert isinstance(replayed, Accepted)
        assert replayed.receipt.replayed
        assert replayed == decide(first.state, round_, output, ledger={}, prior=first.record)
    other = answer([disposed("e-1", "used", "bill", why="Another reason."), disposed("e-2", "noise")], new("bill"))
    for conflicting in (other, "nothing"):
        verdict = replay(first.state, first.record, conflicting)
        assert isinstance(verdict, Refused)
        assert [fault.code for fault in verdict.faults] == ["batch_conflict"]


def test_cited_ids_are_those_an_answer_cites_or_names() -> None:
    child = new("c", sources=[source("deep"), {"channel": "web", "ref": "page"}])
    output = answer([disposed("named")], patch("x", children=[child], sources=[source("top")]))
    assert cited_ids(output) == cited_ids(json.dumps(output)) == {"named", "deep", "top"}


@pytest.mark.parametrize(
    "output",
    [
        None,
        1,
        "text",
        [],
        {"dispositions": 1, "batch": []},
        {"batch": {"declarations": [1, {"sources": [2, {"ref": 3}]}]}},
    ],
)
def test_cited_ids_are_total(output: Json) -> None:
    assert cited_ids(output) == frozenset()


def test_an_editor_is_given_what_the_round_names_besides_the_newest_not_active() -> None:
    state = EMPTY
    for n in range(103):
        state = after(state, new(f"x-{n}"))
        state = after(state, leave(f"x-{n}"), now=f"2026-10-10T{9 + n // 60:02}:{n % 60:02}:00+08:00")
    state = annotate(state, Annotation("a-1", "x-0", "Why did it go?", NOW))
    pressed = event("e-1", feedback=Feedback("x-1", "later", "snooze", "button", until=LONG_AFTER))
    due = event("e-2", reminder=Reminder("e-1", "x-2", "withdrawn", "x-2", LATER, NOW, 0))
    given = round_input(state, round_of(pressed, due, base=state.revision), Profile(purpose="Focus."))
    names = {one.id for one in given.state.not_active}
    assert (len(names), given.state.not_active_omitted) == (103, 0)
    bare = round_input(state, round_of(base=state.revision), None)
    assert (len(bare.state.not_active), bare.state.not_active_omitted) == (101, 2)
    assert [note.id for note in bare.pending_annotations] == ["a-1"]
    assert (given.batch_id, given.now, given.deferred) == ("r-1", LATER, None)


def test_a_review_is_given_the_deferred_events() -> None:
    given = round_input(EMPTY, round_of(deferred=[OLD], review=True), None)
    assert given.deferred == (OLD,)
