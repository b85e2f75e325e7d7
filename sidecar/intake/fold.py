"""The fold: from what is known and one more entry of the host's log, or fact of its bus, to what is known then.

Pure and total: no clock, no I/O, and no entry, however malformed, raises. The same entries in the same order give the
same events wherever the log is cut, since the state carries all that a later entry needs. The caller skips entries that
it has taken before (same seq, time and type).
"""

from __future__ import annotations

from typing import Final

from foldstate.sidecar.intake import people, subagent, tools, turns
from foldstate.sidecar.intake.reading import clean
from foldstate.sidecar.intake.state import IntakeState, Run
from foldstate.sidecar.intake.subagent import Settled, Started, settled, started
from foldstate.sidecar.intake.taken import PREFIX, Entry, Taken, taken
from foldstate.sidecar.intake.words import Words, keep

__all__ = [
    "PREFIX",
    "WANTS",
    "Entry",
    "IntakeState",
    "Run",
    "Settled",
    "Started",
    "Taken",
    "Words",
    "fold",
    "keep",
    "settled",
    "started",
    "turn_open",
]

WANTS: Final = (
    "assistant/message",
    "subagent/catalog",
    "tool/call",
    "tool/result",
    "turn/end",
    "turn/start",
    "user/message",
)
"""The entry types that the fold reads; the host's bridge need send no others."""


def fold(state: IntakeState, session: str, entry: Entry) -> Taken:
    match entry.type:
        case "turn/start":
            return turns.start(state, session, entry)
        case "turn/end":
            return turns.end(state, session, entry)
        case "assistant/message":
            return turns.say(state, entry)
        case "user/message":
            return people.take_message(state, session, entry)
        case "tool/call":
            return taken(tools.take_call(state, entry.data))
        case "tool/result":
            return tools.take_result(state, session, entry)
        case "subagent/catalog":
            return subagent.catalog(state, entry.data)
        case other:
            return taken(state, skipped=(clean(other),))


def turn_open(state: IntakeState) -> bool:
    """Whether the agent is at work."""
    return state.turn is not None
