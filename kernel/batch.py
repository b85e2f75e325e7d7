"""Submitting a batch: recognised if it came before (B5), judged (B8), then recorded whole or not at all (B1, B4)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel import instant
from foldstate.kernel.annotations import acknowledge
from foldstate.kernel.event import Disposition
from foldstate.kernel.faults import alone, invalid_field, refused
from foldstate.kernel.fingerprint import fingerprint
from foldstate.kernel.judgement import Judgement, judge
from foldstate.kernel.layer import used
from foldstate.kernel.state import State
from foldstate.kernel.transition import Outcome, layers_touched
from foldstate.kernel.values import LAYER_BUDGET, Json, Result
from foldstate.kernel.verdict import Accepted, ItemChange, LayerUse, Receipt, Record, Verdict


class Sent(Struct, frozen=True):
    """What came with a batch: its id, the time and revision that the host gave it, and a digest of all its content."""

    batch_id: str
    at: str
    base_revision: int | None
    batch: Json
    fingerprint: str


def submit(
    state: State,
    *,
    batch_id: str,
    now: str,
    batch: Json,
    base_revision: int | None = None,
    prior: Record | None = None,
) -> Verdict:
    """Judge a batch by sections 1 to 3 alone and answer the state that it results in, or what keeps it from one.

    `prior` is what was accepted earlier under the same `batch_id`. `now` is an RFC 3339 time; one before the last
    recorded time counts as that one (B7).
    """
    if instant.parse(now) is None:
        return refused([invalid_field("now", "time", {"field": "now"})])
    digest = fingerprint({"batch": batch})
    if prior is not None:
        return replayed(state, prior, digest)
    sent = Sent(batch_id, instant.later(now, state.recorded_at), base_revision, batch, digest)
    judged = judge(state, batch, sent.at, base_revision)
    return refused(list(judged.findings)) if judged.findings else accepted(state, sent, judged, ())


def replayed(state: State, prior: Record, digest: str) -> Verdict:
    """B5: the first receipt again for the same content, `batch_conflict` for other content; nothing changes."""
    if digest != prior.fingerprint:
        return alone("batch_conflict", "batch_id", {"batch_id": prior.batch_id, "at": prior.at})
    return Accepted(state, None, replace(prior.receipt, replayed=True))


def accepted(state: State, sent: Sent, judged: Judgement, dispositions: tuple[Disposition, ...]) -> Accepted:
    """Record a batch that no fault was found in (B4, B7)."""
    outcome = judged.outcome
    named = {one.annotation for one in judged.batch.acknowledges}
    acknowledged = sorted(one for one in named if state.annotations[one].status == "saved")
    result: Result = "commit" if outcome.changes else "acknowledge" if acknowledged else "checked"
    revision = state.revision if result == "checked" else state.revision + 1
    after = State(
        revision=revision,
        recorded_at=sent.at,
        last_checked_at=sent.at if result == "checked" else state.last_checked_at,
        items=outcome.items,
        annotations=acknowledge(state.annotations, acknowledged),
        touched={**state.touched, **dict.fromkeys(sorted(outcome.changes), revision)},
        layers=outcome.layers,
        gone=outcome.gone,
    )
    receipt = Receipt(
        batch_id=sent.batch_id,
        result=result,
        revision=revision,
        at=sent.at,
        replayed=False,
        changes=tuple(ItemChange(one, outcome.changes[one]) for one in sorted(outcome.changes)),
        acknowledged=tuple(acknowledged),
        layers=_uses(outcome),
    )
    record = Record(
        batch_id=sent.batch_id,
        at=sent.at,
        result=result,
        revision=revision,
        base_revision=sent.base_revision,
        batch=sent.batch,
        fingerprint=sent.fingerprint,
        receipt=receipt,
        dispositions=dispositions,
    )
    return Accepted(after, record, receipt, outcome.rows)


def _uses(outcome: Outcome) -> dict[str, LayerUse]:
    return {
        layer: LayerUse(LAYER_BUDGET, used(outcome.items[one] for one in outcome.layers.get(layer, ())))
        for layer in sorted(layers_touched(outcome))
    }
