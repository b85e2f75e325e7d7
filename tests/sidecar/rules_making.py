"""Rounds for the rules editor in few words, judged by the kernel as any editor's are."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel.batch import submit
from foldstate.kernel.event import Event, Feedback, Reminder
from foldstate.kernel.layer import used
from foldstate.kernel.projection import state_view
from foldstate.kernel.round import Round, cited_ids, decide, round_input
from foldstate.kernel.signal import Coverage, Signal, Window
from foldstate.kernel.state import Item, State
from foldstate.kernel.values import LAYER_BUDGET, Json, Language, Meaning
from foldstate.kernel.verdict import Accepted
from foldstate.kernel.view import ItemView
from foldstate.sidecar.rounds.rules import edit

NOW = "2026-10-10T09:00:00+08:00"


class Answered(Struct, frozen=True):
    """A round that the rules answered and the kernel accepted."""

    state: State
    dispositions: dict[str, str]
    output: dict[str, Json]


class Session:
    """Keeps a state, its ledger and what was deferred; each round is answered by the rules."""

    def __init__(self, language: Language = "en", state: State | None = None) -> None:
        self.state = state or State()
        self.ledger: dict[str, Event] = {}
        self.deferred: dict[str, Event] = {}
        self._language: Language = language
        self._rounds = 0

    def round(self, *events: Event, now: str = NOW, review: bool = False) -> Answered:
        """:raises AssertionError: where the kernel refuses the answer, or a second one differs from the first."""
        self._rounds += 1
        self.ledger.update({event.id: event for event in events})
        asked = round_of(self.state, events, now, [*self.deferred.values()], review, self._rounds)
        output = edit(round_input(self.state, asked, None), self._language)
        assert output == edit(round_input(self.state, asked, None), self._language)
        known = {one: self.ledger[one] for one in cited_ids(output) if one in self.ledger}
        verdict = decide(self.state, asked, output, ledger=known)
        assert isinstance(verdict, Accepted), verdict
        assert verdict.record is not None
        given = {one.event: one.disposition for one in verdict.record.dispositions}
        assert set(given) >= {event.id for event in events}
        for layer, members in verdict.state.layers.items():
            assert used(verdict.state.items[one] for one in members) <= LAYER_BUDGET, layer
        for event, disposition in given.items():
            if disposition == "deferred":
                self.deferred[event] = self.ledger[event]
            else:
                self.deferred.pop(event, None)
        self.state = verdict.state
        return Answered(verdict.state, {**given}, output)

    def others(self, *declarations: Json, now: str = NOW) -> None:
        """A batch that somebody else submitted."""
        batch: Json = {"declarations": [*declarations], "acknowledges": []}
        verdict = submit(self.state, batch_id=f"o-{len(self.state.items)}-{self._rounds}", now=now, batch=batch)
        assert isinstance(verdict, Accepted), verdict
        self.state = verdict.state

    def active(self) -> list[Item]:
        return [item for item in self.state.items.values() if item.status == "active"]

    def view(self, now: str = NOW) -> tuple[ItemView, ...]:
        return state_view(self.state, now).root.items

    def about(self, event: Event) -> Item:
        """The only active item that cites the event.

        :raises AssertionError: there is none, or there are several.
        """
        found = [item for item in self.active() if any(one.ref == f"event:{event.id}" for one in item.sources)]
        assert len(found) == 1, found
        return found[0]


def round_of(
    state: State, events: Sequence[Event], now: str, deferred: Sequence[Event], review: bool, number: int
) -> Round:
    reminders = tuple(event.id for event in events if event.reminder is not None)
    signal = Signal(
        type="review" if review or len(reminders) == len(events) else "events",
        reason=("manual",),
        received=len(events) - len(reminders),
        window=Window(None, now),
        coverage={"user": Coverage("ok", now)},
        reminders=reminders,
    )
    return Round(f"r-{number}", state.revision, now, tuple(events), signal, tuple(deferred))


_count = 0


def event(channel: str, text: str, speaker: str = "agent", *, id: str = "") -> Event:
    global _count
    _count += 1
    return Event(id or f"h:{_count}", channel, speaker, NOW, text)


def pressed(target: str, meaning: Meaning) -> Event:
    return replace(event("feedback", "…", "user"), feedback=Feedback(target, meaning, meaning, "button"))


def reminder(target: str, status: str, now: str | None = None) -> Event:
    due = Reminder("f-1", target, "active" if status == "active" else "withdrawn", now or target, NOW, NOW, 0)
    return replace(event("reminder", "Reminder set for 09:00.", "fold"), reminder=due)
