"""A round: what the editor is given, and how its answer is judged (the contract, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from foldstate.kernel import instant
from foldstate.kernel.annotations import pending
from foldstate.kernel.answer import read_answer
from foldstate.kernel.batch import Sent, accepted, replayed
from foldstate.kernel.citations import cited_in, named_in
from foldstate.kernel.dispositions import by_event, misdisposed, read_dispositions, recorded
from foldstate.kernel.event import Event
from foldstate.kernel.evidence import cited_not_used, unsupported
from foldstate.kernel.faults import Finding, refused
from foldstate.kernel.fields import Fields
from foldstate.kernel.fingerprint import fingerprint
from foldstate.kernel.judgement import judge
from foldstate.kernel.projection import state_view
from foldstate.kernel.signal import Signal
from foldstate.kernel.state import State
from foldstate.kernel.values import MAX_NOT_ACTIVE, Json
from foldstate.kernel.verdict import Fault, Record, Refused, Verdict
from foldstate.kernel.view import Profile, RoundInput

_ANSWER: Final = ("dispositions", "batch")


class Round(Struct, frozen=True):
    """One call of the editor: the events that are its own (R9), and the revision and time that it was begun at.

    `deferred` are earlier events that a review shows again (R7); they aren't the round's own.
    """

    batch_id: str
    base_revision: int
    begun_at: str
    events: tuple[Event, ...]
    signal: Signal
    deferred: tuple[Event, ...] = ()


def round_input(state: State, round: Round, profile: Profile | None) -> RoundInput:
    """All that the editor is given. Events' texts are as they were kept; `evidence.shown` cuts them for showing."""
    notes = pending(state)
    named = {note.item for note in notes}
    for event in round.events:
        if event.feedback is not None:
            named.add(event.feedback.target)
        if event.reminder is not None:
            named.update((event.reminder.target, event.reminder.target_now))
    return RoundInput(
        profile=profile,
        now=round.begun_at,
        batch_id=round.batch_id,
        state=state_view(state, round.begun_at, MAX_NOT_ACTIVE, frozenset(named)),
        pending_annotations=notes,
        events=round.events,
        signal=round.signal,
        deferred=round.deferred if round.signal.type == "review" else None,
    )


def cited_ids(output: Json) -> frozenset[str]:
    """The ids of the events that an answer cites or names, whatever the answer looks like."""
    answer = read_answer(output)
    if isinstance(answer, Fault):
        return frozenset()
    return frozenset(cited_in(answer.get("batch")) | named_in(answer.get("dispositions")))


def decide(
    state: State, round: Round, output: Json, *, ledger: Mapping[str, Event], prior: Record | None = None
) -> Verdict:
    """Judge the answer to a round: R1 to R7 and sections 1 to 3 together.

    `output` is a model's text or a parsed value. `ledger` holds those of `cited_ids` that the session knows; the
    round's own events needn't be in it. `prior` is what was accepted earlier under the round's id.
    """
    if prior is not None:
        return replay(state, prior, output)
    answer = read_answer(output)
    if isinstance(answer, Fault):
        return Refused((answer,))
    findings: list[Finding] = []
    fields = Fields(answer, "", findings)
    fields.only(_ANSWER)
    fields.required(*_ANSWER)
    batch = answer.get("batch")
    at = instant.later(round.begun_at, state.recorded_at)
    judged = judge(state, batch, at, round.base_revision)
    given, unread = read_dispositions(answer.get("dispositions"))
    if "batch" in answer:
        findings += judged.findings
    if "dispositions" in answer:
        findings += unread
        findings += misdisposed(round.events, round.deferred, given, state, judged.batch)
    known = {**ledger, **{event.id: event for event in (*round.events, *round.deferred)}}
    findings += unsupported(state, judged.batch, known)
    findings += cited_not_used(judged.batch, {event.id for event in round.events}, by_event(given))
    if findings:
        return refused(findings)
    sent = Sent(round.batch_id, at, round.base_revision, batch, fingerprint({**answer}))
    return accepted(state, sent, judged, recorded(given))


def replay(state: State, prior: Record, output: Json) -> Verdict:
    """An answer to a round that was accepted already (B5): its receipt again, or `batch_conflict`."""
    answer = read_answer(output)
    return replayed(state, prior, "" if isinstance(answer, Fault) else fingerprint({**answer}))
