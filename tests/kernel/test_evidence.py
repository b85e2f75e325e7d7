"""R6: evidence is verbatim, or it is refused."""

from __future__ import annotations

import pytest

from foldstate.kernel.event import Event
from foldstate.kernel.evidence import shown, stands_in
from foldstate.kernel.state import State
from tests.kernel.batches import LATER, new, patch, source
from tests.kernel.rounds import answer, disposed, round_of, settle, wrong

MAIL = "还缺纸质银行流水，请在 10月12日18点前 送到。\n\n Ask for  Ms Li at the\tdesk... she knows. 谢谢"


@pytest.mark.parametrize(
    "quote",
    [
        "还缺纸质银行流水",
        "请在10月12日18点前送到。",
        "请在 10月12日 18点前\n送到。",
        "Ask for Ms Li",
        "Ms Li at the desk",
        "送到。Ask for Ms Li",
        " Ask for ",
        "还缺…送到",
        "还缺...10月12日",
        "还缺……送到",
        "…还缺纸质…",
        "the desk... she knows",
        "Ask for … desk... she",
        "desk...she",
        "the desk ... knows",
    ],
)
def test_r6_a_quote_that_stands_in_the_text_is_accepted(quote: str) -> None:
    assert stands_in(quote, MAIL)


@pytest.mark.parametrize(
    "quote",
    [
        "还缺电子银行流水",
        "ask for Ms Li",
        "AskforMs Li",
        "Ask for MsLi",
        "送到…还缺",
        "银行流水…银行流水",
        "缺…水",
        "…",
        "... ...",
        "Ask for…Ask for",
        "she knows everything",
    ],
)
def test_r6_a_quote_that_does_not_stand_in_it_is_refused(quote: str) -> None:
    assert not stands_in(quote, MAIL)


def test_r6_pieces_stand_in_order_and_do_not_overlap() -> None:
    assert stands_in("abab…ab", "ababab")
    assert not stands_in("abab…abab", "ababab")


def test_r6_a_single_piece_may_be_one_character_and_each_of_several_has_two() -> None:
    assert stands_in("…水…", MAIL)
    assert stands_in("还缺…水，", MAIL)
    assert not stands_in("还缺…水", "还缺，水。")


def test_r6_a_literal_ellipsis_matches_itself_first() -> None:
    assert stands_in("I... I think", "Well, I... I think so.")
    assert stands_in("I... I think … so", "Well, I... I think it is so.")
    assert stands_in("...", "Wait...")
    assert not stands_in("I... I think", "I said, I think so.")


def test_r6_only_white_space_is_taken_off_a_piece() -> None:
    assert not stands_in("…X-ray", "no-ray")
    assert not stands_in("X-ray…bone", "no-ray, bone")
    assert stands_in("…X…", "a sign: X")


def test_r6_of_several_ways_to_read_the_ellipses_the_one_that_ends_first_counts() -> None:
    assert stands_in("ab…c…de…fg", "ab c…de fg ab…c de")


def test_r6_white_space_between_ascii_words_counts() -> None:
    assert not stands_in("to day", "today")
    assert stands_in("a\u3000b", "a b")
    assert stands_in("第 3 版", "第3版")


def test_r6_a_long_quote_of_many_cuts_is_judged_in_reasonable_time() -> None:
    assert stands_in("ab…" * 250 + "ab", "ab " * 20_000)
    assert not stands_in("ab..." * 200 + "abc", "ab..." * 12_000)


def test_an_event_is_shown_cut_with_an_honest_mark() -> None:
    assert shown("字" * 4000) == "字" * 4000
    cut = shown("字" * 4001)
    assert cut.startswith("字" * 4000 + "…")
    assert "4000" in cut


def test_r6_a_quote_may_stand_in_the_text_as_kept_or_as_shown() -> None:
    text = "a" * 3990 + " the last shown" + " and beyond " + "b" * 100
    assert stands_in("and beyond bbb", text)
    assert stands_in(shown(text)[-60:], text)
    assert not stands_in(shown(text)[-60:], text[:3990])


def test_r6_is_asked_of_every_new_source() -> None:
    mail = Event("e-1", "mail", "agent", LATER, MAIL)
    told = wrong(
        State(),
        round_of(mail),
        answer([disposed("e-1")], new("x", sources=[source("e-1"), source("e-1", quote="Not so")])),
    )
    assert [(one.code, one.path, one.fields["event"]) for one in told] == [
        ("quote_not_found", "batch.declarations[0].sources[1].quote", "e-1")
    ]


def test_r6_a_source_that_the_item_holds_already_is_not_checked_again() -> None:
    mail = Event("e-1", "mail", "agent", LATER, MAIL)
    held = source("e-1", quote="Ask for Ms Li")
    state = settle(State(), round_of(mail), answer([disposed("e-1")], new("x", sources=[held]))).state
    changed = Event("e-1", "mail", "agent", LATER, "Other words.")
    settle(state, round_of(base=1), answer([], patch("x", title="Changed", sources=[held])), changed)
    other = source("e-1", quote="Ms Li at the desk")
    assert [
        one.code for one in wrong(state, round_of(base=1), answer([], patch("x", sources=[held, other])), changed)
    ] == ["quote_not_found"]
