"""Batches in few words, sent to the kernel's public functions."""

from __future__ import annotations

from foldstate.kernel.batch import submit
from foldstate.kernel.state import State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, Fault, Refused, Verdict

NOW = "2026-10-10T09:00:00+08:00"
LATER = "2026-10-10T10:00:00+08:00"
LONG_AFTER = "2026-10-12T10:00:00+08:00"

Declared = dict[str, Json]


def new(item_id: str, **fields: Json) -> Declared:
    return {"id": item_id, "relation": "new", "title": "A title", "weight": "normal", "kind": "fyi", **fields}


def patch(item_id: str, **fields: Json) -> Declared:
    return {"id": item_id, "relation": f"supersedes:{item_id}", "weight": "normal", "kind": "fyi", **fields}


def leave(item_id: str, reason: str = "It is over.") -> Declared:
    return {"id": item_id, "relation": "withdraw", "reason": reason}


def merge(item_id: str, *sources: str, **fields: Json) -> Declared:
    return new(item_id, **{"relation": f"merges:[{', '.join(sources)}]", **fields})


def source(event: str, channel: str = "mail", **fields: Json) -> Declared:
    return {"channel": channel, "ref": f"event:{event}", **fields}


def batch_of(*declarations: Json, acknowledges: tuple[str, ...] = ()) -> Declared:
    return {"declarations": [*declarations], "acknowledges": [*acknowledges]}


def send(
    state: State,
    *declarations: Json,
    acknowledges: tuple[str, ...] = (),
    batch_id: str = "b-1",
    now: str = NOW,
    base: int | None = None,
) -> Verdict:
    batch = batch_of(*declarations, acknowledges=acknowledges)
    return submit(state, batch_id=batch_id, now=now, batch=batch, base_revision=base)


def accept(
    state: State,
    *declarations: Json,
    acknowledges: tuple[str, ...] = (),
    batch_id: str = "b-1",
    now: str = NOW,
    base: int | None = None,
) -> Accepted:
    verdict = send(state, *declarations, acknowledges=acknowledges, batch_id=batch_id, now=now, base=base)
    assert isinstance(verdict, Accepted), verdict
    return verdict


def after(state: State, *declarations: Json, now: str = NOW) -> State:
    return accept(state, *declarations, now=now).state


def faults(
    state: State, *declarations: Json, acknowledges: tuple[str, ...] = (), base: int | None = None
) -> list[Fault]:
    verdict = send(state, *declarations, acknowledges=acknowledges, base=base)
    assert isinstance(verdict, Refused), verdict
    return [*verdict.faults]


def only_fault(state: State, *declarations: Json, base: int | None = None) -> Fault:
    found = faults(state, *declarations, base=base)
    assert len(found) == 1, found
    return found[0]


def codes(state: State, *declarations: Json) -> list[str]:
    return [fault.code for fault in faults(state, *declarations)]


def family() -> State:
    """A trip with two bookings, and an errand beside it."""
    return after(
        State(),
        new("trip", summary="Two bookings.", children=[new("flight"), new("hotel")]),
        new("errand"),
    )
