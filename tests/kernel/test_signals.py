"""When the editor is called: timing alone."""

from __future__ import annotations

import pytest

from foldstate.kernel import instant
from foldstate.kernel.signals import Call, Decision, Idle, Waiting, WaitUntil, next_call

START = "2026-10-10T09:00:00+00:00"


def at(seconds: float) -> str:
    return instant.plus_seconds(START, seconds)


def decide(
    now: float,
    waiting: Waiting | None = None,
    *,
    turn_open: bool = False,
    round_open: bool = False,
    quiet_since: float | None = 0,
    not_before: float | None = None,
) -> Decision:
    return next_call(
        Waiting(2, at(0), at(0)) if waiting is None else waiting,
        turn_open=turn_open,
        round_open=round_open,
        quiet_since=None if quiet_since is None else at(quiet_since),
        not_before=None if not_before is None else at(not_before),
        now=at(now),
    )


def test_nothing_that_waits_calls_nobody() -> None:
    assert decide(1000, Waiting(0)) == Idle()


def test_a_call_comes_when_the_turn_ended_and_3_seconds_are_quiet() -> None:
    assert decide(0) == WaitUntil(at(3))
    assert decide(1) == WaitUntil(at(3))
    assert decide(3) == Call(("events",), at(3))


def test_quiet_counts_from_whatever_was_heard_last() -> None:
    assert decide(4, quiet_since=2) == WaitUntil(at(5))
    assert decide(4, Waiting(2, at(0), at(3))) == WaitUntil(at(6))


def test_an_open_turn_holds_the_call_until_patience_ends() -> None:
    assert decide(60, turn_open=True) == WaitUntil(at(120))
    assert decide(120, turn_open=True) == Call(("events",), at(120))


def test_patience_ends_though_it_is_never_quiet() -> None:
    assert decide(119, Waiting(9, at(0), at(118)), quiet_since=118) == WaitUntil(at(120))
    assert decide(120, Waiting(9, at(0), at(119)), quiet_since=119) == Call(("events",), at(120))


def test_what_is_urgent_calls_at_once_and_says_why() -> None:
    urgent = Waiting(2, at(0), at(0), ("approval", "question"))
    assert decide(5, urgent, turn_open=True) == Call(("approval", "question"), at(0))


@pytest.mark.parametrize("urgent", [(), ("feedback",)])
def test_nobody_is_called_while_a_round_is_open(urgent: tuple[()]) -> None:
    assert decide(1000, Waiting(2, at(0), at(0), urgent), round_open=True) == Idle()


@pytest.mark.parametrize("urgent", [(), ("feedback",)])
def test_a_back_off_is_waited_for(urgent: tuple[()]) -> None:
    assert decide(200, Waiting(2, at(0), at(0), urgent), not_before=300) == WaitUntil(at(300))
    assert isinstance(decide(300, Waiting(2, at(0), at(0), urgent), not_before=300), Call)


def test_a_time_ahead_of_now_holds_nothing_up() -> None:
    assert decide(10, Waiting(1, at(5000), at(5000)), quiet_since=6000) == Call(("events",), at(10))


def test_a_call_says_since_when_it_has_been_due() -> None:
    assert decide(500) == Call(("events",), at(3))


def test_quiet_that_was_never_measured_counts_from_the_last_event() -> None:
    assert decide(1, quiet_since=None) == WaitUntil(at(3))


def test_times_at_different_offsets_are_compared_as_instants() -> None:
    same_as_start = "2026-10-10T17:00:00+08:00"
    assert decide(4, Waiting(1, at(0), same_as_start), quiet_since=2) == WaitUntil(at(5))
    heard_lately = Waiting(2, same_as_start, at(178))
    assert decide(180, heard_lately, quiet_since=178) == Call(("events",), "2026-10-10T17:02:00+08:00")
