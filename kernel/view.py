"""The state as it is shown to whoever reads it: an editor, the host's panel, a terminal (the contract, section 4).

Durations are whole seconds; the ones until a time are negative once it is past, and null where there is no such time.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from foldstate.kernel.event import Event
from foldstate.kernel.signal import Signal
from foldstate.kernel.state import Annotation, Source
from foldstate.kernel.values import Kind, Weight


class LayerView(Struct, frozen=True):
    """One layer: its budget, what its active items use of it, and the items by rank."""

    budget: int
    used: int
    items: tuple[ItemView, ...]


class ItemView(Struct, frozen=True):
    """One item at an instant. `rank` is null only for one that is asked for by itself and isn't active."""

    id: str
    rank: int | None
    title: str
    summary: str | None
    weight: Weight
    share: int
    share_override: int | None
    kind: Kind
    reason: str | None
    due_at: str | None
    stale_after: str | None
    sources: tuple[Source, ...]
    annotations: tuple[Annotation, ...]
    created_at: str
    updated_at: str
    age: int
    since_update: int
    until_due: int | None
    until_stale: int | None
    children: LayerView | None


class NotActive(Struct, frozen=True):
    """What left the state. `merged_into` is the direct successor; `via` the ancestor that it was withdrawn with."""

    id: str
    title: str
    status: Literal["withdrawn", "merged"]
    parent: str | None
    merged_into: str | None
    reason: str | None
    via: str | None
    at: str


class StateView(Struct, frozen=True):
    revision: int
    now: str
    last_checked_at: str | None
    last_seen_at: None
    since_seen: None
    root: LayerView
    not_active: tuple[NotActive, ...]
    not_active_omitted: int = 0


class Profile(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Who the user is and what the state is for, in the user's words."""

    background: str | None = None
    purpose: str | None = None
    feedback_policy: str | None = None


class RoundInput(Struct, frozen=True):
    """All that the editor is given for one round."""

    profile: Profile | None
    now: str
    batch_id: str
    state: StateView
    pending_annotations: tuple[Annotation, ...]
    events: tuple[Event, ...]
    signal: Signal
    deferred: tuple[Event, ...] | None = None
