"""Which ids a batch may name (D3, D9, D13, D14), and which of its declarations can be carried out at all."""

from __future__ import annotations

from collections import Counter

from foldstate.kernel.declaration import Batch, Merge, New, Placed, Supersede, Withdraw
from foldstate.kernel.faults import Finding, Stage, finding
from foldstate.kernel.lineage import last_successor
from foldstate.kernel.state import State


def repeated(batch: Batch) -> frozenset[str]:
    """The ids that stand more than once in the batch."""
    return frozenset(one for one, times in Counter(named.id for named in batch.named).items() if times > 1)


def duplicates(batch: Batch) -> list[Finding]:
    """D14: one fault for each id that is repeated, at its second mention, with the paths of all."""
    found: list[Finding] = []
    for one in repeated(batch):
        paths = [named.path for named in batch.named if named.id == one]
        found.append(finding(Stage.DUPLICATE, "duplicate_declaration", paths[1], {"item": one, "paths": [*paths]}))
    return found


def misnamed(state: State, batch: Batch, placed: Placed) -> list[Finding]:
    """D3, D9 and D13 for one declaration: what it names exists, or doesn't, as its relation asks."""
    declaration = placed.declaration
    match declaration:
        case New():
            return _fresh(state, declaration.id, declaration.path)
        case Merge(merged=merged):
            created = {one.declaration.id for one in batch.placed() if isinstance(one.declaration, New | Merge)}
            relation = f"{declaration.path}.relation"
            sources = [fault for one in merged if one not in created for fault in _existing(state, one, relation)]
            return [*_fresh(state, declaration.id, declaration.path), *sources]
        case Supersede() | Withdraw():
            missing = _existing(state, declaration.id, f"{declaration.path}.id")
            if missing or placed.parent is None:
                return missing
            return _moved(state, declaration.id, placed.parent, f"{declaration.path}.id")


def _fresh(state: State, item_id: str, path: str) -> list[Finding]:
    """D3: the id was never used before."""
    item = state.items.get(item_id)
    if item is None:
        return []
    return [finding(Stage.IDENTITY, "item_exists", f"{path}.id", {"item": item_id, "status": item.status})]


def _existing(state: State, item_id: str, path: str) -> list[Finding]:
    """D9: the id is known, and wasn't merged away."""
    item = state.items.get(item_id)
    if item is None:
        return [finding(Stage.IDENTITY, "item_not_found", path, {"item": item_id})]
    if item.status == "merged":
        successor = last_successor(state.items, item_id)
        return [finding(Stage.IDENTITY, "item_merged", path, {"item": item_id, "merged_into": successor})]
    return []


def _moved(state: State, item_id: str, parent: str, path: str) -> list[Finding]:
    """D13: an existing item stays in its layer."""
    item = state.items[item_id]
    if item.parent == parent:
        return []
    return [finding(Stage.IDENTITY, "unsupported_move", path, {"item": item_id, "layer": item.layer, "parent": parent})]
