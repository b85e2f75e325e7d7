"""Commands of the round's life (R9) and of batches sent by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel import batch as kernel_batch
from foldstate.kernel import round as kernel_round
from foldstate.kernel.event import Event
from foldstate.kernel.evidence import shown
from foldstate.kernel.round import Round
from foldstate.kernel.signal import Coverage, Reason, Signal, Window
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, Refused, Verdict
from foldstate.kernel.view import RoundInput
from foldstate.sidecar.clock import instant
from foldstate.sidecar.sessions.actor import Command, Moment
from foldstate.sidecar.sessions.desk import Desk, Trouble
from foldstate.sidecar.wire.errors import RoundUnknown

ROUND_EVENTS: Final = 40
ROUND_CHARS: Final = 24_000
"""Code points of event text, as shown: a round stays one that an editor can read whole."""
ROUND_LIFE: Final = timedelta(minutes=10)
DEFERRED_SHOWN: Final = 20
NOT_ACTIVE_SHOWN: Final = 100


class Begun(Struct, frozen=True):
    round: Round
    input: RoundInput


class Submitted(Struct, frozen=True):
    """The kernel's verdict, and whether the round is still open for another answer."""

    verdict: Verdict
    open: bool


def begin_round(reasons: tuple[Reason, ...]) -> Command[Begun]:
    """Opens a round with the oldest events that wait in no other one, also where there are none."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Begun]:
        desk = expire(desk, moment.now)
        return begin(desk, moment, reasons, choose(moment.store.waiting(ROUND_EVENTS, desk.claimed)))

    return command


def begin_if_waiting(reasons: tuple[Reason, ...]) -> Command[Begun | None]:
    """The same, but null where no event waits."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Begun | None]:
        desk = expire(desk, moment.now)
        events = choose(moment.store.waiting(ROUND_EVENTS, desk.claimed))
        return begin(desk, moment, reasons, events) if events else (desk, None)

    return command


def begin(desk: Desk, moment: Moment, reasons: tuple[Reason, ...], events: tuple[Event, ...]) -> tuple[Desk, Begun]:
    told = signal(desk, moment, events, reasons)
    round_ = Round(
        batch_id=f"b-{uuid4().hex[:12]}",
        base_revision=desk.state.revision,
        begun_at=moment.now,
        events=events,
        signal=told,
        deferred=tuple(moment.store.deferred(DEFERRED_SHOWN)) if told.type == "review" else (),
    )
    after = replace(desk, rounds={**desk.rounds, round_.batch_id: round_})
    return after, Begun(round_, kernel_round.round_input(desk.state, round_, desk.head.profile))


def choose(waiting: list[Event]) -> tuple[Event, ...]:
    """The oldest events whose shown texts fit a round; the first one always does."""
    chosen: list[Event] = []
    room = ROUND_CHARS
    for event in waiting:
        room -= len(shown(event.text))
        if chosen and room < 0:
            break
        chosen.append(event)
    return tuple(chosen)


def signal(desk: Desk, moment: Moment, events: tuple[Event, ...], reasons: tuple[Reason, ...]) -> Signal:
    """Why the editor is called now, over the window since the last accepted round."""
    start = desk.head.window_to
    reminders = tuple(event.id for event in events if event.reminder is not None)
    return Signal(
        type="events" if len(reminders) < len(events) else "review",
        reason=reasons,
        received=moment.store.count_events_between(start, moment.now),
        window=Window(start=start, to=moment.now),
        coverage=dict(sorted(desk.coverage.items())),
        reminders=reminders,
    )


def submit_round(batch_id: str, output: Json) -> Command[Submitted]:
    """Judges an answer to an open round, or answers an accepted one again (B5).

    :raises RoundUnknown: where no round of that id is open and none was accepted under it.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Submitted]:
        desk = expire(desk, moment.now)
        prior = moment.store.record(batch_id)
        if prior is not None:
            return desk, Submitted(kernel_round.replay(desk.state, prior, output), open=False)
        round_ = desk.rounds.get(batch_id)
        if round_ is None:
            raise round_unknown(batch_id)
        ledger = moment.store.events(kernel_round.cited_ids(output))
        verdict = kernel_round.decide(desk.state, round_, output, ledger=ledger)
        match verdict:
            case Refused(faults=faults):
                ends = any(fault.code == "stale_base" for fault in faults)
                return desk.without_round(batch_id) if ends else desk, Submitted(verdict, open=not ends)
            case Accepted():
                after = accept(desk.without_round(batch_id), moment, verdict)
                judged = [entry.event for entry in verdict.record.dispositions] if verdict.record else []
                moment.store.judge_events(judged, batch_id)
                head = replace(after.head, window_to=round_.signal.window.to)
                moment.store.save_head(head)
                waiting = moment.store.waiting_summary()
                heard = hear_again(after.coverage, moment, told_at=round_.begun_at)
                after = replace(after, head=head, waiting=waiting, coverage=heard, trouble=Trouble())
                return after, Submitted(verdict, open=False)

    return command


def submit_batch(batch_id: str, now: str, batch: Json, base_revision: int | None) -> Command[Verdict]:
    """Judges a batch that comes without a round: the kernel's sections 1 to 3 alone."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Verdict]:
        prior = moment.store.record(batch_id)
        verdict = kernel_batch.submit(
            desk.state, batch_id=batch_id, now=now, batch=batch, base_revision=base_revision, prior=prior
        )
        match verdict:
            case Refused():
                return desk, verdict
            case Accepted():
                return accept(desk, moment, verdict), verdict

    return command


def accept(desk: Desk, moment: Moment, accepted: Accepted) -> Desk:
    """Writes an accepted batch; a replay is nothing new, so it writes nothing."""
    if accepted.record is None:
        return desk
    moment.store.save_batch(accepted.record, accepted.state, accepted.changed)
    return replace(desk, state=accepted.state)


def hear_again(coverage: Mapping[str, Coverage], moment: Moment, *, told_at: str) -> Mapping[str, Coverage]:
    """A round that began at `told_at` was told of the holes before it: those channels count as heard from now on."""
    after = dict(coverage)
    for channel, known in coverage.items():
        if known.status == "unknown" and instant(known.since) <= instant(told_at):
            after[channel] = Coverage(status="ok", since=moment.now)
            moment.store.set_coverage(channel, "ok", moment.now)
    return after


def cancel_round(batch_id: str) -> Command[None]:
    """Ends an open round without an answer; its events wait for the next one.

    :raises RoundUnknown: where no round of that id is open.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, None]:
        desk = expire(desk, moment.now)
        if batch_id not in desk.rounds:
            raise round_unknown(batch_id)
        return desk.without_round(batch_id), None

    return command


def fail_round(batch_id: str, trouble: Trouble) -> Command[None]:
    """Ends a round because its editor failed, and keeps what that means for the next call."""

    def command(desk: Desk, _moment: Moment) -> tuple[Desk, None]:
        return replace(desk.without_round(batch_id), trouble=trouble), None

    return command


def round_unknown(batch_id: str) -> RoundUnknown:
    return RoundUnknown(f"no open round {batch_id!r}: it ended, or there was none; begin another with round/begin")


def expire(desk: Desk, now: str) -> Desk:
    """The desk without the rounds that are too old to be answered (R9)."""
    limit = instant(now) - ROUND_LIFE
    alive = {key: round_ for key, round_ in desk.rounds.items() if instant(round_.begun_at) > limit}
    return desk if len(alive) == len(desk.rounds) else replace(desk, rounds=alive)
