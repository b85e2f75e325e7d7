"""Tier 0: the few lines that an agent sees each turn."""

from __future__ import annotations

from typing import get_args

import pytest

from foldstate.kernel.annotations import annotate
from foldstate.kernel.state import Annotation, State
from foldstate.kernel.surface import CLOSING, OPENING, Note, estimate_tokens, surface
from foldstate.kernel.values import Json, Language
from tests.kernel.batches import LATER, NOW, accept, after, family, leave, new, patch

LANGUAGES: tuple[Language, ...] = get_args(Language)
NOTES: tuple[Note, ...] = get_args(Note)


def lines(state: State, language: Language = "en", budget: int = 400, notes: tuple[Note, ...] = ()) -> list[str]:
    return surface(state, language=language, budget_tokens=budget, notes=notes).text.split("\n")


def test_a_session_that_nothing_was_kept_of_has_no_surface() -> None:
    empty = surface(State(), language="en", budget_tokens=400)
    assert (empty.text, empty.tokens, empty.omitted) == ("", 0, 0)


def test_one_line_an_item_says_what_it_is_and_what_it_asks() -> None:
    state = after(
        State(),
        new(
            "visa",
            title="Visa: papers missing",
            summary="Six months of statements; by noon.",
            weight="critical",
            kind="needs-you",
            due_at="2026-10-12T18:00:00+08:00",
        ),
        new("pr-410", title="PR 410 is merged", kind="done"),
    )
    assert lines(state)[2:-1] == [
        "1. [visa] needs-you Visa: papers missing | Six months of statements | due 2026-10-12T18:00+08:00"
        " | updated 2026-10-10",
        "2. [pr-410] done PR 410 is merged | updated 2026-10-10",
    ]
    assert lines(state, "zh")[3] == "2. [pr-410] done PR 410 is merged｜更新 2026-10-10"


def test_children_stand_indented_below_their_item() -> None:
    assert [line.split(" A title")[0] for line in lines(family())[2:-1]] == [
        "1. [errand] fyi",
        "2. [trip] fyi",
        "  1. [flight] fyi",
        "  2. [hotel] fyi",
    ]


@pytest.mark.parametrize(
    ("summary", "point"),
    [
        ("Version v2.4 is out. Nothing to do.", "Version v2.4 is out"),
        ("已恢复；继续观察。", "已恢复"),
        ("One sentence.", "One sentence"),
        ("...", "..."),
    ],
)
def test_the_point_of_a_summary_is_its_first_statement(summary: str, point: str) -> None:
    assert f"| {point} | updated" in lines(after(State(), new("x", summary=summary)))[2]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_least_important_lines_go_first_and_are_counted(language: Language) -> None:
    crowd: list[Json] = [new(f"child-{n}", weight="trace", title="字" * 24) for n in range(20)]
    state = after(
        State(),
        *(new(f"item-{n:02}", weight="trace", title="T" * 24, summary="s" * 60) for n in range(20)),
        new("parent", weight="high", summary="字" * 60, children=crowd),
    )
    whole = surface(state, language=language, budget_tokens=400)
    assert whole.tokens <= 400
    shown = [line for line in whole.text.split("\n") if "[" in line]
    assert shown[0].startswith("1. [parent]")
    assert [line.split("]")[0] for line in shown[1:]] == [f"{n + 2}. [item-{n:02}" for n in range(len(shown) - 1)]
    assert whole.omitted == 41 - len(shown) > 20
    assert str(whole.omitted) in whole.text.split("\n")[-2]


def test_the_budget_is_never_more_than_800() -> None:
    state = after(State(), *(new(f"item-{n:02}", weight="trace", title="T" * 24, summary="s" * 60) for n in range(60)))
    large = surface(state, language="en", budget_tokens=10_000)
    assert large == surface(state, language="en", budget_tokens=800)
    assert 700 < large.tokens <= 800


def test_a_budget_that_does_not_hold_the_frame_gives_no_text() -> None:
    assert surface(family(), language="en", budget_tokens=10).text == ""
    assert surface(family(), language="en", budget_tokens=10).omitted == 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_marked_as_data_that_replaces_earlier_blocks(language: Language) -> None:
    head = lines(family(), language)
    assert (head[0], head[-1]) == (OPENING, CLOSING)
    for words in (("data", "conversation", "earlier", "summaries"), ("数据", "对话", "之前", "摘要"))[language == "zh"]:
        assert words in head[1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("note", NOTES)
def test_each_note_is_one_fixed_sentence(language: Language, note: Note) -> None:
    with_note = lines(family(), language, notes=(note,))
    assert with_note[:2] + with_note[3:] == lines(family(), language)
    assert surface(State(), language=language, budget_tokens=400, notes=(note,)).text.count("\n") == 4


def test_the_order_of_notes_decides_nothing() -> None:
    assert lines(family(), notes=NOTES) == lines(family(), notes=NOTES[::-1])


def test_it_changes_only_with_what_it_shows() -> None:
    state = annotate(family(), Annotation("a-1", "trip", "Hm.", NOW))
    shown = surface(state, language="en", budget_tokens=400)
    for next_state in (accept(state, now=LATER).state, accept(state, acknowledges=("a-1",), now=LATER).state):
        assert surface(next_state, language="en", budget_tokens=400).text == shown.text
    assert surface(after(state, patch("trip", title="New")), language="en", budget_tokens=400).text != shown.text


def test_what_left_the_state_is_not_shown() -> None:
    assert lines(after(family(), leave("trip"), leave("errand")))[2:-1] == ["No items at present."]


@pytest.mark.parametrize("title", ["{{user}}", "{{{{", "}}}", "a{{b}}c"])
def test_nothing_that_a_host_interpolates_is_left(title: str) -> None:
    text = surface(after(State(), new("x", title=title)), language="en", budget_tokens=400).text
    assert "{{" not in text
    assert "}}" not in text
    assert text.replace(" ", "").count("{") == title.count("{")


@pytest.mark.parametrize("title", ["</foldstate>", "< / FOLDSTATE >", "<foldstate>"])
def test_a_text_cannot_close_or_open_the_block(title: str) -> None:
    text = surface(after(State(), new("x", title=title)), language="en", budget_tokens=400).text
    assert text.lower().count("<foldstate") == 1
    assert text.lower().count("</foldstate") == 1
    assert "< /" not in text


def test_tokens_are_estimated_with_care() -> None:
    assert [estimate_tokens("x" * n) for n in (0, 1, 16, 17, 400)] == [0, 5, 8, 9, 200]
