from __future__ import annotations

import itertools

import msgspec
import pytest

from foldstate.sidecar.intake.fold import Run, Settled, Started
from tests.sidecar.intake_making import CHILD, DATA, Fold, captured, notice

FOUND = "The flag is in docs/setup.md."


def settlements(log: Fold) -> list[str]:
    return [one.text for one in log.events if not one.text.endswith(" started")]


def open_runs(log: Fold) -> list[str | None]:
    return [one.run for one in log.state.runs if one.open]


def test_a_start_is_an_event_and_stays_open_until_it_settles() -> None:
    log = Fold()
    taken = log.started("r-1", label="flag finder")
    (event,) = log.events
    assert (event.channel, event.speaker, event.text) == ("subagent", "flag finder", "Subagent flag finder started")
    assert taken.event == event.id
    assert open_runs(log) == ["r-1"]
    log.settled("r-1", FOUND)
    assert open_runs(log) == []
    assert log.events[1].text == f"Subagent flag finder settled: completed\n{FOUND}"


def test_a_start_told_twice_is_one_event() -> None:
    log = Fold()
    first, second = log.started("r-1"), log.started("r-1")
    assert (len(log.events), second.events, second.event) == (1, (), first.event)
    assert log.skipped == {"subagent/started:duplicate": 1}


def test_a_child_that_never_settles_stays_open_whatever_else_comes() -> None:
    log = Fold()
    log.started("r-1")
    log.started("other", child="child-2")
    log.notice(FOUND)
    for number in range(400):
        log.started(f"r-{number}", child=f"child-{number + 3}")
        log.keep(log.settled(f"s-{number}", f"closing {number}"))
    assert "other" in open_runs(log)
    assert len(log.state.runs) <= 256 + len(open_runs(log))


@pytest.mark.parametrize("notice_first", [False, True])
def test_the_bus_and_the_notice_tell_one_settlement_once_whichever_is_first(notice_first: bool) -> None:
    log = Fold()
    log.started("r-1")
    if notice_first:
        log.notice(FOUND)
        log.settled("r-1", FOUND)
    else:
        log.settled("r-1", FOUND)
        log.notice(FOUND)
    assert len(settlements(log)) == 1
    assert FOUND in settlements(log)[0]
    again = log.settled("r-1", FOUND)
    assert (again.events, again.event) == ((), log.events[-1].id)
    assert log.notice(FOUND) == []
    assert len(settlements(log)) == 1


def test_a_settlement_has_the_same_id_from_either_side() -> None:
    bus, log = Fold(), Fold()
    for one in (bus, log):
        one.started("r-1")
    bus.settled("r-1", FOUND)
    log.notice(FOUND)
    assert bus.events[-1].id == log.events[-1].id


def test_a_notice_of_a_run_that_was_never_heard_of_is_an_event_by_its_closing_words() -> None:
    log = Fold()
    (event,) = log.notice(FOUND)
    assert event.text.startswith(f"Background subagent {CHILD} finished")
    assert event.text.endswith(f"Its closing message:\n{FOUND}")
    assert log.notice(FOUND) == []
    assert log.settled("r-1", FOUND).events == ()
    (other,) = log.notice("Other words.")
    assert other.id != event.id


def test_each_run_of_a_continued_child_is_told_once_in_order() -> None:
    log = Fold()
    for run in ("r-1", "r-2"):
        log.started(run)
    log.notice("first")
    log.notice("second")
    log.settled("r-2", "second")
    log.settled("r-1", "first")
    assert [text.rpartition("\n")[2] for text in settlements(log)] == ["first", "second"]


def test_a_notice_that_comes_while_the_next_run_goes_on_settles_the_run_it_speaks_of() -> None:
    log = Fold()
    log.started("r-1")
    log.settled("r-1", "first words\nof two blocks")
    log.started("r-2")
    assert log.notice("first words", "of two blocks") == []
    assert open_runs(log) == ["r-2"]


def test_a_notice_that_was_dropped_does_not_swallow_the_next_runs() -> None:
    log = Fold()
    log.started("r-1")
    log.settled("r-1", "first")
    log.started("r-2")
    assert len(log.notice("second")) == 1
    assert open_runs(log) == []


def test_a_fact_without_closing_words_belongs_to_the_run_that_the_notice_told() -> None:
    log = Fold()
    log.started("r-1")
    log.notice(FOUND)
    assert log.settled("r-1", None).events == ()
    assert len(settlements(log)) == 1


def test_a_fact_without_a_run_settles_the_oldest_open_one() -> None:
    log = Fold()
    log.started("r-1")
    log.started("r-2")
    taken = log.settled(None, FOUND)
    assert len(taken.events) == 1
    assert open_runs(log) == ["r-2"]
    assert log.settled("r-1", FOUND).events == ()


def test_words_that_the_host_appends_to_a_notice_do_not_make_it_another_settlement() -> None:
    log = Fold()
    log.settled("r-1", FOUND)
    assert log.notice(FOUND, 'Structured result: {"a":1}', "a diagnostic") == []


@pytest.mark.parametrize(("closing", "last"), [((), "It left no closing message."), (("done",), "done")])
def test_a_report_is_told_in_the_hosts_own_words(closing: tuple[str, ...], last: str) -> None:
    log = Fold()
    log.started("r-1", label="finder")
    (event,) = log.notice(*closing, kind="subagent-report")
    assert (event.speaker, event.text.rpartition("\n")[2]) == ("finder", last)


def test_a_notice_without_a_sender_is_read_by_its_opening_line() -> None:
    log = Fold()
    log.started("r-1")
    message = notice(FOUND)
    assert isinstance(message, dict)
    message["source"] = {"kind": "subagent-settled"}
    assert len(log.say("user/message", message)) == 1
    assert open_runs(log) == []


def test_a_failed_stop_is_never_told_as_completed() -> None:
    log = Fold()
    log.started("r-1")
    log.settled("r-1", None, stop="error")
    assert settlements(log) == [f"Subagent {CHILD} settled: error"]


def test_children_that_other_plugins_run_for_themselves_are_counted_not_told() -> None:
    log = Fold()
    log.say("subagent/catalog", {"version": 0, "childId": CHILD, "mode": "continuable", "label": "auto-memory-fold"})
    log.started("r-1")
    log.settled("r-1", "done")
    log.notice("done")
    assert log.events == []
    assert {kind: log.skipped[kind] for kind in log.skipped if kind.endswith(":plugin")} == {
        "subagent/started:plugin": 1,
        "subagent/settled:plugin": 1,
        "user/message:subagent-settled:plugin": 1,
    }


def test_what_a_real_host_told_on_both_sides_becomes_a_start_and_one_settlement() -> None:
    entries = captured("failing-tools-and-subagent")
    begun, ended = (msgspec.json.decode(line) for line in (DATA / "subagent-bus.jsonl").read_bytes().splitlines())
    closing = "\n".join(block["text"] for block in ended["lastAssistantMessage"])
    start = Started(begun["id"], "2026-11-30T20:17:08.430Z", begun["runId"])
    stop = Settled(ended["id"], "2026-11-30T20:17:08.525Z", ended["stopReason"], ended["runId"], None, closing)
    told: set[tuple[str, ...]] = set()
    # The bus and the log are two streams: the settlement may be heard before, between or after the log's entries.
    for place in (59, 66, 71, 72, 77):
        log = Fold().take(entries[:59])
        log.started(start.run, start.child)
        log.take(entries[59:place])
        log.settled(stop.run, stop.closing, stop.stop_reason)
        log.take(entries[place:])
        mine = [one for one in log.events if one.channel == "subagent"]
        assert [one.text.partition(" ")[0] for one in mine] in (["Subagent", "Subagent"], ["Subagent", "Background"])
        assert all(closing in one.text for one in mine[1:])
        told.add(tuple(one.id for one in mine))
        assert log.state.runs == (
            Run(CHILD, start.run, told=True, noticed=True, closing=log.state.runs[0].closing, event=mine[1].id),
        )
    assert len(told) == 1


def test_in_whatever_order_two_runs_are_told_by_both_sides_each_settlement_is_one_event() -> None:
    tellings = [("bus", "r-1", "first"), ("log", "", "first"), ("bus", "r-2", "second"), ("log", "", "second")]
    for order in itertools.permutations(tellings):
        log = Fold()
        log.started("r-1")
        log.started("r-2")
        for side, run, closing in order:
            if side == "bus":
                log.settled(run, closing)
            else:
                log.notice(closing)
        assert len(settlements(log)) == 2, order
        assert open_runs(log) == []
