"""What a session's state is made of. Values only: nothing here changes anything.

A `State` is never modified in place: a transition returns a new one, which shares with the old what did not change.
Times are RFC 3339 texts, kept as sent and compared as instants (`kernel.instant`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from foldstate.kernel import instant
from foldstate.kernel.values import ROOT, SHARES, Kind, Status, Weight


class Source(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where a statement comes from. `ref` is `event:<id>` for an event of the session's ledger."""

    channel: str
    ref: str
    quote: str | None = None
    observed_at: str | None = None


class Withdrawal(Struct, frozen=True):
    """Why an item left the state (D10). `via` is the ancestor that it left with, or null where it was named itself."""

    reason: str
    via: str | None
    at: str


class Item(Struct, frozen=True):
    """One thing worth the user's attention, in whatever status.

    `share_override` is null where the weight decides. `had_child` stays true for ever once a child was declared (D11).
    """

    id: str
    parent: str | None
    title: str
    weight: Weight
    kind: Kind
    created_at: str
    updated_at: str
    summary: str | None = None
    share_override: int | None = None
    reason: str | None = None
    due_at: str | None = None
    stale_after: str | None = None
    sources: tuple[Source, ...] = ()
    status: Status = "active"
    withdrawal: Withdrawal | None = None
    merged_into: str | None = None
    merged_at: str | None = None
    had_child: bool = False

    @property
    def layer(self) -> str:
        """The layer that the item stands in, as receipts and faults name it."""
        return ROOT if self.parent is None else self.parent

    @property
    def left_at(self) -> str | None:
        """When the item left the state, by being withdrawn or merged; null while it is active."""
        return self.merged_at if self.withdrawal is None else self.withdrawal.at

    @property
    def share(self) -> int:
        """The parts of its layer's budget that this item takes while it is active."""
        return SHARES[self.weight] if self.share_override is None else self.share_override


class Annotation(Struct, frozen=True):
    """A note that the user left on an item. `item` stays the original one, whatever becomes of it."""

    id: str
    item: str
    text: str
    created_at: str
    status: Literal["saved", "acknowledged"] = "saved"


class State(Struct, frozen=True):
    """One session's current state with all that it ever held.

    `recorded_at` is the last recorded time (B7), null before the first. `touched` maps an item to the revision that
    last created, updated, restored, withdrew or merged it, which is what B6 asks. `layers` lists the active items of
    each layer that has any, sorted by id, and `gone` those that left, newest first; both follow from `items`, come
    together, and are worked out where neither is given, so that nothing asks every item that ever was.
    """

    revision: int = 0
    recorded_at: str | None = None
    last_checked_at: str | None = None
    items: Mapping[str, Item] = field(default_factory=dict)
    annotations: Mapping[str, Annotation] = field(default_factory=dict)
    touched: Mapping[str, int] = field(default_factory=dict)
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    gone: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.items and not self.layers and not self.gone:
            force_setattr(self, "layers", active_layers(self.items))
            force_setattr(self, "gone", newest_gone_first(self.items.values()))


def active_layers(items: Mapping[str, Item]) -> dict[str, tuple[str, ...]]:
    """The ids of the active items by layer."""
    layers: dict[str, list[str]] = {}
    for item in items.values():
        if item.status == "active":
            layers.setdefault(item.layer, []).append(item.id)
    return {layer: tuple(sorted(ids)) for layer, ids in layers.items()}


def newest_gone_first(items: Iterable[Item]) -> tuple[str, ...]:
    """The ids of those that left, the newest first, and by id those that left at one instant."""
    left = sorted((instant.known(item.left_at), item.id) for item in items if item.left_at is not None)
    left.sort(key=lambda one: one[0], reverse=True)
    return tuple(item_id for _, item_id in left)
