"""Carrying declarations out: from a state to the one that results, as a set, whatever their order (D4, D8-D11, D15)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import takewhile
from typing import TypeVar

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from foldstate.kernel import instant
from foldstate.kernel.declaration import Merge, New, Placed, Supersede, Withdraw
from foldstate.kernel.state import Item, Source, State, Withdrawal, newest_gone_first
from foldstate.kernel.values import ROOT, Change

_Value = TypeVar("_Value")


class Outcome(Struct, frozen=True):
    """What the declarations come to. `rows` are the items that differ from before; `changes` is what counts as one."""

    items: Mapping[str, Item]
    layers: Mapping[str, tuple[str, ...]]
    gone: tuple[str, ...]
    changes: Mapping[str, Change]
    rows: frozenset[str]


def carry_out(state: State, placed: Collection[Placed], at: str) -> Outcome:
    """The state's items after these declarations, each of which names what it may."""
    news = [(new, one.parent) for one in placed if isinstance(new := one.declaration, New)]
    merges = [merge for one in placed if isinstance(merge := one.declaration, Merge)]
    patches = [patch for one in placed if isinstance(patch := one.declaration, Supersede)]
    withdrawals = {leave.id: leave for one in placed if isinstance(leave := one.declaration, Withdraw)}

    rows: dict[str, Item] = {}
    changes: dict[str, Change] = {}
    for patch in patches:
        before = state.items[patch.id]
        after = patched(before, patch, at)
        if after is not before:
            rows[patch.id] = after
            changes[patch.id] = "restored" if before.status == "withdrawn" else "updated"
    for new, parent in news:
        rows[new.id] = _created(new, parent, new.sources, at)
        changes[new.id] = "created"
    for merge in merges:
        sources = [state.items[source] for source in merge.merged]
        evidence = dict.fromkeys([*(one for item in sources for one in item.sources), *merge.made.sources])
        rows[merge.id] = _created(merge.made, sources[0].parent, tuple(evidence), at)
        changes[merge.id] = "created"
        for item in sources:
            rows[item.id] = replace(item, status="merged", merged_into=merge.id, merged_at=at)
            changes[item.id] = "merged"
    staying = {*(patch.id for patch in patches), *(source for merge in merges for source in merge.merged)}
    for item_id, reason, via in _leaving(state, withdrawals, staying):
        rows[item_id] = replace(
            state.items[item_id], status="withdrawn", withdrawal=Withdrawal(reason=reason, via=via, at=at)
        )
        changes[item_id] = "withdrawn"
    for parent in {parent for _, parent in news if parent is not None}:
        above = rows.get(parent) or state.items[parent]
        if not above.had_child:
            rows[parent] = replace(above, had_child=True)
    ordered = {item_id: rows[item_id] for item_id in sorted(rows)}
    return Outcome(
        {**state.items, **ordered}, _layers(state, ordered), _gone(state, ordered, at), changes, frozenset(rows)
    )


def patched(item: Item, patch: Supersede, at: str) -> Item:
    """The item with the patch, or the very same where every stored field stays as it was (D4, D8)."""
    after = replace(
        item,
        title=_or_kept(patch.title, item.title),
        summary=_or_kept(patch.summary, item.summary),
        weight=item.weight if "weight" in patch.faulty else patch.weight,
        kind=item.kind if "kind" in patch.faulty else patch.kind,
        share_override=_or_kept(patch.share, item.share_override),
        due_at=_time_or_kept(patch.due_at, item.due_at),
        stale_after=_time_or_kept(patch.stale_after, item.stale_after),
        sources=_sources_or_kept(patch.sources, item.sources),
        status="active",
        withdrawal=None,
    )
    if after == item:
        return item
    return replace(after, reason=_or_kept(patch.reason, item.reason), updated_at=at)


def _or_kept(given: _Value | UnsetType, kept: _Value) -> _Value:
    return kept if isinstance(given, UnsetType) else given


def _time_or_kept(given: str | UnsetType | None, kept: str | None) -> str | None:
    """The same instant written differently is the same value (D8)."""
    return kept if isinstance(given, UnsetType) or instant.same(given, kept) else given


def _sources_or_kept(given: tuple[Source, ...] | UnsetType, kept: tuple[Source, ...]) -> tuple[Source, ...]:
    if isinstance(given, UnsetType) or (len(given) == len(kept) and all(map(same_source, given, kept))):
        return kept
    return given


def same_source(a: Source, b: Source) -> bool:
    """Whether two sources say the same; the time of observation is compared as an instant."""
    return (a.channel, a.ref, a.quote) == (b.channel, b.ref, b.quote) and instant.same(a.observed_at, b.observed_at)


def _created(made: New, parent: str | None, sources: tuple[Source, ...], at: str) -> Item:
    return Item(
        id=made.id,
        parent=parent,
        title=made.title,
        weight=made.weight,
        kind=made.kind,
        created_at=at,
        updated_at=at,
        summary=made.summary,
        share_override=made.share,
        reason=made.reason,
        due_at=made.due_at,
        stale_after=made.stale_after,
        sources=sources,
    )


def _leaving(
    state: State, withdrawals: Mapping[str, Withdraw], staying: Collection[str]
) -> list[tuple[str, str, str | None]]:
    """Who leaves, with whose reason, and with which ancestor (D10): everyone below goes too unless named for itself."""
    leaving: list[tuple[str, str, str | None]] = []
    for root, withdraw in withdrawals.items():
        if state.items[root].status != "active":
            continue
        reason = withdraw.reason or ""
        leaving.append((root, reason, None))
        below = [*state.layers.get(root, ())]
        while below:
            item_id = below.pop()
            if item_id in withdrawals or item_id in staying:
                continue
            leaving.append((item_id, reason, root))
            below.extend(state.layers.get(item_id, ()))
    return leaving


def _layers(state: State, rows: Mapping[str, Item]) -> dict[str, tuple[str, ...]]:
    """The active ids by layer after these rows; only the layers that they stand in are worked out anew."""
    layers = dict(state.layers)
    members: dict[str, set[str]] = {}
    for item in rows.values():
        active = members.setdefault(item.layer, set(layers.get(item.layer, ())))
        if item.status == "active":
            active.add(item.id)
        else:
            active.discard(item.id)
    for layer, ids in members.items():
        if ids:
            layers[layer] = tuple(sorted(ids))
        else:
            layers.pop(layer, None)
    return layers


def _gone(state: State, rows: Mapping[str, Item], at: str) -> tuple[str, ...]:
    """Those that left, newest first, after these rows: whoever leaves now goes before whoever left earlier (B7)."""
    before = state.gone
    if any(one in state.items and state.items[one].left_at is not None for one in rows):
        before = tuple(one for one in before if one not in rows)
    leaving = [item for item in rows.values() if item.left_at is not None]
    if not leaving:
        return before
    moment = instant.known(at)
    beside = [*takewhile(lambda one: _left_since(state.items[one], moment), before)]
    newest = newest_gone_first([*leaving, *(state.items[one] for one in beside)])
    return (*newest, *before[len(beside) :])


def _left_since(item: Item, moment: datetime) -> bool:
    return item.left_at is not None and instant.known(item.left_at) >= moment


def layers_touched(outcome: Outcome) -> frozenset[str]:
    """The layers that a changed item stands in, those left out that went with their parent."""
    layers = {outcome.items[one].layer for one in outcome.changes}
    return frozenset(one for one in layers if one == ROOT or outcome.items[one].status == "active")
