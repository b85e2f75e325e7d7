"""Subagents: one event for each start and one for each settlement, from whichever side they are heard first.

The host tells a settlement twice: on its bus, with the run, and as a notice in the parent's log, without it. Either may
be missing, and a notice may come again. A child that can be continued has several runs, told in order. What started and
never settled stays open: nothing here says that it is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel.event import Origin
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.reading import clean, member, string, texts
from foldstate.sidecar.intake.state import IntakeState, Run
from foldstate.sidecar.intake.taken import Entry, Taken, instant, run_id, taken, tell
from foldstate.sidecar.intake.words import Words, keep

NOTICES: Final = frozenset({"subagent-settled", "subagent-report"})
"""The source kinds of the messages by which the host tells a parent what became of its child."""

PLUGIN_CHILDREN: Final = frozenset({"auto-memory-fold", "auto-memory-consolidate", "auto-memory-summarize", "greet"})
"""Labels of the children that other plugins run for themselves: noise to the user."""

_NAMED: Final = re.compile(r"Background subagent (\S+) ")
_CLOSING: Final = "Its closing message:"
_APPENDED_MOST: Final = 2
"""After the child's own words the host may append a structured result and a diagnostic."""
_SETTLED_KEPT: Final = 256
_OPEN_KEPT: Final = 4096
_LABELS_KEPT: Final = 1024
_SPACE: Final = re.compile(r"\s+")


class Started(Struct, frozen=True):
    """The host began a run of a child."""

    child: str
    at: str
    run: str | None = None
    label: str | None = None


class _Words(Struct, frozen=True):
    """A settlement as one side told it."""

    words: Words
    at: str
    origin: Origin | None


class Settled(Struct, frozen=True):
    """A run of a child ended. `closing` is the child's last text, null where it isn't known or there is none."""

    child: str
    at: str
    stop_reason: str
    run: str | None = None
    label: str | None = None
    closing: str | None = None


def catalog(state: IntakeState, data: Json) -> Taken:
    """Learns a child's label from the parent's log."""
    child, label = string(member(data, "childId")), string(member(data, "label"))
    return taken(_labelled(state, child, label) if child and label else state, skipped=("subagent/catalog",))


def started(state: IntakeState, session: str, fact: Started) -> Taken:
    child = clean(fact.child)
    # Without a run of its own a start is told apart by its time.
    run = clean(fact.run) if fact.run is not None else f"@{fact.at}"
    state = _labelled(state, child, clean(fact.label or ""))
    event_id = run_id("started", session, child, run)
    if any(one.child == child and one.run == run for one in state.runs):
        return replace(taken(state, skipped=("subagent/started:duplicate",)), event=event_id)
    if _of_plugin(state, child):
        return taken(state, skipped=("subagent/started:plugin",))
    name = _name(state, child)
    telling = tell(event_id, "subagent", name, fact.at, keep(f"Subagent {name} started"), None)
    after = _with_runs(state, (*state.runs, Run(child, run)))
    return replace(taken(after, (telling,)), event=event_id)


def settled(state: IntakeState, session: str, fact: Settled) -> Taken:
    """Takes the bus's telling.

    1. The run is known: its first telling makes the event.
    2. It isn't, and a notice with the same closing words came before: that was it.
    3. Otherwise the fact is new. One without a run belongs to the child's oldest run that the bus has not told.
    """
    child = clean(fact.child)
    state = _labelled(state, child, clean(fact.label or ""))
    if _of_plugin(state, child):
        return taken(state, skipped=("subagent/settled:plugin",))
    closing = None if fact.closing is None else _recognise(clean(fact.closing))
    known = _told(state.runs, child, None if fact.run is None else clean(fact.run), closing)
    if known is not None and not known.open:
        after = _exchanged(state, known, replace(known, told=True, closing=known.closing or closing))
        return replace(taken(after, skipped=("subagent/settled:duplicate",)), event=known.event)
    run = known.run if known is not None else None if fact.run is None else clean(fact.run)
    head = f"Subagent {_name(state, child)} settled: {clean(fact.stop_reason)}"
    words = keep(f"{head}\n{clean(fact.closing)}" if fact.closing else head)
    done = Run(child, run, told=True, closing=closing)
    return _settle(state, session, known, done, _Words(words, fact.at, None))


def notice(state: IntakeState, session: str, entry: Entry, kind: str) -> Taken:
    """Takes the log's telling, which names no run.

    1. The bus told a run with these closing words: it is that one.
    2. Otherwise the child's oldest run that has not been told or noticed.
    3. Otherwise its oldest run without a notice, whatever the bus said of its words.
    4. With none left, one with the same closing words was noticed before: this one came twice.
    5. Otherwise the run is unknown, and its closing words stand for it.
    """
    blocks = texts(member(entry.data, "content"))
    opening = blocks[0] if blocks else ""
    found = _NAMED.match(opening)
    child = string(member(entry.data, "source", "senderSessionId")) or (found[1] if found else "")
    if _of_plugin(state, child):
        return taken(state, skipped=(f"user/message:{kind}:plugin",))
    keys = _closings(blocks)
    mine = [one for one in state.runs if one.child == child]
    unnoticed = [one for one in mine if not one.noticed]
    known = (
        _first(one for one in unnoticed if one.told and one.closing in keys)
        or _first(one for one in unnoticed if not one.told)
        or _first(unnoticed)
        or _first(one for one in mine if one.closing in keys)
    )
    if known is not None and not known.open:
        after = _exchanged(state, known, replace(known, noticed=True, closing=known.closing or keys[0]))
        return taken(after, skipped=(f"user/message:{kind}:duplicate",))
    words = keep("\n".join(blocks) or string(member(entry.data, "source", "summary")) or f"Subagent {child} settled")
    done = Run(child, None if known is None else known.run, noticed=True, closing=keys[0])
    return _settle(state, session, known, done, _Words(words, instant(entry.time), Origin(session, entry.seq)))


def _settle(state: IntakeState, session: str, known: Run | None, done: Run, telling: _Words) -> Taken:
    """Makes the settlement's event, and records its run as settled by the side that told it."""
    if done.run is not None:
        event_id = run_id("settled", session, done.child, done.run)
    else:
        event_id = run_id("closing", session, done.child, done.closing or "")
    done = replace(done, event=event_id)
    after = _with_runs(state, (*state.runs, done)) if known is None else _exchanged(state, known, done)
    event = tell(event_id, "subagent", _name(state, done.child), telling.at, telling.words, telling.origin)
    return replace(taken(after, (event,)), event=event_id)


def _told(runs: Sequence[Run], child: str, run: str | None, closing: str | None) -> Run | None:
    """The run that the bus speaks of, where it is known."""
    mine = [one for one in runs if one.child == child]
    if run is not None:
        return _first(one for one in mine if one.run == run) or _first(
            one for one in mine if one.run is None and not one.told and closing in (None, one.closing)
        )
    alike = [one for one in mine if closing in (None, one.closing)]
    untold = [one for one in mine if not one.told]
    return (
        _first(one for one in untold if one in alike)
        or _first(one for one in untold if one.open)
        or _first(untold)
        or _first(alike)
    )


def _closings(blocks: Sequence[str]) -> list[str]:
    """What the closing words may be recognised by: as they stand, and without what the host may have appended."""
    own = list(blocks[2:]) if _CLOSING in blocks[1:2] else []
    return [
        _recognise("\n".join(own[: len(own) - cut])) for cut in range(min(_APPENDED_MOST, max(len(own) - 1, 0)) + 1)
    ]


def _recognise(closing: str) -> str:
    """White space counts for nothing: the two sides join the child's blocks each in its own way."""
    return sha256(_SPACE.sub("", closing).encode("utf-8")).hexdigest()


def _name(state: IntakeState, child: str) -> str:
    return state.labels.get(child) or child or "subagent"


def _of_plugin(state: IntakeState, child: str) -> bool:
    return state.labels.get(child) in PLUGIN_CHILDREN


def _labelled(state: IntakeState, child: str, label: str) -> IntakeState:
    if not label or state.labels.get(child) == label:
        return state
    return replace(state, labels=_newest({**state.labels, child: label}))


def _newest(labels: Mapping[str, str]) -> dict[str, str]:
    return dict(list(labels.items())[-_LABELS_KEPT:])


def _exchanged(state: IntakeState, old: Run, new: Run) -> IntakeState:
    return replace(state, runs=tuple(new if one is old else one for one in state.runs))


def _with_runs(state: IntakeState, runs: tuple[Run, ...]) -> IntakeState:
    """Keeps every open run and the newest settled ones, each up to a bound that no host comes near."""
    still = {id(one) for one in [one for one in runs if one.open][-_OPEN_KEPT:]}
    settled_ones = {id(one) for one in [one for one in runs if not one.open][-_SETTLED_KEPT:]}
    return replace(state, runs=tuple(one for one in runs if id(one) in still or id(one) in settled_ones))


def _first(runs: Iterable[Run]) -> Run | None:
    return next(iter(runs), None)
