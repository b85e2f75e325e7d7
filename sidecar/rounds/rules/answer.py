"""The whole answer to a round: its events worked through, the own items fitted in, and what a time that came does."""

from __future__ import annotations

from collections.abc import Iterator

from foldstate.kernel.event import Event
from foldstate.kernel.values import LAYER_BUDGET, Json, Language
from foldstate.kernel.view import RoundInput
from foldstate.sidecar.rounds.rules.board import Board, Judged
from foldstate.sidecar.rounds.rules.deadlines import deadlines
from foldstate.sidecar.rounds.rules.room import fit
from foldstate.sidecar.rounds.rules.words import words as words_of


def edit(given: RoundInput, language: Language) -> dict[str, Json]:
    """The answer to a round: dispositions for all of its events and a batch that is within every budget."""
    words = words_of(language)
    board = Board(given, words)
    others = given.state.root.used - sum(one.share for one in board.entries)
    late = [board.judge(event) for event in _open_asks(given)]
    judged = [board.judge(event) for event in given.events]
    entries = fit(board.entries, LAYER_BUDGET - others, words)
    dropped = {one.id for one in entries if one.fresh and one.gone is not None}
    said = [one for one in entries if one.id not in dropped and (one.changed or one.gone is not None)]
    room = LAYER_BUDGET - others - sum(one.share for one in entries if one.gone is None)
    reminded = {event.reminder.target_now for event in given.events if event.reminder is not None}
    due = deadlines(given.state, room, {one.id for one in said}, reminded, words)
    kept = [one for one in late if one.disposition == "used" and one.entry not in dropped]
    return {
        "dispositions": [_disposition(one, dropped, words.no_room) for one in (*kept, *judged)],
        "batch": {"declarations": [*(one.declaration() for one in said), *due], "acknowledges": []},
    }


def _open_asks(given: RoundInput) -> Iterator[Event]:
    """Of the events deferred earlier, those that may wait for the user: there may be room for them now."""
    for event in given.deferred or ():
        if event.channel in ("approval", "question") and event.feedback is None and event.reminder is None:
            yield event


def _disposition(judged: Judged, dropped: set[str], no_room: str) -> dict[str, Json]:
    crowded = judged.entry in dropped
    return {
        "event": judged.event,
        "disposition": "deferred" if crowded else judged.disposition,
        "why": no_room if crowded else judged.why,
        "related": [] if crowded else [*judged.related],
    }
