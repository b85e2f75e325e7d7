"""A scenario set up on the real kernel: its story so far told as rounds that were accepted, and its own round open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from foldstate.kernel import instant
from foldstate.kernel.annotations import annotate
from foldstate.kernel.event import Event, Reminder
from foldstate.kernel.evidence import event_id
from foldstate.kernel.lineage import last_successor
from foldstate.kernel.round import Round, cited_ids, decide, round_input
from foldstate.kernel.signal import Reason, Signal, Window
from foldstate.kernel.state import Annotation, State
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, Record, Refused, Verdict
from foldstate.kernel.view import RoundInput
from foldstate.sidecar.desk.judging import DEFERRED_SHOWN
from foldstate.sidecar.eval.scenario import Called, Scenario, ScenarioError, Seed, Told

_REASONS: Final[dict[str, Reason]] = {
    "turn_end": "events",
    "max_wait": "events",
    "events": "events",
    "approval": "approval",
    "question": "question",
    "feedback": "feedback",
    "finish": "finish",
    "manual": "manual",
    "due_soon": "due_soon",
    "overdue": "overdue",
    "stale": "stale",
    "reminder": "reminder",
    "waiting": "waiting",
    "annotation": "annotation",
    "resume": "resume",
    "periodic": "periodic",
}


class Scene(Struct, frozen=True):
    """The state before the round, the round, what its editor is given, and every event so far."""

    scenario: Scenario
    before: State
    round: Round
    input: RoundInput
    ledger: dict[str, Event]

    def judge(self, output: Json) -> Verdict:
        """The kernel's verdict on an answer to the round; the scene stays as it is."""
        return decide(self.before, self.round, output, ledger=_known(self.ledger, output))


def set_up(scenario: Scenario) -> Scene:
    """:raises ScenarioError: where the kernel refuses what the scenario says was accepted."""
    state, ledger, records = State(), dict[str, Event](), list[Record]()
    for seed in scenario.seed:
        state, record = _accepted(scenario, state, seed, ledger)
        records.append(record)
    noted = scenario.seed[-1].now if scenario.seed else scenario.now
    for number, note in enumerate(scenario.annotations, 1):
        try:
            state = annotate(state, Annotation(f"a-{number}", note.item, note.text, noted))
        except ValueError as error:
            raise ScenarioError(f"{scenario.id}: {error}") from None
    events = tuple(_event(told, state) for told in scenario.events)
    ledger.update({event.id: event for event in events})
    review = scenario.signal.type == "review"
    opened = Round(
        batch_id="b-scenario",
        base_revision=state.revision,
        begun_at=scenario.now,
        events=events,
        signal=_signal(scenario.id, scenario.signal),
        deferred=_deferred(state, records, ledger) if review else (),
    )
    return Scene(scenario, state, opened, round_input(state, opened, scenario.profile), ledger)


def _accepted(scenario: Scenario, state: State, seed: Seed, ledger: dict[str, Event]) -> tuple[State, Record]:
    events = tuple(_event(told, state) for told in seed.events)
    ledger.update({event.id: event for event in events})
    signal = Signal("events", ("events",), len(events), Window(None, seed.now), {}, ())
    answer: Json = {
        "dispositions": seed.dispositions,
        "batch": {"declarations": seed.declarations, "acknowledges": seed.acknowledges},
    }
    verdict = decide(
        state, Round(seed.batch_id, state.revision, seed.now, events, signal), answer, ledger=_known(ledger, answer)
    )
    match verdict:
        case Accepted(state=after, record=Record() as record):
            return after, record
        case Accepted():
            raise ScenarioError(f"{scenario.id}: {seed.batch_id} stands in its story twice")
        case Refused(faults=faults):
            raise ScenarioError(f"{scenario.id}: {seed.batch_id} is refused: {faults[0].code} at {faults[0].path}")


def _event(told: Told, state: State) -> Event:
    reminder = None
    if told.reminder is not None:
        due = told.reminder
        if due.target not in state.items:
            raise ScenarioError(f"{told.id}: a reminder of {due.target}, which isn't there")
        reminder = Reminder(
            feedback=due.feedback,
            target=due.target,
            target_status=state.items[due.target].status,
            target_now=last_successor(state.items, due.target),
            requested_for=due.requested_for,
            requested_at=due.requested_at,
            late_s=max(0, instant.seconds_between(due.requested_for, told.at)),
        )
    return Event(told.id, told.channel, told.speaker, told.at, told.text, told.feedback, reminder)


def _signal(scenario: str, called: Called) -> Signal:
    unknown = [reason for reason in called.reason if reason not in _REASONS]
    if unknown:
        raise ScenarioError(f"{scenario}: nothing is ever called for {unknown[0]!r}")
    return Signal(
        type=called.type,
        reason=tuple(dict.fromkeys(_REASONS[reason] for reason in called.reason)),
        received=called.received,
        window=called.window,
        coverage=called.coverage,
        reminders=called.reminders,
    )


def _deferred(state: State, records: Iterable[Record], ledger: dict[str, Event]) -> tuple[Event, ...]:
    """What a review shows again (R7): deferred, and neither cited nor judged otherwise since."""
    cited = {event_id(source) for item in state.items.values() for source in item.sources}
    last = {one.event: one.disposition for record in records for one in record.dispositions}
    waiting = [ledger[event] for event, how in last.items() if how == "deferred" and event not in cited]
    return tuple(waiting[-DEFERRED_SHOWN:])


def _known(ledger: dict[str, Event], output: Json) -> dict[str, Event]:
    return {event: ledger[event] for event in cited_ids(output) if event in ledger}
