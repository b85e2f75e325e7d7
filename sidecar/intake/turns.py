"""Turns: when one is open, and the agent's last words of it, told once it has ended."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from foldstate.kernel.event import Origin
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.reading import member, string, texts, whole
from foldstate.sidecar.intake.state import IntakeState, Said, Turn
from foldstate.sidecar.intake.taken import Entry, Taken, Telling, entry_id, instant, taken, tell
from foldstate.sidecar.intake.tools import end_runs
from foldstate.sidecar.intake.words import keep

_COMPLETED: Final = "completed"
_UNRECORDED: Final = "no end was recorded"
"""The reason told for a turn that another one followed without its end in the log."""


def start(state: IntakeState, session: str, entry: Entry) -> Taken:
    """Opens a turn. One that is still open lost its end with the host: what it said is told now.

    A number that has ended before is one that the host uses again after a kill, so the turns from it on are still to
    come.
    """
    left = [] if state.turn is None else _end(session, entry, state.turn, _UNRECORDED)
    number, ended = whole(member(entry.data, "turn")), state.ended
    if number is not None and ended is not None and number <= ended:
        ended = number - 1
    return taken(replace(state, turn=Turn(), ended=ended), left)


def end(state: IntakeState, session: str, entry: Entry) -> Taken:
    turn = state.turn or Turn()
    number = whole(member(entry.data, "turn"))
    ended = state.ended if number is None else max(number, state.ended or 0)
    tellings = _end(session, entry, turn, _reason(member(entry.data, "reason")))
    return taken(replace(state, turn=None, ended=ended), tellings)


def say(state: IntakeState, entry: Entry) -> Taken:
    """Remembers the agent's words, until later ones of the same turn take their place."""
    text = "\n".join(texts(member(entry.data, "message", "content")))
    if not text.strip():
        return taken(state, skipped=("assistant/message:no-text",))
    turn = state.turn or Turn()
    said = Said(text, entry.seq)
    return taken(
        replace(state, turn=replace(turn, said=said)),
        skipped=() if turn.said is None else ("assistant/message:earlier",),
    )


def _end(session: str, entry: Entry, turn: Turn, reason: str) -> list[Telling]:
    """The runs of failures, then the agent's words; the origin is the entry that they stand in."""
    tellings = end_runs(session, turn)
    said = turn.said
    lines = [] if reason == _COMPLETED else [f"Turn ended: {reason}"]
    if said is not None:
        lines.append(said.text)
    if lines:
        event_id = entry_id(session, entry.seq, entry.time, entry.type)
        origin = Origin(session, entry.seq if said is None else said.seq)
        tellings.append(tell(event_id, "agent", "agent", instant(entry.time), keep("\n".join(lines)), origin))
    return tellings


def _reason(reason: Json) -> str:
    """How the turn ended, in the host's own words where it has some."""
    kind = string(member(reason, "kind")) or "unknown"
    detail = string(member(reason, "error", "message"))
    if not detail:
        cause = member(reason, "reason")
        detail = string(member(cause, "reason")) or string(member(cause, "kind"))
    return f"{kind}: {detail}" if detail else kind
