"""Holding an accepted answer against what its scenario expects: each way in which it misses, as a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UnsetType

from foldstate.kernel import instant
from foldstate.kernel.evidence import EVENT_REF
from foldstate.kernel.state import Item, State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted
from foldstate.sidecar.eval.scenario import UNCHANGED, Expect, Want

_STORED: Final = (
    "title",
    "summary",
    "weight",
    "kind",
    "share_override",
    "due_at",
    "stale_after",
    "sources",
    "status",
    "merged_into",
)


def misses(expect: Expect, before: State, accepted: Accepted) -> tuple[str, ...]:
    """Every way in which the answer misses; empty if it is acceptable."""
    record, receipt = accepted.record, accepted.receipt
    assert record is not None, "a scenario's round is answered for the first time"
    found: list[str] = []
    given = {one.event: one.disposition for one in record.dispositions}
    for event, allowed in expect.dispositions.items():
        if given.get(event) not in allowed:
            found.append(f"{event} is {given.get(event)}, not {' or '.join(allowed)}")
    if receipt.result not in expect.result:
        found.append(f"the result is {receipt.result}, not {' or '.join(expect.result)}")
    for want in expect.items:
        found += _missed(want, before, accepted.state)
    acknowledged = _acknowledged(record.batch)
    found += [f"{note} isn't acknowledged" for note in expect.acknowledges.must if note not in acknowledged]
    found += [f"{note} is acknowledged" for note in expect.acknowledges.must_not if note in acknowledged]
    created = sum(one.change == "created" for one in receipt.changes)
    if created > expect.new_items_max:
        found.append(f"{created} new items, more than {expect.new_items_max}")
    return tuple(found)


def _missed(want: Want, before: State, after: State) -> list[str]:
    if want.id is not None:
        name = want.id
        picked = [after.items[name]] if name in after.items else []
    else:
        name = f"about {want.about_event}"
        ref = f"{EVENT_REF}{want.about_event}"
        picked = [item for item in after.items.values() if any(source.ref == ref for source in item.sources)]
    active = [item for item in picked if item.status == "active"]
    if not want.exists:
        return [f"{name}: {active[0].id} is in the state"] if active else []
    if not picked:
        return [f"{name}: there is no such item"]
    tried = [next(_faults(want, item, before.items.get(item.id)), None) for item in picked]
    if all(tried):
        return [f"{name}: {tried[0]}"]
    return [f"{name}: {fault}" for item in active if (fault := next(_lacking(want, item), None)) is not None]


def _faults(want: Want, item: Item, old: Item | None) -> Iterator[str]:
    """What of one statement one item doesn't meet, in the order in which it is asked."""
    if item.status not in want.status:
        yield f"{item.id} is {item.status}"
    updated = old is None or any(getattr(old, name) != getattr(item, name) for name in _STORED)
    if want.updated is not None and updated != want.updated:
        yield f"{item.id} {'was' if updated else 'was not'} updated"
    if item.status != "active":
        return
    if want.kind is not None and item.kind not in want.kind:
        yield f"{item.id} is {item.kind}, not {' or '.join(want.kind)}"
    if want.weight is not None and item.weight not in want.weight:
        yield f"{item.id} weighs {item.weight}, not {' or '.join(want.weight)}"
    if want.share is not None and item.share not in want.share:
        yield f"{item.id} has a share of {item.share}"
    yield from _time("due_at", want.due_at, item.due_at, None if old is None else old.due_at)
    yield from _time("stale_after", want.stale_after, item.stale_after, None if old is None else old.stale_after)
    yield from _lacking(want, item)
    for patterns, text in _texts(want.title_has, want.summary_has, want.text_has, item):
        for pattern in patterns:
            if not _matches(pattern, text):
                yield f"{item.id}: {text!r} doesn't say {pattern!r}"


def _time(name: str, wanted: str | UnsetType | None, held: str | None, old: str | None) -> Iterator[str]:
    if isinstance(wanted, UnsetType):
        return
    target = old if wanted == UNCHANGED else wanted
    if not instant.same(held, target):
        yield f"{name} is {held}, not {target}"


def _lacking(want: Want, item: Item) -> Iterator[str]:
    for patterns, text in _texts(want.title_lacks, want.summary_lacks, want.text_lacks, item):
        for pattern in patterns:
            if _matches(pattern, text):
                yield f"{item.id}: {text!r} says {pattern!r}"


def _texts(
    title: Iterable[str], summary: Iterable[str], text: Iterable[str], item: Item
) -> tuple[tuple[Iterable[str], str], ...]:
    said = item.summary or ""
    return (title, item.title), (summary, said), (text, f"{item.title}\n{said}")


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _acknowledged(batch: Json) -> list[Json]:
    named = batch.get("acknowledges") if isinstance(batch, dict) else None
    return named if isinstance(named, list) else []
