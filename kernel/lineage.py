"""Where an item stands: its ancestors, how deep it lies, and what it was merged into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldstate.kernel.state import Item


def ancestors(items: Mapping[str, Item], item_id: str) -> Iterator[Item]:
    """The items above this one, nearest first."""
    parent = items[item_id].parent
    while parent is not None:
        above = items[parent]
        yield above
        parent = above.parent


def depth(items: Mapping[str, Item], item_id: str) -> int:
    """1 for an item of the root layer, one more for each item above it."""
    return 1 + sum(1 for _ in ancestors(items, item_id))


def last_successor(items: Mapping[str, Item], item_id: str) -> str:
    """The end of the chain of merges that begins at this item: itself where it was never merged (D9)."""
    current = item_id
    while (successor := items[current].merged_into) is not None:
        current = successor
    return current
