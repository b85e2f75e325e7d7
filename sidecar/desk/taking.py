"""Commands that bring facts in: host log entries, what became of subagents, and what was posted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from foldstate.kernel.event import Event
from foldstate.kernel.signal import Coverage
from foldstate.sidecar.desk.actor import Command, Moment
from foldstate.sidecar.desk.desk import Desk
from foldstate.sidecar.desk.language import heard
from foldstate.sidecar.intake.fold import PREFIX, Entry, IntakeState, Taken, Words, fold
from foldstate.sidecar.store.errors import EventConflict as StoredConflict
from foldstate.sidecar.wire.errors import CursorGap, EventConflict, InvalidParams

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
    entries: Sequence[Entry], *, after: int, through: int, skipped: Mapping[str, int], accept_gap: bool
) -> Command[tuple[str, ...]]:
    """Takes the host's log entries out of `(after, through]`, each once however often it is sent; the new events' ids.

    An entry is the same only if seq, time and type are: the host re-uses numbers after a kill. `skipped` is counted
    where it tells something new: beyond the cursor, or where the host's log is another than it was.

    :raises CursorGap: where `after` lies beyond the cursor and the hole was not accepted.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, tuple[str, ...]]:
        store = moment.store
        gap = after > desk.cursor
        if gap and not accept_gap:
            raise CursorGap(
                f"after is {after} and the cursor stands at {desk.cursor}; send what lies between, or accept_gap",
                cursor=desk.cursor,
            )
        keys = [(entry.seq, entry.time, entry.type) for entry in entries]
        fresh = [entry for entry, key in zip(entries, keys, strict=True) if not store.entry_taken(*key)]
        lost = store.lose_entries(after, through, keys)
        store.take_entries((entry.seq, entry.time, entry.type) for entry in fresh)
        another = lost > 0 or any(entry.seq <= desk.cursor for entry in fresh)
        further = through > desk.cursor
        taken = fold_all(desk.intake, desk.head.session, fresh)
        ledger, retold = keep(moment, taken)
        counts = summed(taken.skipped, retold, skipped if further or another else {})
        cursor = through if further or another else desk.cursor
        last = entries[-1].time if entries and entries[-1].seq == through else None
        store.save_intake(cursor, last, msgspec.json.encode(taken.state))
        store.count_skips(counts)
        head = desk.head
        if head.locale is None and (locale := heard(taken.events)) is not None:
            head = replace(head, locale=locale)
            store.save_head(head)
        after_desk = replace(
            desk,
            head=head,
            intake=taken.state,
            cursor=cursor,
            waiting=store.waiting_summary(),
            coverage=covered(desk.coverage, moment, broken=gap or lost > 0),
        ).counting(counts)
        return after_desk.hearing(moment.now) if fresh else after_desk, ledger

    return command


def fold_all(state: IntakeState, session: str, entries: Sequence[Entry]) -> Taken:
    """What a row of entries comes to, one after the other."""
    events: list[Event] = []
    digests: dict[str, str] = {}
    skipped: dict[str, int] = {}
    for entry in entries:
        taken = fold(state, session, entry)
        state = taken.state
        events.extend(taken.events)
        digests.update(taken.digests)
        skipped = summed(skipped, taken.skipped)
    return Taken(state, tuple(events), skipped, digests)


def summed(*counts: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for kind, number in one.items():
            total[kind] = total.get(kind, 0) + number
    return total


def covered(coverage: Mapping[str, Coverage], moment: Moment, *, broken: bool) -> Mapping[str, Coverage]:
    """Says for the log's channels whether they were heard.

    They are `unknown` from a hole on, or from where the host forgot what was taken, until a round was told of it.
    """
    after = dict(coverage)
    for channel in LOG_CHANNELS:
        if broken or channel not in coverage:
            after[channel] = moment.store.set_coverage(channel, "unknown" if broken else "ok", moment.now)
    return after


def keep(moment: Moment, taken: Taken) -> tuple[tuple[str, ...], dict[str, int]]:
    """Puts intake's events into the ledger; the ids of those that are new to it, and the others counted.

    The first telling of a fact stands: one that comes again in other words is counted, and changes nothing.
    """
    kept: list[str] = []
    retold: dict[str, int] = {}
    for event in taken.events:
        try:
            new = moment.store.add_event(event, digest=taken.digests[event.id], heard_at=moment.now)
        except StoredConflict:
            retold = summed(retold, {f"retold:{event.channel}": 1})
            continue
        if new:
            kept.append(event.id)
    return tuple(kept), retold


class Fact(msgspec.Struct, frozen=True):
    """What came of a fact: its event's id, null where it makes none, and whether it was there before."""

    event: str | None
    duplicate: bool


def take_fact(transition: Callable[[IntakeState], Taken]) -> Command[Fact]:
    """Takes a fact that the host's bus told and its log doesn't hold, by intake's own transition."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Fact]:
        taken = transition(desk.intake)
        row = moment.store.load_intake()
        moment.store.save_intake(desk.cursor, row.cursor_time if row else None, msgspec.json.encode(taken.state))
        kept, retold = keep(moment, taken)
        counts = summed(taken.skipped, retold)
        moment.store.count_skips(counts)
        after = replace(desk, intake=taken.state, waiting=moment.store.waiting_summary()).counting(counts)
        fact = Fact(event=taken.event, duplicate=taken.event is not None and not kept)
        return after.hearing(moment.now) if kept else after, fact

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
            f"ids with {PREFIX!r} before them are the host's own; choose another", path="params.event.id"
        )

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Fact]:
        try:
            new = moment.store.add_event(event, digest=words.digest, heard_at=moment.now)
        except StoredConflict as conflict:
            raise EventConflict(str(conflict)) from None
        if not new:
            return desk, Fact(event=event.id, duplicate=True)
        after = replace(desk, waiting=moment.store.waiting_summary()).hearing(moment.now)
        return after, Fact(event=event.id, duplicate=False)

    return command


def posted_id() -> str:
    """A fresh id for an event that came without one; only an id of the sender's own makes posting again safe."""
    return f"p:{uuid4().hex}"
