"""Exactly one disposition with a reason for each event of a round (R1, R2, R7)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct, UnsetType

from foldstate.kernel.declaration import Batch
from foldstate.kernel.event import Disposition, Event
from foldstate.kernel.faults import Finding, Stage, finding, invalid_field
from foldstate.kernel.fields import Fields
from foldstate.kernel.state import State
from foldstate.kernel.values import DISPOSITIONS, MAX_REASON, Disposed, Json

_DISPOSITION: Final = ("event", "disposition", "why", "related")


class Given(Struct, frozen=True):
    """One disposition as read; what could not be is null. `related` keeps each id with its path."""

    path: str
    event: str | None
    disposition: Disposed | None
    why: str | None
    related: tuple[tuple[str, str], ...]


def read_dispositions(value: Json) -> tuple[tuple[Given, ...], list[Finding]]:
    """The dispositions of an answer as far as they could be read, with their faults of shape."""
    if not isinstance(value, list):
        return (), [invalid_field("dispositions", "not_list", {"field": "dispositions"})]
    findings: list[Finding] = []
    return tuple(_read(one, f"dispositions[{at}]", findings) for at, one in enumerate(value)), findings


def misdisposed(
    events: Sequence[Event], deferred: Sequence[Event], given: Sequence[Given], state: State, batch: Batch
) -> list[Finding]:
    """R1, R2 and R7: each event of the round once, each deferred one that is shown at most once, no other at all."""
    found: list[Finding] = []
    owed = [event.id for event in events]
    open_to = {*owed, *(event.id for event in deferred)}
    items = {*state.items, *batch.named_ids, *batch.unread} if batch.whole else None
    seen: set[str] = set()
    for one in given:
        if one.event is not None and one.event not in open_to:
            fields: dict[str, Json] = {"event": one.event}
            found.append(finding(Stage.DISPOSITION, "disposition_unknown_event", f"{one.path}.event", fields))
        elif one.event is not None and one.event in seen:
            found.append(finding(Stage.DISPOSITION, "disposition_duplicate", f"{one.path}.event", {"event": one.event}))
        elif one.event is not None:
            seen.add(one.event)
        found += _related(one, items)
    missing = [event for event in owed if event not in seen]
    unread = sum(1 for one in given if one.event is None)
    if len(missing) > unread:
        found.append(finding(Stage.DISPOSITION, "disposition_missing", "dispositions", {"events": [*missing]}))
    return found


def by_event(given: Sequence[Given]) -> dict[str, Disposed]:
    """The first disposition of each event that could be read."""
    read: dict[str, Disposed] = {}
    for one in given:
        if one.event is not None and one.disposition is not None:
            read.setdefault(one.event, one.disposition)
    return read


def recorded(given: Sequence[Given]) -> tuple[Disposition, ...]:
    """The dispositions as history keeps them (R8), once no fault was found in them."""
    return tuple(
        Disposition(one.event, one.disposition, one.why, tuple(item for item, _ in one.related))
        for one in given
        if one.event is not None and one.disposition is not None and one.why is not None
    )


def _read(value: Json, path: str, findings: list[Finding]) -> Given:
    if not isinstance(value, dict):
        findings.append(invalid_field(path, "not_object", {"field": "dispositions"}))
        return Given(path, None, None, None, ())
    fields = Fields(value, path, findings)
    fields.only(_DISPOSITION)
    fields.required("event", "disposition", "why")
    event = fields.string("event")
    disposition = fields.choice("disposition", DISPOSITIONS)
    why = fields.text("why", MAX_REASON)
    related = fields.values("related")
    ids: list[tuple[str, str]] = []
    for at, one in enumerate(() if isinstance(related, UnsetType) else related):
        if isinstance(one, str):
            ids.append((one, f"{path}.related[{at}]"))
        else:
            findings.append(invalid_field(f"{path}.related[{at}]", "not_text", {"field": "related"}))
    return Given(
        path,
        None if isinstance(event, UnsetType) else event,
        None if isinstance(disposition, UnsetType) else disposition,
        None if isinstance(why, UnsetType) else why,
        tuple(ids),
    )


def _related(given: Given, items: Collection[str] | None) -> list[Finding]:
    """R2: what an event is related to is one of `items`, if those are known; noise is related to nothing."""
    about: dict[str, Json] = {} if given.event is None else {"event": given.event}
    if given.disposition == "noise" and given.related:
        fields = {**about, "field": "related"}
        return [invalid_field(f"{given.path}.related", "noise_related", fields, Stage.DISPOSITION)]
    if items is None:
        return []
    return [
        finding(Stage.DISPOSITION, "related_not_found", path, {**about, "item": item})
        for item, path in given.related
        if item not in items
    ]
