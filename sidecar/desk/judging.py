"""Commands of the round's life (R9) and of batches sent by themselves."""

from __future__ import annotations

from collections.abc import Mapping
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
from foldstate.sidecar.desk.actor import Change, Command, Moment
from foldstate.sidecar.desk.desk import Desk, Open, Trouble
from foldstate.sidecar.wire.errors import InvalidParams, RoundUnknown

ROUND_EVENTS: Final = 40
ROUND_CHARS: Final = 24_000
"""Code points of event text, as shown: a round stays one that an editor can read whole."""
DEFERRED_SHOWN: Final = 20


class Begun(Struct, frozen=True):
    """A round that is open now, what its editor is given, and what had been heard by then."""

    round: Round
    input: RoundInput
    heard: int


class Submitted(Struct, frozen=True):
    """The kernel's verdict, and whether the round is still open for another answer."""

    verdict: Verdict
    open: bool


def begin_round(reasons: tuple[Reason, ...]) -> Command[Begun]:
    """Opens a round with the oldest events that wait in no other one, also where there are none."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Begun]:
        return _begin(desk, moment, reasons, _choose(desk, moment))

    return command


def begin_if_waiting(reasons: tuple[Reason, ...]) -> Command[Begun | None]:
    """The same, but null where no event waits."""

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Begun | None]:
        events = _choose(desk, moment)
        return _begin(desk, moment, reasons, events) if events else (desk, None)

    return command


def end_round(batch_id: str) -> Change:
    """Ends a round without an answer; its events wait for the next one. One that has ended already stays so."""
    return lambda desk: desk.without_round(batch_id)


def fail_round(batch_id: str, trouble: Trouble) -> Change:
    """Ends a round because its editor failed, and keeps what that means for the next call."""
    return lambda desk: replace(desk.without_round(batch_id), trouble=trouble)


def cancel_round(batch_id: str) -> Command[None]:
    """Ends an open round without an answer.

    :raises RoundUnknown: where no round of that id is open.
    """

    def command(desk: Desk, _moment: Moment) -> tuple[Desk, None]:
        if batch_id not in desk.rounds:
            raise _unknown(batch_id)
        return desk.without_round(batch_id), None

    return command


def submit_round(batch_id: str, output: Json) -> Command[Submitted]:
    """Judges an answer to an open round, or answers an accepted one again (B5).

    :raises RoundUnknown: where no round of that id is open and none was accepted under it.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Submitted]:
        prior = moment.store.record(batch_id)
        if prior is not None:
            return desk, Submitted(kernel_round.replay(desk.state, prior, output), open=False)
        found = desk.rounds.get(batch_id)
        if found is None:
            raise _unknown(batch_id)
        ledger = moment.store.events(kernel_round.cited_ids(output))
        verdict = kernel_round.decide(desk.state, found.round, output, ledger=ledger)
        match verdict:
            case Refused(faults=faults):
                ends = any(fault.code == "stale_base" for fault in faults)
                return desk.without_round(batch_id) if ends else desk, Submitted(verdict, open=not ends)
            case Accepted():
                return _close(desk, moment, found, verdict), Submitted(verdict, open=False)

    return command


def submit_batch(batch_id: str, now: str, batch: Json, base_revision: int | None) -> Command[Verdict]:
    """Judges a batch that comes without a round: the kernel's sections 1 to 3 alone.

    :raises InvalidParams: where the id is an open round's, which it would make unanswerable.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Verdict]:
        if batch_id in desk.rounds:
            raise InvalidParams("it is an open round's: answer that with round/submit", path="params.batch_id")
        prior = moment.store.record(batch_id)
        verdict = kernel_batch.submit(
            desk.state, batch_id=batch_id, now=now, batch=batch, base_revision=base_revision, prior=prior
        )
        match verdict:
            case Refused():
                return desk, verdict
            case Accepted():
                return _accept(desk, moment, verdict), verdict

    return command


def _choose(desk: Desk, moment: Moment) -> tuple[Event, ...]:
    """The oldest events that wait in no round and whose shown texts fit one; the first always does."""
    chosen: list[Event] = []
    room = ROUND_CHARS
    for event in moment.store.waiting(ROUND_EVENTS, desk.claimed):
        room -= len(shown(event.text))
        if chosen and room < 0:
            break
        chosen.append(event)
    return tuple(chosen)


def _begin(desk: Desk, moment: Moment, reasons: tuple[Reason, ...], events: tuple[Event, ...]) -> tuple[Desk, Begun]:
    signal = _signal(desk, moment, events, reasons)
    round_ = Round(
        batch_id=f"b-{uuid4().hex[:12]}",
        base_revision=desk.state.revision,
        begun_at=moment.now,
        events=events,
        signal=signal,
        deferred=tuple(moment.store.deferred(DEFERRED_SHOWN)) if signal.type == "review" else (),
    )
    opened = Open(round_, moment.store.last_event_number())
    given = kernel_round.round_input(desk.state, round_, desk.head.profile)
    after = replace(desk, rounds={**desk.rounds, round_.batch_id: opened})
    return after, Begun(round_, given, desk.heard)


def _signal(desk: Desk, moment: Moment, events: tuple[Event, ...], reasons: tuple[Reason, ...]) -> Signal:
    """Why the editor is called now, over the window since the last accepted round."""
    reminders = tuple(event.id for event in events if event.reminder is not None)
    return Signal(
        type="events" if len(reminders) < len(events) else "review",
        reason=reasons,
        received=moment.store.count_outside_after(desk.head.window_number),
        window=Window(start=desk.head.window_to, to=moment.now),
        coverage=dict(sorted(desk.coverage.items())),
        reminders=reminders,
    )


def _close(desk: Desk, moment: Moment, found: Open, accepted: Accepted) -> Desk:
    """Writes an accepted round: its batch, what it judged, and the window that it covered."""
    round_ = found.round
    after = _accept(desk.without_round(round_.batch_id), moment, accepted)
    if accepted.record is not None:
        moment.store.judge_events([one.event for one in accepted.record.dispositions], round_.batch_id)
    head = replace(after.head, window_to=round_.signal.window.to, window_number=found.ledger_to)
    moment.store.save_head(head)
    return replace(
        after,
        head=head,
        waiting=moment.store.waiting_summary(),
        coverage=_hear_again(after.coverage, moment, told_at=round_.begun_at),
        trouble=Trouble(),
    )


def _accept(desk: Desk, moment: Moment, accepted: Accepted) -> Desk:
    """Writes an accepted batch; a replay is nothing new, so it writes nothing."""
    if accepted.record is None:
        return desk
    moment.store.save_batch(accepted.record, accepted.state, accepted.changed)
    return replace(desk, state=accepted.state)


def _hear_again(coverage: Mapping[str, Coverage], moment: Moment, *, told_at: str) -> Mapping[str, Coverage]:
    """A round that began at `told_at` was told of the holes before it: those channels count as heard from now on."""
    return {
        channel: moment.store.set_coverage(channel, "ok", moment.now)
        if known.status == "unknown" and instant(known.since) <= instant(told_at)
        else known
        for channel, known in coverage.items()
    }


def _unknown(batch_id: str) -> RoundUnknown:
    return RoundUnknown(f"no open round {batch_id!r}: it ended, or there was none; begin another with round/begin")
