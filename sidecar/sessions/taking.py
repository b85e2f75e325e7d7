"""Commands that bring facts in: host log entries, what became of subagents, and what was posted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from foldstate.kernel.event import Event
from foldstate.kernel.signal import Coverage
from foldstate.sidecar.intake.fold import PREFIX, Entry, IntakeState, Taken, Words, fold
from foldstate.sidecar.sessions.actor import Command, Moment
from foldstate.sidecar.sessions.desk import Desk
from foldstate.sidecar.sessions.language import heard
from foldstate.sidecar.store.errors import EventConflict as StoredConflict
from foldstate.sidecar.wire.errors import CursorGap, EventConflict, InvalidParams
from foldstate.sidecar.wire.frames import SessionEventsResult

HOST_CHANNELS: Final = frozenset(
    {
        "user",
        "agent",
        "tool",
        "subagent",
        "job",
        "question",
        "approval",
        "plan",
        "fold",
        "memory",
        "schedule",
        "feedback",
        "reminder",
    }
)
"""The names that only the host's own facts may bear: nothing that is posted can pose as them."""

LOG_CHANNELS: Final = ("agent", "subagent", "tool", "user")
"""The channels that the host's log feeds today, whose coverage follows the log's continuity."""


def take_entries(
    entries: Sequence[Entry], *, after: int, through: int, skipped: dict[str, int], accept_gap: bool
) -> Command[SessionEventsResult]:
    """Takes the host's log entries out of `(after, through]`, each once however often it is sent.

    An entry is the same only if seq, time and type are: the host re-uses numbers after a kill.

    The wire has checked that they rise and lie inside the range.

    :raises CursorGap: where `after` lies beyond the cursor and the hole was not accepted.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, SessionEventsResult]:
        store = moment.store
        gap = after > desk.cursor
        if gap and not accept_gap:
            raise CursorGap(
                f"after is {after} and the cursor stands at {desk.cursor}; send what lies between, or accept_gap",
                cursor=desk.cursor,
            )
        intake = desk.intake
        events: list[Event] = []
        digests: dict[str, str] = {}
        counts = dict(skipped) if after == desk.cursor or gap else {}
        fresh = [entry for entry in entries if not store.entry_taken(entry.seq, entry.time, entry.type)]
        for entry in fresh:
            taken = fold(intake, desk.head.session, entry)
            intake = taken.state
            events.extend(taken.events)
            digests.update(taken.digests)
            for kind, count in taken.skipped.items():
                counts[kind] = counts.get(kind, 0) + count
        lost = store.lose_entries(after, through, [(entry.seq, entry.time, entry.type) for entry in entries])
        store.take_entries([(entry.seq, entry.time, entry.type) for entry in fresh])
        if counts:
            store.count_skips(counts)
        last = entries[-1] if entries else None
        store.save_intake(through, last.time if last and last.seq == through else None, msgspec.json.encode(intake))
        ledger = keep(moment, events, digests)
        head = desk.head
        if head.locale is None and (locale := heard(events)) is not None:
            head = replace(head, locale=locale)
            store.save_head(head)
        heard_at = moment.now if fresh else desk.heard_at
        waiting = store.waiting_summary()
        after_desk = replace(
            desk,
            head=head,
            intake=intake,
            cursor=through,
            waiting=waiting,
            heard_at=heard_at,
            coverage=cover_log(desk.coverage, moment, broken=gap or lost > 0),
        )
        return after_desk, SessionEventsResult(cursor=through, ledger=tuple(ledger))

    return command


def cover_log(coverage: Mapping[str, Coverage], moment: Moment, *, broken: bool) -> Mapping[str, Coverage]:
    """Says for the log's channels whether they were heard.

    They are `unknown` from a hole on, or from where the host forgot what was taken, until a round was told of it.
    """
    after = dict(coverage)
    for channel in LOG_CHANNELS:
        if broken or channel not in coverage:
            after[channel] = Coverage(status="unknown" if broken else "ok", since=moment.now)
            moment.store.set_coverage(channel, after[channel].status, moment.now)
    return after


def keep(moment: Moment, events: Sequence[Event], digests: Mapping[str, str]) -> list[str]:
    """Puts intake's events into the ledger, and returns the ids of those that are new to it.

    The first telling of a fact stands: one that comes again in other words is counted, and changes nothing.
    """
    kept: list[str] = []
    for event in events:
        try:
            new = moment.store.add_event(event, digest=digests[event.id], heard_at=moment.now)
        except StoredConflict:
            moment.store.count_skips({f"retold:{event.channel}": 1})
            continue
        if new:
            kept.append(event.id)
    return kept


class Fact(msgspec.Struct, frozen=True):
    """What came of a fact: its event's id, null where it makes none, and whether it was there before."""

    event: str | None
    duplicate: bool


def take_fact(transition: Callable[[IntakeState], Taken]) -> Command[Fact]:
    """Takes a fact that the host's bus told and its log doesn't hold, by intake's own transition."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Fact]:
        taken = transition(desk.intake)
        if taken.skipped:
            moment.store.count_skips(dict(taken.skipped))
        row = moment.store.load_intake()
        moment.store.save_intake(desk.cursor, row.cursor_time if row else None, msgspec.json.encode(taken.state))
        kept = keep(moment, taken.events, taken.digests)
        waiting = moment.store.waiting_summary()
        after = replace(desk, intake=taken.state, waiting=waiting, heard_at=moment.now if kept else desk.heard_at)
        return after, Fact(event=taken.event, duplicate=taken.event is not None and not kept)

    return command


def take_post(event: Event, words: Words) -> Command[Fact]:
    """Takes an event from outside the host, whose text is the kept part of `words`.

    The same id with the same content is a duplicate.

    :raises EventConflict: where the id is in the ledger with other content.
    :raises InvalidParams: where the channel or the id would pose as the host's own.
    """
    if event.channel in HOST_CHANNELS:
        raise InvalidParams(
            f"{event.channel!r} is the host's own channel; post under another name, such as 'email' or 'ci'",
            path="params.event.channel",
        )
    if event.id.startswith(PREFIX):
        raise InvalidParams(
            f"ids that begin with {PREFIX!r} are the host's own; choose another", path="params.event.id"
        )

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Fact]:
        try:
            new = moment.store.add_event(event, digest=words.digest, heard_at=moment.now)
        except StoredConflict as conflict:
            raise EventConflict(str(conflict)) from None
        if not new:
            return desk, Fact(event=event.id, duplicate=True)
        after = replace(desk, waiting=moment.store.waiting_summary(), heard_at=moment.now)
        return after, Fact(event=event.id, duplicate=False)

    return command


def posted_id() -> str:
    """A fresh id for an event that came without one; only an id of the sender's own makes posting again safe."""
    return f"p:{uuid4().hex}"
