"""What shape the tree may take (depth, D6, D9, D11, D12), judged against the state that the whole batch results in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import UnsetType

from foldstate.kernel.declaration import Batch, Merge, Placed, Supersede, Withdraw, listed
from foldstate.kernel.faults import Finding, Stage, finding, invalid_field
from foldstate.kernel.lineage import depth
from foldstate.kernel.state import Item, State
from foldstate.kernel.transition import Outcome
from foldstate.kernel.values import MAX_DEPTH, Json


def unmergeable(state: State, merge: Merge) -> list[Finding]:
    """D11: sources that are active leaves of one layer and never had a child; a result without a layer of its own."""
    found: list[Finding] = []
    known = [state.items[one] for one in merge.merged if one in state.items]
    relation = f"{merge.path}.relation"
    broken = [item.id for item in known if item.status == "withdrawn" or item.had_child]
    if broken:
        fields: dict[str, Json] = {"item": merge.id, "sources": [*broken]}
        found.append(finding(Stage.STRUCTURE, "unsupported_merge_structure", relation, fields))
    if merge.made.children:
        path = f"{merge.path}.children"
        found.append(finding(Stage.STRUCTURE, "unsupported_merge_structure", path, {"item": merge.id}))
    layers = sorted({item.layer for item in known})
    if len(layers) > 1:
        fields = {"item": merge.id, "layers": [*layers]}
        found.append(finding(Stage.STRUCTURE, "merge_layer_mismatch", relation, fields))
    return found


def too_deep(state: State, placed: Iterable[Placed]) -> list[Finding]:
    """Section 1: the root layer and three below it, wherever in the tree a declaration's own layer hangs."""
    found: list[Finding] = []
    depths: dict[str, int] = {}
    for one in placed:
        declaration = one.declaration
        if one.parent is not None:
            depths[declaration.id] = depths[one.parent] + 1
        elif declaration.id in state.items:
            depths[declaration.id] = depth(state.items, declaration.id)
        else:
            depths[declaration.id] = 1
        if listed(declaration) and depths[declaration.id] == MAX_DEPTH:
            fields: dict[str, Json] = {"item": declaration.id, "field": "children", "limit": MAX_DEPTH}
            found.append(invalid_field(f"{declaration.path}.children", "too_deep", fields))
    return found


def omissions(state: State, outcome: Outcome, batch: Batch, placed: Iterable[Placed]) -> list[Finding]:
    """D12: every direct child that a target set leaves out is withdrawn for itself, merged, or listed."""
    accounted = set(batch.unread)
    for one in batch.placed():
        if isinstance(one.declaration, Withdraw):
            accounted.add(one.declaration.id)
        elif isinstance(one.declaration, Merge):
            accounted.update(one.declaration.merged, (one.declaration.id,))
    found: list[Finding] = []
    for one in placed:
        declaration = one.declaration
        if not isinstance(declaration, Supersede) or isinstance(declaration.children, UnsetType):
            continue
        if "children" in declaration.faulty:
            continue
        present = {*state.layers.get(declaration.id, ()), *outcome.layers.get(declaration.id, ())}
        omitted = sorted(present - accounted - {child.id for child in declaration.children})
        if omitted:
            fields: dict[str, Json] = {"item": declaration.id, "omitted_children": [*omitted]}
            path = f"{declaration.path}.children"
            found.append(finding(Stage.STRUCTURE, "explicit_withdraw_required", path, fields))
    return found


def orphans(outcome: Outcome, placed: Iterable[Placed], unsure: Collection[str]) -> list[Finding]:
    """D9: what a batch creates, supersedes or merges has only active ancestors.

    Told for each declaration whose own parent isn't active: what lies below such a one is mended with it. `unsure` are
    items that the batch names in a way that couldn't be carried out: whether they will be active isn't known.
    """
    found: list[Finding] = []
    for one in placed:
        declaration = one.declaration
        if isinstance(declaration, Withdraw):
            continue
        parent = outcome.items[declaration.id].parent
        if parent is not None and parent not in unsure and outcome.items[parent].status != "active":
            fields: dict[str, Json] = {"item": declaration.id, "parent": parent}
            found.append(finding(Stage.STRUCTURE, "inactive_parent", f"{declaration.path}.id", fields))
    return found


def unsummarised(outcome: Outcome, placed: Iterable[Placed], unsure: Collection[str]) -> list[Finding]:
    """D6: an item with an active child has a summary. `unsure` as in `orphans`."""
    where: dict[str, str] = {}
    unread = set(unsure)
    for one in placed:
        declaration = one.declaration
        where[declaration.id] = f"{declaration.path}.summary"
        if "summary" in declaration.faulty:
            unread.add(declaration.id)
    for one in placed:
        parent = outcome.items[one.declaration.id].parent
        if parent is not None:
            where.setdefault(parent, f"{one.declaration.path}.id")
    found: list[Finding] = []
    for item_id, path in where.items():
        if item_id not in unread and _lacks_summary(outcome.items, outcome.layers, item_id):
            fields: dict[str, Json] = {"item": item_id, "field": "summary"}
            found.append(invalid_field(path, "summary_needed", fields, Stage.STRUCTURE))
    return found


def _lacks_summary(items: Mapping[str, Item], layers: Mapping[str, tuple[str, ...]], item_id: str) -> bool:
    return items[item_id].status == "active" and items[item_id].summary is None and bool(layers.get(item_id))
