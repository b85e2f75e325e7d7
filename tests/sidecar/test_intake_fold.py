from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldstate.kernel.event import Event
from foldstate.kernel.instant import parse
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.fold import WANTS, Entry, IntakeState, Settled, Started, fold, settled, started
from tests.sidecar.intake_making import CHILD, SESSION, Fold, T, assistant, call, captured, end, notice, result, user

CAPTURES = ["failing-tools-and-subagent", "killed-resumed-log", "denied", "model-error"]

TEXTS = st.sampled_from(["", "one", "two", "x\n[exit code: 1]", "x\n[exit code: 2]", "Error: no", "文字 " * 5])
CALLS = st.sampled_from(["c-1", "c-2", "c-3"])
DATA: dict[str, st.SearchStrategy[Json]] = {
    "turn/start": st.builds(lambda turn: {"turn": turn}, st.integers(1, 3)),
    "turn/end": st.builds(end, st.sampled_from(["completed", "aborted", "error"]), st.integers(1, 3)),
    "user/message": st.one_of(st.builds(user, TEXTS), st.builds(notice, TEXTS), st.just({"content": "?"})),
    "assistant/message": st.builds(assistant, TEXTS),
    "tool/call": st.builds(call, st.sampled_from(["bash", "read"]), CALLS),
    "tool/result": st.builds(result, CALLS, TEXTS, is_error=st.booleans()),
    "subagent/catalog": st.builds(lambda label: {"childId": CHILD, "label": label}, TEXTS),
    "something/else": st.none(),
}


@st.composite
def logs(draw: st.DrawFn) -> list[Entry]:
    kinds = draw(st.lists(st.sampled_from(sorted(DATA)), max_size=30))
    return [Entry(seq, T + seq * 7, kind, draw(DATA[kind])) for seq, kind in enumerate(kinds)]


def straight(entries: list[Entry]) -> tuple[list[Event], IntakeState]:
    state, events = IntakeState(), list[Event]()
    for entry in entries:
        taken = fold(state, SESSION, entry)
        state = taken.state
        events.extend(taken.events)
    return events, state


def cut(entries: list[Entry], resends: list[tuple[int, int]]) -> Fold:
    """The same log in pieces, some sent again, with the state written out after each entry."""
    log = Fold()
    for start, length in resends:
        log.take(entries[: start + length])
        log.take(entries[start : start + length])
    return log.take(entries)


RESENDS = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=6)


@settings(deadline=None)
@given(logs(), RESENDS)
def test_the_events_are_the_same_however_the_log_is_cut_or_repeated(
    entries: list[Entry], resends: list[tuple[int, int]]
) -> None:
    log = cut(entries, resends)
    assert (log.events, log.state) == straight(entries)


@pytest.mark.parametrize("name", CAPTURES)
@settings(deadline=None, max_examples=20)
@given(resends=RESENDS)
def test_a_real_log_gives_the_same_events_however_it_is_cut_or_repeated(
    name: str, resends: list[tuple[int, int]]
) -> None:
    entries = captured(name)
    log = cut(entries, resends)
    assert (log.events, log.state) == straight(entries)


@settings(deadline=None)
@given(logs())
def test_entries_that_the_fold_does_not_want_change_nothing(entries: list[Entry]) -> None:
    wanted, _ = straight([entry for entry in entries if entry.type in WANTS])
    assert straight(entries)[0] == wanted


@settings(deadline=None)
@given(logs())
def test_every_event_has_an_id_of_its_own_that_only_the_host_can_have_and_a_time_the_kernel_reads(
    entries: list[Entry],
) -> None:
    events, _ = straight(entries)
    assert len({one.id for one in events}) == len(events)
    assert all(one.id.startswith("h:") and len(one.id) <= 64 and parse(one.at) for one in events)


def test_a_number_that_the_host_uses_again_makes_another_event() -> None:
    first, second = (Entry(8, T + shift, "user/message", user("the same words")) for shift in (0, 1))
    ids = {straight([entry])[0][0].id for entry in (first, second)}
    elsewhere = fold(IntakeState(), "session-two", first).events[0].id
    assert len(ids | {elsewhere}) == 3


MEMBERS = ["content", "source", "kind", "type", "text", "message", "toolCallId", "isError", "turn", "reason", "error"]
MEMBERS += ["callId", "name", "childId", "label", "senderSessionId", "code", "x"]
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner | st.sampled_from(["user", "text", "subagent-settled", "subagent-report", "error", True]),
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.tuples(st.sampled_from([*WANTS, "x"]), JSON), max_size=6), st.integers(), st.integers())
def test_no_entry_however_malformed_raises_or_makes_what_cannot_be_stored(
    entries: list[tuple[str, Json]], seq: int, time: int
) -> None:
    state = IntakeState()
    for number, (kind, data) in enumerate(entries):
        taken = fold(state, SESSION, Entry(seq + number, time, kind, data))
        state = msgspec.json.decode(msgspec.json.encode(taken.state), type=IntakeState)
        assert state == taken.state
        for event in taken.events:
            msgspec.json.encode(msgspec.structs.replace(event, origin=None))
            assert parse(event.at) is not None
            assert event.speaker and event.text


@settings(deadline=None)
@given(st.text(), st.none() | st.text(), st.none() | st.text(), st.none() | st.text(), st.text())
def test_no_fact_however_odd_raises_or_is_told_twice(
    child: str, run: str | None, label: str | None, closing: str | None, stop: str
) -> None:
    state = IntakeState()
    told: list[str] = []
    for _ in range(2):
        begun = started(state, SESSION, Started(child, "2026-05-01T12:00:00Z", run, label))
        ended = settled(begun.state, SESSION, Settled(child, "2026-05-01T12:00:01Z", stop, run, label, closing))
        state = msgspec.json.decode(msgspec.json.encode(ended.state), type=IntakeState)
        told += [one.id for one in (*begun.events, *ended.events)]
        msgspec.json.encode([*begun.events, *ended.events])
    assert len(told) == len(set(told)) == 2
