"""The state as it is shown at one instant (section 4): derived shares, ranks and durations, nothing stored."""

from __future__ import annotations

from collections.abc import Mapping

from foldstate.kernel import instant
from foldstate.kernel.annotations import by_item
from foldstate.kernel.layer import ranked, used
from foldstate.kernel.state import Annotation, Item, State, newest_gone_first
from foldstate.kernel.values import LAYER_BUDGET, ROOT
from foldstate.kernel.view import ItemView, LayerView, NotActive, StateView


def state_view(
    state: State, now: str, not_active_limit: int | None = None, keep: frozenset[str] = frozenset()
) -> StateView:
    """The whole state as of `now`.

    `not_active` carries the newest `not_active_limit` entries (all where it is None) and those named in `keep`, newest
    first; the rest are counted.
    """
    shown = _shown(state, not_active_limit, keep)
    return StateView(
        revision=state.revision,
        now=now,
        last_checked_at=state.last_checked_at,
        last_seen_at=None,
        since_seen=None,
        root=_layer(state, ROOT, now, by_item(state)),
        not_active=tuple(gone for one in shown if (gone := gone_view(state.items[one])) is not None),
        not_active_omitted=len(state.gone) - len(shown),
    )


def item_view(state: State, item_id: str, now: str) -> ItemView | None:
    """One item as of `now`, in whatever status; its rank is null where it isn't active. None where it is unknown."""
    item = state.items.get(item_id)
    if item is None:
        return None
    rank = None
    if item.status == "active":
        layer = ranked(state.items[one] for one in state.layers[item.layer])
        rank = [one.id for one in layer].index(item_id) + 1
    return _item(state, item, rank, now, by_item(state))


def gone_view(item: Item) -> NotActive | None:
    """How the item left the state; null while it is active."""
    if item.withdrawal is not None:
        return NotActive(
            id=item.id,
            title=item.title,
            status="withdrawn",
            parent=item.parent,
            merged_into=None,
            reason=item.withdrawal.reason,
            via=item.withdrawal.via,
            at=item.withdrawal.at,
        )
    if item.merged_into is not None and item.merged_at is not None:
        return NotActive(
            id=item.id,
            title=item.title,
            status="merged",
            parent=item.parent,
            merged_into=item.merged_into,
            reason=None,
            via=None,
            at=item.merged_at,
        )
    return None


def _shown(state: State, limit: int | None, keep: frozenset[str]) -> tuple[str, ...]:
    """The newest of those that left, and those to keep besides; the others aren't looked at."""
    newest = state.gone[:limit]
    older = keep.difference(newest)
    return newest + newest_gone_first(state.items[one] for one in older if one in state.items)


def _layer(state: State, layer: str, now: str, notes: Mapping[str, tuple[Annotation, ...]]) -> LayerView:
    items = ranked(state.items[one] for one in state.layers.get(layer, ()))
    shown = tuple(_item(state, item, at, now, notes) for at, item in enumerate(items, 1))
    return LayerView(budget=LAYER_BUDGET, used=used(items), items=shown)


def _item(
    state: State, item: Item, rank: int | None, now: str, notes: Mapping[str, tuple[Annotation, ...]]
) -> ItemView:
    return ItemView(
        id=item.id,
        rank=rank,
        title=item.title,
        summary=item.summary,
        weight=item.weight,
        share=item.share,
        share_override=item.share_override,
        kind=item.kind,
        reason=item.reason,
        due_at=item.due_at,
        stale_after=item.stale_after,
        sources=item.sources,
        annotations=notes.get(item.id, ()),
        created_at=item.created_at,
        updated_at=item.updated_at,
        age=max(0, instant.seconds_between(item.created_at, now)),
        since_update=max(0, instant.seconds_between(item.updated_at, now)),
        until_due=_until(item.due_at, now),
        until_stale=_until(item.stale_after, now),
        children=_layer(state, item.id, now, notes) if item.id in state.layers else None,
    )


def _until(at: str | None, now: str) -> int | None:
    return None if at is None else instant.seconds_between(now, at)
