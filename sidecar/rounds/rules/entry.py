"""An item that these rules made, or are about to make."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from foldstate.kernel.event import Event
from foldstate.kernel.evidence import EVENT_REF, event_id
from foldstate.kernel.state import Source
from foldstate.kernel.values import SHARES, Json, Kind, Weight
from foldstate.kernel.view import ItemView

Rule: TypeAlias = Literal["approval", "question", "subagent", "job", "reminder"]
"""The channels that items are made from; each is the beginning of its items' ids."""

RULES: Final[tuple[Rule, ...]] = ("approval", "question", "subagent", "job", "reminder")
_DIGEST: Final = 16


class Entry(Struct, frozen=True):
    """One item as the batch is to leave it.

    `fresh`: it isn't in the state yet. `changed`: this batch has something to say of it. `gone` is why it is
    withdrawn; a fresh one that is gone is never declared.
    """

    id: str
    rule: Rule
    kind: Kind
    weight: Weight
    title: str
    summary: str | None
    sources: tuple[Source, ...]
    override: int | None = None
    reason: str | None = None
    fresh: bool = False
    changed: bool = False
    gone: str | None = None

    @property
    def share(self) -> int:
        return SHARES[self.weight] if self.override is None else self.override

    @property
    def settled(self) -> bool:
        return self.kind in ("done", "fyi")

    @property
    def quote(self) -> str:
        """The words that it was made for; empty where there were none to quote."""
        return self.sources[0].quote or ""

    def declaration(self) -> dict[str, Json]:
        if self.gone is not None:
            return {"id": self.id, "relation": "withdraw", "reason": self.gone}
        declared: dict[str, Json] = {
            "id": self.id,
            "relation": "new" if self.fresh else f"supersedes:{self.id}",
            "title": self.title,
            "weight": self.weight,
            "kind": self.kind,
            "sources": [_cited(source) for source in self.sources],
        }
        if self.summary is not None:
            declared["summary"] = self.summary
        if self.reason is not None:
            declared["reason"] = self.reason
        return declared


def item_id(rule: Rule, event: str) -> str:
    """The id of the item that an event is the origin of: no other event ever gives it."""
    return f"{rule}-{sha256(event.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST]}"


def own(item: ItemView) -> Entry | None:
    """The item as an entry if these rules made it: its id follows from its first source, and it has no layer."""
    origin = event_id(item.sources[0]) if item.sources else None
    rule = next((one for one in RULES if origin is not None and item.id == item_id(one, origin)), None)
    if rule is None or item.children is not None:
        return None
    return Entry(
        id=item.id,
        rule=rule,
        kind=item.kind,
        weight=item.weight,
        title=item.title,
        summary=item.summary,
        sources=item.sources,
        override=item.share_override,
    )


def cite(event: Event, quote: str) -> Source:
    return Source(channel=event.channel, ref=EVENT_REF + event.id, quote=quote or None)


def _cited(source: Source) -> dict[str, Json]:
    cited: dict[str, Json] = {"channel": source.channel, "ref": source.ref}
    if source.quote is not None:
        cited["quote"] = source.quote
    if source.observed_at is not None:
        cited["observed_at"] = source.observed_at
    return cited
