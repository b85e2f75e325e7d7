"""Walking the items of a state as a round shows it."""

from __future__ import annotations

from collections.abc import Iterator

from foldstate.kernel.view import ItemView, LayerView


def walk(layer: LayerView) -> Iterator[tuple[ItemView, LayerView]]:
    """Every active item with the layer that it stands in, parents before their children."""
    for item in layer.items:
        yield item, layer
        if item.children is not None:
            yield from walk(item.children)
