"""Section 1: what a single value may be."""

from __future__ import annotations

import msgspec
import pytest

from foldstate.kernel.batch import submit
from foldstate.kernel.state import Source, State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Refused
from tests.kernel.batches import NOW, after, batch_of, codes, faults, leave, merge, new, only_fault, patch, source

EMPTY = State()


@pytest.mark.parametrize("item_id", ["a", "0", "-", "visa-materials", "a" * 64])
def test_an_id_of_lower_case_letters_digits_and_hyphens_is_accepted(item_id: str) -> None:
    assert item_id in after(EMPTY, new(item_id)).items


@pytest.mark.parametrize("item_id", ["", "A", "a" * 65, "a_b", "a b", "签证", "a\n", 7, None, True])
def test_any_other_id_is_refused(item_id: Json) -> None:
    fault = only_fault(EMPTY, {**new("x"), "id": item_id})
    assert (fault.code, fault.fields["field"]) == ("invalid_field", "id")
    assert fault.path == "batch.declarations[0].id"


def test_root_is_reserved() -> None:
    fault = only_fault(EMPTY, new("root"))
    assert (fault.code, fault.fields["field"], fault.fields["problem"]) == ("invalid_field", "id", "reserved")


@pytest.mark.parametrize("title", ["a", "签" * 24, "\U0001f600" * 24, " spaced "])
def test_a_title_has_1_to_24_code_points_and_is_kept_as_sent(title: str) -> None:
    assert after(EMPTY, new("x", title=title)).items["x"].title == title


def test_a_title_that_is_too_long_is_refused_with_its_length() -> None:
    fault = only_fault(EMPTY, new("x", title="签" * 25))
    assert fault.path == "batch.declarations[0].title"
    assert fault.fields == {"item": "x", "field": "title", "limit": 24, "length": 25, "problem": "too_long"}


@pytest.mark.parametrize(("field", "limit"), [("summary", 60), ("reason", 500)])
def test_texts_are_limited_in_code_points(field: str, limit: int) -> None:
    after(EMPTY, new("x", **{field: "字" * limit}))
    fault = only_fault(EMPTY, new("x", **{field: "字" * (limit + 1)}))
    assert (fault.fields["limit"], fault.fields["length"]) == (limit, limit + 1)


@pytest.mark.parametrize("field", ["title", "summary", "reason"])
@pytest.mark.parametrize(
    "bad", ["", " ", "\u3000 ", "a\nb", "a\tb", "a\x00", "a\x7f", "a\x85", "a\ud800", "\u202eabc", "\u2066"]
)
def test_control_characters_and_white_space_alone_are_refused(field: str, bad: str) -> None:
    fault = only_fault(EMPTY, new("x", **{field: bad}))
    assert (fault.code, fault.fields["field"]) == ("invalid_field", field)


@pytest.mark.parametrize("share", [True, False, 0, -1, 65, 6.0, 6.5, "6", [6]])
def test_a_share_is_a_whole_number_from_1_to_64(share: Json) -> None:
    fault = only_fault(EMPTY, new("x", share=share, reason="Because."))
    assert (fault.code, fault.fields["field"]) == ("invalid_field", "share")


@pytest.mark.parametrize("share", [1, 64])
def test_a_share_of_the_whole_range_is_accepted(share: int) -> None:
    assert after(EMPTY, new("x", share=share, reason="Because.")).items["x"].share == share


@pytest.mark.parametrize(("field", "value"), [("weight", "huge"), ("weight", 3), ("kind", "todo"), ("kind", None)])
def test_weight_and_kind_are_closed_sets(field: str, value: Json) -> None:
    fault = only_fault(EMPTY, new("x", **{field: value}))
    assert (fault.code, fault.fields["field"]) == ("invalid_field", field)


@pytest.mark.parametrize("field", ["due_at", "stale_after"])
@pytest.mark.parametrize("time", ["2026-10-16T16:00:00", "tomorrow", "2026-02-30T00:00:00Z", 1, "9999-01-01T00:00:00Z"])
def test_a_naive_or_impossible_time_is_refused(field: str, time: Json) -> None:
    fault = only_fault(EMPTY, new("x", **{field: time}))
    assert (fault.code, fault.fields["field"]) == ("invalid_field", field)


def test_a_time_is_kept_as_sent() -> None:
    assert (
        after(EMPTY, new("x", due_at="2026-10-16t16:00:00.50+08:00")).items["x"].due_at
        == "2026-10-16t16:00:00.50+08:00"
    )


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"channel": "mail"}, "ref"),
        ({"ref": "event:e"}, "channel"),
        ({"channel": "mail", "ref": ""}, "ref"),
        ({"channel": "mail", "ref": "x" * 501}, "ref"),
        ({"channel": "mail", "ref": "event:e", "quote": "x" * 1001}, "quote"),
        ({"channel": "mail", "ref": "event:e", "quote": "a\x1b"}, "quote"),
        ({"channel": "mail", "ref": "event:e", "quote": None}, "quote"),
        ({"channel": "mail", "ref": "event:e", "observed_at": "now"}, "observed_at"),
        ({"channel": "mail", "ref": "event:e", "page": 3}, "page"),
    ],
)
def test_a_source_that_breaks_a_rule_is_refused(bad: Json, field: str) -> None:
    fault = only_fault(EMPTY, new("x", sources=[source("ok"), bad]))
    assert (fault.code, fault.fields["field"]) == ("invalid_field", field)
    assert fault.path == f"batch.declarations[0].sources[1].{field}"


def test_a_source_needs_no_more_than_a_channel_and_a_ref() -> None:
    assert after(EMPTY, new("x", sources=[source("e")])).items["x"].sources == (Source("mail", "event:e", None, None),)


def test_a_quote_may_hold_new_lines_and_tabs() -> None:
    quoted = source("e", quote="a\n\tb\r\nc")
    assert after(EMPTY, new("x", sources=[quoted])).items["x"].sources[0].quote == "a\n\tb\r\nc"


def test_exact_duplicates_of_a_source_are_dropped_and_the_first_is_kept() -> None:
    given = after(EMPTY, new("x", sources=[source("b"), source("a"), source("b")])).items["x"].sources
    assert [one.ref for one in given] == ["event:b", "event:a"]


def test_a_declaration_carries_at_most_16_sources() -> None:
    sixteen: list[Json] = [source(str(n)) for n in range(16)]
    after(EMPTY, new("x", sources=sixteen))
    fault = only_fault(EMPTY, new("x", sources=[*sixteen, source("more")]))
    assert (fault.fields["field"], fault.fields["limit"], fault.fields["length"]) == ("sources", 16, 17)


def test_there_are_three_layers_below_the_root_and_no_more() -> None:
    def nested(depth: int) -> dict[str, Json]:
        below: list[Json] = [nested(depth - 1)] if depth > 1 else []
        return new(f"at-{depth}", summary="Stands alone.", children=below)

    assert len(after(EMPTY, nested(4)).items) == 4
    fault = only_fault(EMPTY, nested(5))
    assert (fault.code, fault.fields["field"], fault.fields["limit"]) == ("invalid_field", "children", 4)
    assert fault.path == "batch.declarations[0]" + ".children[0]" * 3 + ".children"


def test_depth_is_counted_from_where_the_item_stands_in_the_state() -> None:
    two = after(EMPTY, new("a", summary="s", children=[new("b", summary="s", children=[new("c")])]))
    after(two, patch("c", summary="s", children=[new("d")]))
    fault = only_fault(two, patch("c", summary="s", children=[new("d", summary="s", children=[new("e")])]))
    assert fault.path == "batch.declarations[0].children[0].children"
    assert fault.fields == {"item": "d", "field": "children", "limit": 4, "problem": "too_deep"}


def test_a_batch_has_at_most_200_declarations_with_nested_ones_counted() -> None:
    many: list[Json] = [new(f"c-{n}", weight="trace") for n in range(200)]
    fault = next(
        one for one in faults(EMPTY, new("p", summary="s", children=many)) if one.fields.get("field") == "declarations"
    )
    assert (fault.code, fault.fields["limit"], fault.fields["length"]) == ("invalid_field", 200, 201)


def test_a_batch_of_200_declarations_is_not_too_many() -> None:
    assert codes(EMPTY, *(leave(f"x-{n}") for n in range(200))) == ["item_not_found"] * 20


@pytest.mark.parametrize(("more", "problem"), [(0, "too_long"), (1, "too_large")])
def test_a_batch_is_measured_as_compact_json_in_utf_8(more: int, problem: str) -> None:
    short = batch_of(new("x", reason="签" * 1000), new("y"))
    filled = "签" * 1000 + "a" * (256 * 1024 - len(msgspec.json.encode(short)) + more)
    assert only_fault(EMPTY, new("x", reason=filled), new("y")).fields["problem"] == problem


def test_a_batch_has_at_most_256_kib_of_json() -> None:
    fault = only_fault(EMPTY, new("x", reason="x" * 300_000))
    assert (fault.code, fault.path, fault.fields["field"]) == ("invalid_field", "batch", "batch")


def test_what_nests_without_end_is_refused_and_not_followed() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    verdict = submit(EMPTY, batch_id="b", now=NOW, batch={"declarations": deep, "acknowledges": []})
    assert isinstance(verdict, Refused)
    assert verdict.faults[0].fields["problem"] == "too_large"


@pytest.mark.parametrize("batch", [None, [], "{}", 1, True])
def test_a_batch_that_is_no_object_is_refused(batch: Json) -> None:
    verdict = submit(EMPTY, batch_id="b", now=NOW, batch=batch)
    assert isinstance(verdict, Refused)
    assert [fault.path for fault in verdict.faults] == ["batch"]


def test_declarations_and_acknowledges_are_required() -> None:
    verdict = submit(EMPTY, batch_id="b", now=NOW, batch={})
    assert isinstance(verdict, Refused)
    assert [fault.path for fault in verdict.faults] == ["batch.acknowledges", "batch.declarations"]


def test_an_unknown_field_is_named_wherever_it_stands() -> None:
    batch: Json = {**batch_of(new("x", note="hm", children=[new("y", colour="red")], summary="s")), "base_revision": 3}
    verdict = submit(EMPTY, batch_id="b", now=NOW, batch=batch)
    assert isinstance(verdict, Refused)
    assert {(fault.path, fault.fields["problem"]) for fault in verdict.faults} == {
        ("batch.base_revision", "unknown_field"),
        ("batch.declarations[0].note", "unknown_field"),
        ("batch.declarations[0].children[0].colour", "unknown_field"),
    }


def test_a_name_that_no_channel_carries_is_echoed_in_one_that_does() -> None:
    fault = only_fault(EMPTY, new("x", **{"\ud800" + "n" * 1000: 1}))
    fault.path.encode("utf-8")
    assert len(fault.path) < 150


def test_every_shape_fault_of_every_declaration_is_told_at_once() -> None:
    told = faults(
        EMPTY,
        new("a", title="x" * 25, weight="huge"),
        {"id": "b", "relation": "new", "summary": ""},
        {**leave("c"), "kind": "fyi"},
        merge("d", "only"),
        "not an object",
    )
    assert [(fault.path.removeprefix("batch.declarations"), fault.code) for fault in told] == [
        ("[0].title", "invalid_field"),
        ("[0].weight", "invalid_field"),
        ("[1].kind", "invalid_field"),
        ("[1].summary", "invalid_field"),
        ("[1].title", "invalid_field"),
        ("[1].weight", "invalid_field"),
        ("[2].kind", "invalid_field"),
        ("[3].relation", "invalid_field"),
        ("[4]", "invalid_field"),
        ("[2].id", "item_not_found"),
    ]


def test_paths_are_ordered_by_number() -> None:
    many = [new(f"x-{n}", title="", weight="trace") for n in range(12)]
    assert [fault.path for fault in faults(EMPTY, *many)][9:] == [f"batch.declarations[{n}].title" for n in (9, 10, 11)]
    assert set(codes(EMPTY, *many)) == {"invalid_field"}
