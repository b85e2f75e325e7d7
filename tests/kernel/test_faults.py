"""B9: what a fault says, whole: its code, its path into what was sent, and each of its fields."""

from __future__ import annotations

import pytest

from foldstate.kernel.batch import submit
from foldstate.kernel.state import State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Fault, Refused
from tests.kernel.batches import NOW, Declared, after, batch_of, family, faults, leave, merge, new, patch, source
from tests.kernel.rounds import BILL, NEWS, answer, disposed, round_of, wrong

EMPTY = State()
HERE = "batch.declarations[0]"
Told = list[tuple[str, str, dict[str, Json]]]


def whole(found: list[Fault]) -> Told:
    return [(one.code, one.path, dict(one.fields)) for one in found]


def told(state: State, *declarations: Json) -> Told:
    return whole(faults(state, *declarations))


def told_of(batch: Json) -> Told:
    verdict = submit(EMPTY, batch_id="b-1", now=NOW, batch=batch)
    assert isinstance(verdict, Refused), verdict
    return whole([*verdict.faults])


def told_in_round(dispositions: list[Json], *declarations: Json) -> Told:
    return whole(wrong(EMPTY, round_of(BILL), answer(dispositions, *declarations)))


def bad(path: str, field: str, problem: str, **figures: Json) -> tuple[str, str, dict[str, Json]]:
    return "invalid_field", path, {"field": field, "problem": problem, **figures}


def test_b9_a_batch_that_cannot_be_read_is_told_by_member() -> None:
    assert told_of([]) == [bad("batch", "batch", "not_object")]
    assert told_of({}) == [
        bad("batch.acknowledges", "acknowledges", "missing"),
        bad("batch.declarations", "declarations", "missing"),
    ]
    assert told_of({"declarations": {}, "acknowledges": "a-1", "extra": 1}) == [
        bad("batch.acknowledges", "acknowledges", "not_list"),
        bad("batch.declarations", "declarations", "not_list"),
        bad("batch.extra", "extra", "unknown_field"),
    ]
    assert told_of({"declarations": [], "acknowledges": ["a-1", 7]}) == [
        bad("batch.acknowledges[1]", "acknowledges", "not_text"),
        ("annotation_not_found", "batch.acknowledges[0]", {"annotation": "a-1"}),
    ]
    assert told_of(batch_of(new("x", reason="x" * 300_000))) == [bad("batch", "batch", "too_large", limit=256 * 1024)]


def test_b9_a_time_of_the_host_that_is_none_is_told() -> None:
    verdict = submit(EMPTY, batch_id="b-1", now="noon", batch=batch_of())
    assert isinstance(verdict, Refused)
    assert whole([*verdict.faults]) == [bad("now", "now", "time")]


def test_b9_too_many_declarations_are_told_with_their_number() -> None:
    crowd: list[Json] = [leave(f"x-{n}") for n in range(201)]
    assert told(EMPTY, *crowd)[0] == bad("batch.declarations", "declarations", "too_many", limit=200, length=201)


def test_b9_a_declaration_that_is_no_object_is_told_where_it_stands() -> None:
    assert told(EMPTY, "x", new("p", summary="s", children=[3])) == [
        bad("batch.declarations[0]", "declarations", "not_object"),
        bad("batch.declarations[1].children[0]", "declarations", "not_object"),
    ]


@pytest.mark.parametrize(
    ("item_id", "fault"),
    [
        ("A b", bad(f"{HERE}.id", "id", "id", length=3, limit=64)),
        (7, bad(f"{HERE}.id", "id", "not_text")),
        (None, bad(f"{HERE}.id", "id", "null")),
        ("root", bad(f"{HERE}.id", "id", "reserved", item="root")),
    ],
)
def test_b9_an_id_that_is_none_is_told_whole(item_id: Json, fault: tuple[str, str, dict[str, Json]]) -> None:
    assert told(EMPTY, {**new("x"), "id": item_id}) == [fault]


def test_b9_an_id_that_was_left_out_is_told_once() -> None:
    assert told(EMPTY, {"title": "T", "weight": "low", "kind": "fyi"}) == [bad(f"{HERE}.id", "id", "missing")]


@pytest.mark.parametrize(
    ("relation", "problem"),
    [
        ("keep", "relation"),
        (3, "not_text"),
        (None, "null"),
        ("supersedes:e", "relation_other_id"),
        ("merges:[g]", "merges_fewer"),
        ("merges:[]", "merges_fewer"),
    ],
)
def test_b9_a_relation_that_is_none_is_told_whole(relation: Json, problem: str) -> None:
    assert told(EMPTY, new("a", relation=relation)) == [bad(f"{HERE}.relation", "relation", problem, item="a")]


def test_b9_a_merge_inside_children_is_told_whole() -> None:
    nested = patch("trip", children=[merge("booked", "flight", "hotel")])
    assert told(family(), nested) == [bad(f"{HERE}.children[0].relation", "relation", "relation_nested", item="booked")]


@pytest.mark.parametrize(
    ("field", "value", "problem", "figures"),
    [
        ("title", "x" * 25, "too_long", {"limit": 24, "length": 25}),
        ("title", 7, "not_text", {}),
        ("title", None, "null", {}),
        ("summary", " ", "blank", {}),
        ("summary", "s\u202e", "character", {"character": "U+202E", "position": 1}),
        ("reason", "a\x00b", "character", {"character": "U+0000", "position": 1}),
        ("weight", "huge", "choice", {"allowed": ["critical", "high", "normal", "low", "trace"]}),
        ("kind", 3, "choice", {"allowed": ["needs-you", "in-progress", "done", "fyi"]}),
        ("share", 65, "share", {"limit": 64}),
        ("due_at", "soon", "time", {}),
        ("stale_after", 7, "time", {}),
        ("children", "c", "not_list", {}),
        ("sources", {}, "not_list", {}),
        ("sources", None, "null", {}),
        ("sources", [], "empty", {}),
        ("sources", [source(str(n)) for n in range(17)], "too_many", {"limit": 16, "length": 17}),
        ("note", 1, "unknown_field", {}),
    ],
)
def test_b9_a_field_at_fault_is_told_with_its_item_and_figures(
    field: str, value: Json, problem: str, figures: dict[str, Json]
) -> None:
    declared = {"reason": "r", **new("a"), field: value}
    assert told(EMPTY, declared) == [bad(f"{HERE}.{field}", field, problem, item="a", **figures)]


def test_b9_fields_that_are_required_and_missing_are_told_each() -> None:
    assert told(EMPTY, {"id": "a"}) == [
        bad(f"{HERE}.{field}", field, "missing", item="a") for field in ("kind", "title", "weight")
    ]


def test_b9_a_withdrawals_reason_is_limited_like_any_other() -> None:
    assert told(after(EMPTY, new("x")), leave("x", "r" * 501)) == [
        bad(f"{HERE}.reason", "reason", "too_long", item="x", limit=500, length=501)
    ]


def test_b9_what_a_withdrawal_does_not_carry_is_told() -> None:
    assert told(after(EMPTY, new("x")), {**leave("x"), "kind": "fyi"}) == [
        bad(f"{HERE}.kind", "kind", "withdraw_only", item="x")
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("e", [bad(f"{HERE}.sources[0]", "sources", "not_object")]),
        ({}, [bad(f"{HERE}.sources[0].{name}", name, "missing", item="a") for name in ("channel", "ref")]),
        (
            source("e", page=1, quote=None, observed_at="now"),
            [
                bad(f"{HERE}.sources[0].observed_at", "observed_at", "time", item="a"),
                bad(f"{HERE}.sources[0].page", "page", "unknown_field", item="a"),
                bad(f"{HERE}.sources[0].quote", "quote", "null", item="a"),
            ],
        ),
        (
            {"channel": " ", "ref": "x" * 501, "quote": "\x1b"},
            [
                bad(f"{HERE}.sources[0].channel", "channel", "blank", item="a"),
                bad(f"{HERE}.sources[0].quote", "quote", "character", item="a", character="U+001B", position=0),
                bad(f"{HERE}.sources[0].ref", "ref", "too_long", item="a", limit=500, length=501),
            ],
        ),
    ],
)
def test_b9_a_source_at_fault_is_told_by_member(given: Json, expected: Told) -> None:
    assert told(EMPTY, new("a", sources=[given])) == expected


def test_b9_what_lies_too_deep_is_told_at_the_layer() -> None:
    def nested(level: int) -> Declared:
        return new(f"at-{level}", summary="s", children=[nested(level + 1)] if level < 5 else [])

    assert told(EMPTY, nested(1)) == [
        bad(f"{HERE}{'.children[0]' * 3}.children", "children", "too_deep", item="at-4", limit=4)
    ]


def test_b9_what_stands_below_the_deepest_layer_is_not_read() -> None:
    deepest = new("at-4", summary="s", children=[new("at-5", title=" ")])
    above = new("at-2", summary="s", children=[new("at-3", summary="s", children=[deepest])])
    assert [one[2]["problem"] for one in told(EMPTY, new("at-1", summary="s", children=[above]))] == ["too_deep"]


def test_b9_ids_that_do_not_fit_the_state_are_told_whole() -> None:
    merged = after(after(EMPTY, new("a"), new("b")), merge("m", "a", "b"))
    assert told(EMPTY, new("x"), new("x"), new("x")) == [
        (
            "duplicate_declaration",
            "batch.declarations[1].id",
            {"item": "x", "paths": [f"batch.declarations[{n}].id" for n in range(3)]},
        )
    ]
    assert told(merged, new("m")) == [("item_exists", f"{HERE}.id", {"item": "m", "status": "active"})]
    assert told(merged, merge("a", "m", "m2")) == [
        ("item_exists", f"{HERE}.id", {"item": "a", "status": "merged"}),
        ("item_not_found", f"{HERE}.relation", {"item": "m2"}),
    ]
    assert told(merged, leave("a")) == [("item_merged", f"{HERE}.id", {"item": "a", "merged_into": "m"})]
    assert told(merged, patch("x")) == [("item_not_found", f"{HERE}.id", {"item": "x"})]
    assert told(family(), patch("errand", summary="s", children=[patch("flight")])) == [
        ("unsupported_move", f"{HERE}.children[0].id", {"item": "flight", "layer": "trip", "parent": "errand"})
    ]


def test_b9_a_tree_that_cannot_be_is_told_whole() -> None:
    assert told(family(), merge("m", "trip", "errand")) == [
        ("unsupported_merge_structure", f"{HERE}.relation", {"item": "m", "sources": ["trip"]})
    ]
    assert told(after(EMPTY, new("a"), new("b")), merge("m", "a", "b", summary="s", children=[new("c")])) == [
        ("unsupported_merge_structure", f"{HERE}.children", {"item": "m"})
    ]
    assert told(family(), merge("m", "flight", "errand")) == [
        ("merge_layer_mismatch", f"{HERE}.relation", {"item": "m", "layers": ["root", "trip"]})
    ]
    assert told(family(), patch("trip", children=[])) == [
        ("explicit_withdraw_required", f"{HERE}.children", {"item": "trip", "omitted_children": ["flight", "hotel"]})
    ]
    assert told(after(family(), leave("trip")), patch("flight")) == [
        ("inactive_parent", f"{HERE}.id", {"item": "flight", "parent": "trip"})
    ]
    assert told(family(), patch("trip", summary=None)) == [
        bad(f"{HERE}.summary", "summary", "summary_needed", item="trip")
    ]


@pytest.mark.parametrize(
    ("declared", "because"),
    [
        (patch("heavy", weight="low"), "lower_weight"),
        (patch("over", share=None), "share_cancelled"),
        (patch("over", share=9), "share"),
        (new("x", share=3), "share"),
        ({"id": "over", "relation": "withdraw"}, "withdraw"),
    ],
)
def test_b9_a_missing_reason_is_told_with_what_it_is_owed_for(declared: Declared, because: str) -> None:
    state = after(EMPTY, new("heavy", weight="high"), new("over", share=9, reason="r"))
    assert told(state, declared) == [
        bad(f"{HERE}.reason", "reason", "reason_needed", item=declared["id"], because=because)
    ]


def test_b9_dispositions_that_cannot_be_read_are_told_by_member() -> None:
    unlisted = wrong(EMPTY, round_of(), {"dispositions": {}, "batch": batch_of()})
    assert whole(unlisted) == [bad("dispositions", "dispositions", "not_list")]
    assert told_in_round(["e-1"]) == [bad("dispositions[0]", "dispositions", "not_object")]
    assert told_in_round([{}]) == [
        bad(f"dispositions[0].{name}", name, "missing") for name in ("disposition", "event", "why")
    ]
    assert told_in_round([{"event": 7, "disposition": "ignored", "why": " ", "related": ["a", 7], "because": 1}]) == [
        bad("dispositions[0].because", "because", "unknown_field"),
        bad("dispositions[0].disposition", "disposition", "choice", allowed=["noise", "duplicate", "used", "deferred"]),
        bad("dispositions[0].event", "event", "not_text"),
        bad("dispositions[0].related[1]", "related", "not_text"),
        bad("dispositions[0].why", "why", "blank"),
        ("related_not_found", "dispositions[0].related[0]", {"item": "a"}),
    ]
    assert told_in_round([{**disposed("e-1"), "related": "a"}]) == [
        bad("dispositions[0].related", "related", "not_list")
    ]


def test_b9_an_answer_without_its_members_is_told_by_member() -> None:
    assert whole(wrong(EMPTY, round_of(BILL), {"notes": []})) == [
        bad("batch", "batch", "missing"),
        bad("dispositions", "dispositions", "missing"),
        bad("notes", "notes", "unknown_field"),
    ]


def test_b9_a_disposition_that_does_not_fit_its_round_is_told_whole() -> None:
    output = answer([disposed("e-2"), disposed("e-2"), disposed("e-9")])
    assert whole(wrong(EMPTY, round_of(BILL, NEWS), output)) == [
        ("disposition_missing", "dispositions", {"events": ["e-1"]}),
        ("disposition_duplicate", "dispositions[1].event", {"event": "e-2"}),
        ("disposition_unknown_event", "dispositions[2].event", {"event": "e-9"}),
    ]


def test_b9_what_an_event_is_wrongly_related_to_is_told_with_the_event_if_it_is_known() -> None:
    assert told_in_round([disposed("e-1", "noise", "a")]) == [
        bad("dispositions[0].related", "related", "noise_related", event="e-1")
    ]
    assert told_in_round([disposed("e-1", "used", "a")]) == [
        ("related_not_found", "dispositions[0].related[0]", {"event": "e-1", "item": "a"})
    ]
    assert told_in_round([{"disposition": "noise", "why": "w", "related": ["a"]}]) == [
        bad("dispositions[0].event", "event", "missing"),
        bad("dispositions[0].related", "related", "noise_related"),
    ]


def test_b9_evidence_that_does_not_hold_is_told_whole() -> None:
    used = [disposed("e-1")]
    assert told_in_round([*used], new("x")) == [("source_required", f"{HERE}.sources", {"item": "x"})]
    assert told_in_round([*used], new("x", sources=[source("e-7")])) == [
        ("event_not_found", f"{HERE}.sources[0].ref", {"item": "x", "event": "e-7"})
    ]
    assert told_in_round([*used], new("x", sources=[source("e-1", channel="chat", quote="Nope")])) == [
        (
            "channel_mismatch",
            f"{HERE}.sources[0].channel",
            {"item": "x", "event": "e-1", "channel": "chat", "expected": "mail"},
        ),
        ("quote_not_found", f"{HERE}.sources[0].quote", {"item": "x", "event": "e-1", "quote": "Nope"}),
    ]
    assert told_in_round([disposed("e-1", "deferred")], new("x", sources=[source("e-1")])) == [
        ("cited_not_used", f"{HERE}.sources[0]", {"item": "x", "event": "e-1", "disposition": "deferred"})
    ]


def test_b9_a_late_batch_and_a_layer_over_its_budget_are_told_whole() -> None:
    state = after(after(EMPTY, new("x"), new("y")), patch("x", title="B"), patch("y", title="B"))
    assert whole(faults(state, patch("y", title="C"), patch("x", title="C"), base=1)) == [
        ("stale_base", "batch", {"current": 2, "changed": ["x", "y"]})
    ]
    assert told(EMPTY, *(new(f"c-{n}", weight="critical") for n in (2, 0, 1))) == [
        (
            "layer_budget",
            "batch.declarations",
            {
                "layer": "root",
                "budget": 64,
                "declared": 72,
                "over": 8,
                "shares": [{"item": f"c-{n}", "share": 24} for n in range(3)],
            },
        )
    ]


def test_b9_what_comes_alone_is_told_whole() -> None:
    accepted = submit(EMPTY, batch_id="b-1", now=NOW, batch=batch_of(new("x")))
    assert not isinstance(accepted, Refused)
    verdict = submit(accepted.state, batch_id="b-1", now=NOW, batch=batch_of(), prior=accepted.record)
    assert isinstance(verdict, Refused)
    assert whole([*verdict.faults]) == [("batch_conflict", "batch_id", {"batch_id": "b-1", "at": NOW})]
    outputs: tuple[tuple[Json, dict[str, Json]], ...] = (
        ("nothing", {"problem": "no_object"}),
        (7, {"problem": "no_object"}),
        ("{} {}", {"problem": "several_objects", "count": 2}),
        ('Well: {"a": ', {"problem": "broken_json", "position": 6}),
    )
    for output, fields in outputs:
        assert whole(wrong(EMPTY, round_of(BILL), output)) == [("invalid_output", "output", fields)]
