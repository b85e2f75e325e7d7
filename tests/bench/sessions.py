"""Sessions of a given age, and what an editor sends to them."""

from __future__ import annotations

from typing import Final

from foldstate.kernel.batch import submit
from foldstate.kernel.event import Event
from foldstate.kernel.round import Round
from foldstate.kernel.signal import Coverage, Signal, Window
from foldstate.kernel.state import State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted

NOW: Final = "2026-10-10T09:00:00+08:00"
ACTIVE: Final = 10
"""Items that are active in every session, whatever its age; the others were withdrawn, the oldest first."""
EVENTS: Final = 5


def aged(made: int) -> State:
    """A session in which so many items were ever made, of which `ACTIVE` are active, a second after one another."""
    state = State()
    for number in range(made):
        declarations: list[Json] = [new(f"item-{number}")]
        if number >= ACTIVE:
            declarations.append(leave(f"item-{number - ACTIVE}"))
        state = accepted(state, f"make-{number}", _at(number), batch_of(*declarations)).state
    return state


def accepted(state: State, batch_id: str, now: str, batch: Json) -> Accepted:
    verdict = submit(state, batch_id=batch_id, now=now, batch=batch)
    assert isinstance(verdict, Accepted), verdict
    return verdict


def new(item: str) -> Json:
    quote = f"Somebody asked for {item} and gave a day."
    return {
        "id": item,
        "relation": "new",
        "title": "A title of its own",
        "summary": "What it is about, and what comes next.",
        "weight": "low",
        "kind": "in-progress",
        "due_at": "2026-11-01T12:00:00+08:00",
        "sources": [{"channel": "mail", "ref": f"event:e-{item}", "quote": quote}],
    }


def leave(item: str) -> Json:
    return {"id": item, "relation": "withdraw", "reason": "It is over and nothing is left to do."}


def batch_of(*declarations: Json) -> Json:
    return {"declarations": list(declarations), "acknowledges": []}


def ten(made: int) -> Json:
    """A batch of ten declarations for a session of that age: three new, three patches, three withdrawals, a merge."""
    first = made - ACTIVE
    names = [f"item-{number}" for number in range(first, made)]
    patches: list[Json] = [
        {
            "id": name,
            "relation": f"supersedes:{name}",
            "title": "Another title",
            "weight": "normal",
            "kind": "needs-you",
        }
        for name in names[:3]
    ]
    merge: Json = {
        "id": "both",
        "relation": f"merges:[{names[3]}, {names[4]}]",
        "title": "Both in one",
        "weight": "normal",
        "kind": "fyi",
    }
    return batch_of(*(new(f"fresh-{n}") for n in range(3)), *patches, *(leave(name) for name in names[5:8]), merge)


def round_of(state: State) -> Round:
    """A round with a few events at the state's last moment."""
    now = state.recorded_at or NOW
    events = tuple(
        Event(f"e-{n}", "mail", "someone@example.com", now, "Words that somebody wrote, and some more. " * 5)
        for n in range(EVENTS)
    )
    coverage = {"mail": Coverage("ok", NOW), "user": Coverage("ok", NOW)}
    signal = Signal("events", ("events",), EVENTS, Window(None, now), coverage, ())
    return Round("b-round", state.revision, now, events, signal)


def _at(number: int) -> str:
    minutes, seconds = divmod(number, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2026-10-10T{9 + hours:02}:{minutes:02}:{seconds:02}+08:00"
