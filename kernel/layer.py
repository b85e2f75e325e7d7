"""A layer: the root, or the children of one item. Its shares, its budget (B2) and its order (rank)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from foldstate.kernel import instant
from foldstate.kernel.faults import Finding, Stage, finding
from foldstate.kernel.state import Item
from foldstate.kernel.values import KINDS, LAYER_BUDGET, Json

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = timedelta.max


def ranked(items: Iterable[Item]) -> list[Item]:
    """The items of one layer in order of rank: share, kind, what is due, what was updated last, id."""
    return sorted(items, key=_rank)


def _rank(item: Item) -> tuple[int, int, timedelta, timedelta, str]:
    due = _NEVER if item.due_at is None else instant.known(item.due_at) - _EPOCH
    return -item.share, KINDS.index(item.kind), due, _EPOCH - instant.known(item.updated_at), item.id


def used(items: Iterable[Item]) -> int:
    """The parts of a layer's budget that these active items take."""
    return sum(item.share for item in items)


def over_budget(
    items: Mapping[str, Item], layers: Mapping[str, tuple[str, ...]], touched: Collection[str], unread: Collection[str]
) -> list[Finding]:
    """B2 for the layers that a batch touched.

    `unread` names items whose share the batch left unreadable: they aren't counted, so that what is said to be over is
    so whatever they were meant to take.
    """
    found: list[Finding] = []
    for layer in sorted(touched):
        members = [items[one] for one in layers.get(layer, ()) if one not in unread]
        declared = used(members)
        if declared > LAYER_BUDGET:
            shares: list[Json] = [
                {"item": item.id, "share": item.share}
                for item in sorted(members, key=lambda item: (-item.share, item.id))
            ]
            found.append(
                finding(
                    Stage.LAYER_BUDGET,
                    "layer_budget",
                    "batch.declarations",
                    {
                        "layer": layer,
                        "budget": LAYER_BUDGET,
                        "declared": declared,
                        "over": declared - LAYER_BUDGET,
                        "shares": shares,
                    },
                )
            )
    return found
