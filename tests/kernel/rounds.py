"""Rounds and answers in few words."""

from __future__ import annotations

from collections.abc import Sequence

from foldstate.kernel.event import Event, Feedback, Reminder
from foldstate.kernel.round import Round, decide
from foldstate.kernel.signal import Coverage, Signal, Window
from foldstate.kernel.state import State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, Fault, Refused
from tests.kernel.batches import LATER, Declared, batch_of

BILL = Event(id="e-1", channel="mail", speaker="bank", at=LATER, text="Your bill of 186.40 is due on 15 October.")
NEWS = Event(id="e-2", channel="rss", speaker="feed", at=LATER, text="Prices may rise next year.")
OLD = Event(id="e-0", channel="chat", speaker="Ann", at=LATER, text="I might sell my bike.")


def event(
    event_id: str, text: str = "Words.", *, feedback: Feedback | None = None, reminder: Reminder | None = None
) -> Event:
    return Event(event_id, "mail", "someone", LATER, text, feedback=feedback, reminder=reminder)


def round_of(*events: Event, base: int = 0, deferred: Sequence[Event] = (), review: bool = False) -> Round:
    signal = Signal(
        type="review" if review else "events",
        reason=("manual",),
        received=len(events),
        window=Window(None, LATER),
        coverage={"mail": Coverage("ok", LATER)},
        reminders=(),
    )
    return Round("r-1", base, LATER, tuple(events), signal, tuple(deferred))


def disposed(event_id: str, disposition: str = "used", *related: str, why: Json = "It says so.") -> Declared:
    return {"event": event_id, "disposition": disposition, "why": why, "related": [*related]}


def answer(dispositions: Sequence[Json], *declarations: Json, acknowledges: tuple[str, ...] = ()) -> Declared:
    return {"dispositions": [*dispositions], "batch": batch_of(*declarations, acknowledges=acknowledges)}


def settle(state: State, round_: Round, output: Json, *ledger: Event) -> Accepted:
    verdict = decide(state, round_, output, ledger={one.id: one for one in ledger})
    assert isinstance(verdict, Accepted), verdict
    return verdict


def wrong(state: State, round_: Round, output: Json, *ledger: Event) -> list[Fault]:
    verdict = decide(state, round_, output, ledger={one.id: one for one in ledger})
    assert isinstance(verdict, Refused), verdict
    return [*verdict.faults]


def wrong_codes(state: State, round_: Round, output: Json, *ledger: Event) -> list[str]:
    return [fault.code for fault in wrong(state, round_, output, *ledger)]
