"""Fitting the rules' own items into what the others leave of the root layer: who yields, and in what order (B2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from foldstate.kernel.values import SHARES, Weight
from foldstate.sidecar.rounds.rules.entry import Entry
from foldstate.sidecar.rounds.rules.words import Words

SETTLED_KEPT: Final = 8
"""Settled items that stay while there is room for them."""

_WEIGHTS: Final[tuple[Weight, ...]] = tuple(SHARES)


def fit(entries: Iterable[Entry], room: int, words: Words) -> list[Entry]:
    """The entries, oldest first, with shares of at most `room` together.

    1. Of the settled ones, only the newest few stay.
    2. Settled ones leave, oldest first.
    3. What runs, then what waits for the user, gets a smaller weight: the heaviest first, the oldest of those.
    4. What runs leaves or isn't added, the newest additions first; what waits for the user comes before it.
    5. What waits for the user isn't added, the newest first. One that stands in the state is never taken out.
    """
    shelf = _Shelf(entries, room)
    settled = [one for one in shelf.present() if one.settled]
    for one in settled[:-SETTLED_KEPT]:
        shelf.put(replace(one, gone=words.because_kept))
    while shelf.over:
        victim = shelf.next_out()
        if victim is not None and victim.settled:
            shelf.put(replace(victim, gone=words.because_room))
        elif (heavy := shelf.heaviest()) is not None:
            lighter = _WEIGHTS[_WEIGHTS.index(heavy.weight) + 1]
            shelf.put(replace(heavy, weight=lighter, reason=words.because_room, changed=True))
        elif victim is not None:
            shelf.put(replace(victim, gone=words.because_room))
        else:
            break
    return shelf.all()


class _Shelf:
    def __init__(self, entries: Iterable[Entry], room: int) -> None:
        self._entries = {one.id: one for one in entries}
        self._room = room

    @property
    def over(self) -> bool:
        return sum(one.share for one in self.present()) > self._room

    def all(self) -> list[Entry]:
        return [*self._entries.values()]

    def present(self) -> list[Entry]:
        return [one for one in self._entries.values() if one.gone is None]

    def put(self, entry: Entry) -> None:
        self._entries[entry.id] = entry

    def next_out(self) -> Entry | None:
        """Who leaves next if somebody must."""
        present = self.present()
        settled = [one for one in present if one.settled]
        running = [one for one in present if one.kind == "in-progress"]
        added = [one for one in reversed(present) if one.fresh]
        candidates = (settled, [one for one in added if one in running], running, added)
        return next((group[0] for group in candidates if group), None)

    def heaviest(self) -> Entry | None:
        """Who takes less next: none that is at the least already, or whose share somebody fixed."""
        able = [one for one in self.present() if one.override is None and one.weight != _WEIGHTS[-1]]
        return max(able, key=lambda one: (one.kind == "in-progress", one.share), default=None)
