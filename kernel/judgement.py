"""Judging a batch against the state that it results in: every stage of sections 1 to 3, in one place (B8, D15).

What a batch names wrongly is told and set aside; the rest is carried out on trial, and the rules of structure, reason
and budget are asked of what comes out. Nothing here is written anywhere (B1).
"""

from __future__ import annotations

from msgspec import Struct

from foldstate.kernel.declaration import Batch, Merge, New, Placed
from foldstate.kernel.faults import Finding, Stage, finding
from foldstate.kernel.identity import duplicates, misnamed, repeated
from foldstate.kernel.layer import over_budget
from foldstate.kernel.reasons import unreasoned
from foldstate.kernel.shape import read_batch
from foldstate.kernel.state import State
from foldstate.kernel.structure import omissions, orphans, too_deep, unmergeable, unsummarised
from foldstate.kernel.transition import Outcome, carry_out, layers_touched
from foldstate.kernel.values import Json


class Judgement(Struct, frozen=True):
    """A batch as read, what it comes to, and every fault found. `outcome` counts only where there is none."""

    batch: Batch
    outcome: Outcome
    findings: tuple[Finding, ...]


def judge(state: State, value: Json, at: str, base_revision: int | None) -> Judgement:
    """Judge one batch, as it was parsed, at a time that isn't before the last recorded one."""
    batch, findings = read_batch(value)
    placed = tuple(batch.placed())
    findings += duplicates(batch)
    twice = repeated(batch)
    fit: list[Placed] = []
    unfit: set[str] = set()
    for one in placed:
        wrong = misnamed(state, batch, one)
        if isinstance(one.declaration, Merge):
            wrong += unmergeable(state, one.declaration)
        findings += wrong
        findings += unreasoned(state, one.declaration)
        if wrong or one.parent in unfit or _mentions(one).intersection(twice):
            unfit.add(one.declaration.id)
        else:
            fit.append(one)
    outcome = carry_out(state, fit, at)
    findings += too_deep(state, fit)
    findings += omissions(state, outcome, batch, fit)
    unsure = unfit | batch.unread
    findings += orphans(outcome, fit, unsure)
    findings += unsummarised(outcome, fit, unsure)
    findings += _unacknowledgeable(state, batch)
    if base_revision is not None:
        findings += _stale(state, batch, base_revision)
    unread = {one.declaration.id for one in fit if one.declaration.faulty & {"weight", "share"}}
    findings += over_budget(outcome.items, outcome.layers, layers_touched(outcome), unread)
    return Judgement(batch, outcome, tuple(findings))


def _mentions(placed: Placed) -> frozenset[str]:
    declaration = placed.declaration
    merged = declaration.merged if isinstance(declaration, Merge) else ()
    return frozenset((declaration.id, *merged))


def _unacknowledgeable(state: State, batch: Batch) -> list[Finding]:
    """B3: an acknowledgement names an annotation that there is."""
    return [
        finding(Stage.ACKNOWLEDGEMENT, "annotation_not_found", one.path, {"annotation": one.annotation})
        for one in batch.acknowledges
        if one.annotation not in state.annotations
    ]


def _stale(state: State, batch: Batch, base_revision: int) -> list[Finding]:
    """B6: nothing that the batch names was changed by a later commit than the one it was written against.

    An id that it creates isn't asked: one that was taken meanwhile is `item_exists`.
    """
    created = {one.declaration.id for one in batch.placed() if isinstance(one.declaration, New | Merge)}
    changed = sorted(one for one in batch.named_ids - created if state.touched.get(one, 0) > base_revision)
    if not changed:
        return []
    return [finding(Stage.STALE_BASE, "stale_base", "batch", {"current": state.revision, "changed": [*changed]})]
