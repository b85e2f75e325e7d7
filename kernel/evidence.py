"""What a declaration owes its evidence (R3-R6): events cited, by their channel, word for word."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from foldstate.kernel.declaration import Batch, Declaration, Merge, New, Supersede, cited
from foldstate.kernel.event import Event
from foldstate.kernel.faults import Finding, Stage, finding
from foldstate.kernel.state import Source, State
from foldstate.kernel.transition import same_source
from foldstate.kernel.values import MAX_SHOWN, Disposed

EVENT_REF: Final = "event:"


def event_id(source: Source) -> str | None:
    """The id of the event that a source refers to, or None where it refers to something else."""
    return source.ref.removeprefix(EVENT_REF) if source.ref.startswith(EVENT_REF) else None


def shown(text: str) -> str:
    """An event's text as the editor is shown it: whole, or its first 4,000 code points with a mark that says so."""
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}… [cut: {MAX_SHOWN} of {len(text)} characters shown]"


def unsupported(state: State, batch: Batch, ledger: Mapping[str, Event]) -> list[Finding]:
    """R4 to R6 for every declaration of the batch. `ledger` holds the cited events that exist."""
    found: list[Finding] = []
    for one in batch.placed():
        declaration = one.declaration
        if not _cites(state, declaration):
            fields = {"item": declaration.id}
            found.append(finding(Stage.EVIDENCE, "source_required", f"{declaration.path}.sources", fields))
        held = _held(state, declaration)
        for at, source in enumerate(cited(declaration)):
            if not any(same_source(source, other) for other in held):
                found += _source(source, f"{declaration.path}.sources[{at}]", declaration.id, ledger)
    return found


def cited_not_used(batch: Batch, round_events: Collection[str], given: Mapping[str, Disposed]) -> list[Finding]:
    """R3: an event of the round that is cited is `used`; told once for each event, where it is first cited.

    `given` has the dispositions that could be read; an event without one is told by R1 already.
    """
    found: dict[str, Finding] = {}
    for one in batch.placed():
        for at, source in enumerate(cited(one.declaration)):
            event = event_id(source)
            if event is None or event in found or event not in round_events or given.get(event, "used") == "used":
                continue
            fields = {"item": one.declaration.id, "event": event, "disposition": given[event]}
            path = f"{one.declaration.path}.sources[{at}]"
            found[event] = finding(Stage.EVIDENCE, "cited_not_used", path, fields)
    return list(found.values())


def _cites(state: State, declaration: Declaration) -> bool:
    """R4: whether there is an event under what needs one; what could not be read is given the benefit of the doubt."""
    if not isinstance(declaration, New | Merge) or "sources" in declaration.faulty:
        return True
    sources = list(cited(declaration))
    if isinstance(declaration, Merge):
        if any(one not in state.items for one in declaration.merged):
            return True
        sources += _held(state, declaration)
    return any(event_id(source) is not None for source in sources)


def _held(state: State, declaration: Declaration) -> tuple[Source, ...]:
    """The sources that the declaration's item holds already, or inherits."""
    match declaration:
        case Supersede(id=item_id) if item_id in state.items:
            return state.items[item_id].sources
        case Merge(merged=merged):
            return tuple(source for one in merged if one in state.items for source in state.items[one].sources)
        case _:
            return ()


def _source(source: Source, path: str, item: str, ledger: Mapping[str, Event]) -> list[Finding]:
    """R5 and R6 for one source that is new to its item."""
    name = event_id(source)
    if name is None:
        return []
    event = ledger.get(name)
    if event is None:
        return [finding(Stage.EVIDENCE, "event_not_found", f"{path}.ref", {"item": item, "event": name})]
    found: list[Finding] = []
    if source.channel != event.channel:
        fields = {"item": item, "event": name, "channel": source.channel, "expected": event.channel}
        found.append(finding(Stage.EVIDENCE, "channel_mismatch", f"{path}.channel", fields))
    if source.quote is not None and not stands_in(source.quote, event.text):
        fields = {"item": item, "event": name, "quote": source.quote}
        found.append(finding(Stage.EVIDENCE, "quote_not_found", f"{path}.quote", fields))
    return found


def stands_in(quote: str, text: str) -> bool:
    """R6: whether a quote stands in an event's text, as it is kept or as it was shown."""
    plain = _plain(quote)
    return _stands_in(plain, _plain(text)) or (len(text) > MAX_SHOWN and _stands_in(plain, _plain(shown(text))))


_CUT: Final = re.compile(r"(…|\.\.\.)")
_SPACE: Final = re.compile(r"\s+")
_LOOSE_SPACE: Final = re.compile(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])")
_MIN_PIECE: Final = 2


@lru_cache(maxsize=64)
def _plain(text: str) -> str:
    """A text with its runs of white space made equal, and gone beside a non-ASCII character."""
    return _LOOSE_SPACE.sub("", _SPACE.sub(" ", text)).strip(" ")


def _stands_in(quote: str, text: str) -> bool:
    if quote in text:
        return True
    parts = _CUT.split(quote)
    segments = [part.strip(" ") for part in parts[::2] if part.strip(" ")]
    if len(segments) < 2:
        return bool(segments) and segments[0] in text
    return _in_order(parts, text)


def _in_order(parts: list[str], text: str) -> bool:
    """Whether the pieces of a cut quote stand in the text one after the other.

    `parts` alternates between words and ellipses, and each ellipsis may be a cut or stand for itself. `ends[i]` is the
    earliest place at which everything before the i-th words can end, if the ellipsis before them is a cut.
    """
    last = len(parts) + 1
    ends: dict[int, int] = {0: 0}
    for start in range(0, last, 2):
        if start not in ends:
            continue
        for stop in range(start + 2, last + 1, 2):
            piece = "".join(parts[start : stop - 1]).strip(" ")
            if not piece:
                end = ends[start]
            elif (at := text.find(piece, ends[start])) < 0:
                break
            elif len(piece) < _MIN_PIECE:
                continue
            else:
                end = at + len(piece)
            ends[stop] = min(end, ends.get(stop, end))
    return last in ends
