from __future__ import annotations

from hashlib import sha256

import pytest

from foldstate.kernel.event import Origin
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.fold import Entry, IntakeState, fold, turn_open
from tests.sidecar.intake_making import SESSION, Fold, T, assistant, captured, end, user


def test_the_users_words_are_an_event_whole_with_their_time_and_place() -> None:
    (event,) = Fold().say("user/message", user("  two lines\n\nof 文字 "), time=T + 7)
    assert (event.channel, event.speaker, event.text) == ("user", "user", "  two lines\n\nof 文字 ")
    assert event.at == "2026-11-30T20:17:09.007Z"
    assert event.origin == Origin(SESSION, 0)
    assert event.id.startswith("h:")


def test_a_message_typed_in_a_client_is_the_users_too() -> None:
    (event,) = Fold().say("user/message", user("from a phone", rpcId="r-1", clientTimeZone="Asia/Shanghai"))
    assert (event.speaker, event.text) == ("user", "from a phone")


def test_several_blocks_are_one_event_and_what_is_no_text_is_named() -> None:
    content: Json = [
        {"type": "text", "text": "look:"},
        {"type": "image", "data": "…"},
        {"type": "text", "text": "there"},
    ]
    (event,) = Fold().say("user/message", {"content": content, "source": {"kind": "user"}})
    assert event.text == "look:\nthere\n[image]"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ({"kind": "runtime-context", "form": "snapshot"}, "runtime-context"),
        ({"kind": "plugin:dsh-foldstate", "role": "state"}, "plugin:dsh-foldstate"),
        ({"kind": "plugin", "plugin": "tree"}, "plugin:tree"),
        ({"kind": "plugin"}, "plugin:?"),
        ({"kind": "something-new"}, "something-new"),
        ({"kind": ["user"]}, "?"),
        ({}, "?"),
        ("user", "?"),
        (None, "?"),
    ],
)
def test_what_is_not_the_users_is_counted_by_its_kind_and_makes_no_event(source: Json, kind: str) -> None:
    log = Fold()
    assert log.say("user/message", {"content": [{"type": "text", "text": "words"}], "source": source}) == []
    assert log.skipped == {f"user/message:{kind}": 1}


def test_a_message_without_a_source_is_counted() -> None:
    log = Fold()
    assert log.say("user/message", {"content": [{"type": "text", "text": "words"}]}) == []
    assert log.skipped == {"user/message:?": 1}


def test_an_unknown_type_is_counted_by_its_name() -> None:
    log = Fold()
    log.say("quantum/leap", {"a": 1})
    log.say("quantum/leap", None)
    assert (log.events, log.skipped) == ([], {"quantum/leap": 2})


def test_a_turn_is_told_by_its_last_words_once_it_has_ended() -> None:
    log = Fold()
    assert not turn_open(log.state)
    assert log.say("turn/start", {"turn": 1}) == []
    assert turn_open(log.state)
    assert log.say("assistant/message", assistant("Looking.")) == []
    assert log.say("assistant/message", assistant("Found it.")) == []
    assert log.say("assistant/message", assistant("")) == []
    (event,) = log.say("turn/end", end())
    assert (event.channel, event.speaker, event.text) == ("agent", "agent", "Found it.")
    assert event.origin == Origin(SESSION, 2)
    assert event.at == "2026-11-30T20:17:09.040Z"
    assert not turn_open(log.state)


def test_a_turn_that_ended_well_without_a_word_is_no_event() -> None:
    log = Fold()
    log.say("turn/start", {"turn": 1})
    log.say("assistant/message", assistant("  \n"))
    assert log.say("turn/end", end()) == []


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (end("aborted", reason={"kind": "user"}), "aborted: user"),
        (end("aborted", reason={"kind": "hook", "reason": "no more budget"}), "aborted: no more budget"),
        (end("error", error={"message": "HTTP 500", "code": "UNKNOWN"}), "error: HTTP 500"),
        (end("max-tokens"), "max-tokens"),
        (end("interrupted"), "interrupted"),
        ({"turn": 1}, "unknown"),
        ({"reason": "completed"}, "unknown"),
    ],
)
def test_a_turn_that_did_not_complete_says_why_with_words_or_without(reason: Json, words: str) -> None:
    silent, spoken = Fold(), Fold()
    for log in (silent, spoken):
        log.say("turn/start", {"turn": 1})
    spoken.say("assistant/message", assistant("Half way."))
    assert [one.text for one in silent.say("turn/end", reason)] == [f"Turn ended: {words}"]
    assert [one.text for one in spoken.say("turn/end", reason)] == [f"Turn ended: {words}\nHalf way."]


def test_words_of_a_turn_whose_end_was_lost_are_told_when_the_next_one_starts() -> None:
    log = Fold()
    log.say("turn/start", {"turn": 1})
    log.say("assistant/message", assistant("Nearly there."))
    (event,) = log.say("turn/start", {"turn": 2})
    assert event.text == "Turn ended: no end was recorded\nNearly there."
    assert turn_open(log.state)


def test_words_of_one_turn_are_not_told_again_at_the_next() -> None:
    log = Fold()
    for turn in (1, 2):
        log.say("turn/start", {"turn": turn})
        if turn == 1:
            log.say("assistant/message", assistant("Once."))
        log.say("turn/end", end(turn=turn))
    assert [one.text for one in log.events] == ["Once."]


def test_a_text_over_64_kib_is_cut_on_a_code_point_and_says_so() -> None:
    whole = "a" + "界" * 30_000
    log = Fold()
    taken = fold(IntakeState(), SESSION, Entry(0, T, "user/message", user(whole)))
    (event,) = taken.events
    assert len(event.text.encode()) <= 64 * 1024 < len(event.text.encode()) + 3
    assert whole.startswith(event.text)
    assert (event.cut, event.length) == (True, 30_001)
    assert taken.digests == {event.id: sha256(whole.encode()).hexdigest()}
    (short,) = log.say("user/message", user("界" * 21_845))
    assert (short.cut, short.length, len(short.text)) == (None, None, 21_845)


@pytest.mark.parametrize("words", ["x" * 70_000, "界" * 30_000, "x" * (64 * 1024 - 1), "short"])
def test_what_is_told_of_a_turn_that_failed_has_the_length_and_digest_of_the_whole(words: str) -> None:
    log = Fold()
    log.say("turn/start", {"turn": 1})
    log.say("assistant/message", assistant(words))
    taken = fold(log.state, SESSION, Entry(9, T, "turn/end", end("interrupted")))
    (event,) = taken.events
    whole = f"Turn ended: interrupted\n{words}"
    assert whole.startswith(event.text)
    assert (event.text == whole) == (event.cut is None)
    assert event.length == (len(whole) if event.cut else None)
    assert taken.digests == {event.id: sha256(whole.encode()).hexdigest()}


def test_a_cut_answer_of_a_turn_that_completed_has_the_length_and_digest_of_the_whole() -> None:
    whole = "界" * 30_000
    log = Fold()
    log.say("assistant/message", assistant(whole))
    taken = fold(log.state, SESSION, Entry(9, T, "turn/end", end()))
    (event,) = taken.events
    assert (event.cut, event.length) == (True, 30_000)
    assert taken.digests == {event.id: sha256(whole.encode()).hexdigest()}


def test_half_a_character_is_replaced_and_breaks_nothing() -> None:
    (event,) = Fold().say("user/message", user("a\ud83db"))
    assert event.text == "a\ufffdb"


def test_a_host_that_was_killed_and_resumed_tells_the_turn_it_broke_off() -> None:
    live, log = captured("killed-live"), captured("killed-resumed-log")
    session = Fold().take(live)
    assert [one.channel for one in session.events] == ["user"]
    assert turn_open(session.state)
    session.take(log)
    assert [(one.channel, one.text.partition("\n")[0]) for one in session.events] == [
        ("user", "run the long build"),
        ("tool", "bash was interrupted"),
        ("agent", "Turn ended: interrupted"),
        ("user", "what became of the build"),
        ("agent", "The build was interrupted; nothing is known of its outcome."),
    ]
    assert session.events[2].text.endswith("\nStarting the build.")
    assert not turn_open(session.state)


def test_a_model_that_failed_is_told_in_the_hosts_own_words() -> None:
    log = Fold().take(captured("model-error"))
    assert [one.text for one in log.events if one.channel == "agent"] == [
        "Turn ended: error: the request is malformed: scripted"
    ]
