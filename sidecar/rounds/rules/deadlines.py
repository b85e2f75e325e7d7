"""What a time that has come does to an item: the one rule that reaches items which these rules did not make."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from foldstate.kernel.values import LAYER_BUDGET, MAX_SUMMARY, SHARES, Json, Weight
from foldstate.kernel.view import ItemView, LayerView, StateView
from foldstate.sidecar.rounds.rules.texts import cut
from foldstate.sidecar.rounds.rules.tree import walk
from foldstate.sidecar.rounds.rules.words import EN, ZH, Words

SOON_S: Final = 2 * 60 * 60
MOST: Final = 20
"""Items that one round changes so; the next ones follow with the next round."""
RAISED: Final[Weight] = "high"


def deadlines(
    state: StateView, root_room: int, spoken_of: Collection[str], reminded: Collection[str], words: Words
) -> list[dict[str, Json]]:
    """Patches for the items whose time has come, the highest ranks first.

    What waits for the user and is due, or is reminded of, weighs at least `high` where its layer has the room. What is
    out of date says so at the head of its summary. `root_room` is what the root layer has left; `spoken_of` are the
    items that the batch declares already.
    """
    left = {id(layer): LAYER_BUDGET - layer.used for layer in _layers(state.root)}
    left[id(state.root)] = root_room
    found: list[dict[str, Json]] = []
    for item, layer in walk(state.root):
        if item.id in spoken_of or len(found) == MOST:
            continue
        weight = item.weight
        more = SHARES[RAISED] - item.share
        if _pressing(item, reminded) and more > 0 and item.share_override is None and more <= left[id(layer)]:
            left[id(layer)] -= more
            weight = RAISED
        summary = _out_of_date(item, words)
        if weight == item.weight and summary is None:
            continue
        patch: dict[str, Json] = {
            "id": item.id,
            "relation": f"supersedes:{item.id}",
            "weight": weight,
            "kind": item.kind,
            "reason": words.because_stale if weight == item.weight else words.because_deadline,
        }
        if summary is not None:
            patch["summary"] = summary
        found.append(patch)
    return found


def _layers(layer: LayerView) -> list[LayerView]:
    return [layer, *(item.children for item, _ in walk(layer) if item.children is not None)]


def _pressing(item: ItemView, reminded: Collection[str]) -> bool:
    due = item.until_due is not None and item.until_due <= SOON_S
    return item.kind == "needs-you" and (due or item.id in reminded)


def _out_of_date(item: ItemView, words: Words) -> str | None:
    """The summary that says so; null where the item isn't out of date, or says so already."""
    if item.until_stale is None or item.until_stale > 0:
        return None
    said = item.summary or item.title
    if any(said.startswith(one.last_known.format("")) for one in (ZH, EN)):
        return None
    return cut(words.last_known.format(said), MAX_SUMMARY)
