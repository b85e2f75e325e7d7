"""From a parsed JSON value to typed declarations, with every fault of shape on the way (section 1, D1, D2, D4, D5).

Nothing here looks at the state: what a declaration may do is judged later, on what could be read.
"""

from __future__ import annotations

import json
import re
from typing import Final

from msgspec import UNSET, UnsetType

from foldstate.kernel.declaration import Acknowledge, Batch, Declaration, Merge, Named, New, Supersede, Withdraw
from foldstate.kernel.faults import Finding, invalid_field
from foldstate.kernel.fields import Fields, is_id
from foldstate.kernel.state import Source
from foldstate.kernel.values import (
    KINDS,
    MAX_BATCH_BYTES,
    MAX_DECLARATIONS,
    MAX_DEPTH,
    MAX_QUOTE,
    MAX_REASON,
    MAX_REF,
    MAX_SOURCES,
    MAX_SUMMARY,
    MAX_TITLE,
    SHARES,
    Json,
)

_BATCH: Final = ("declarations", "acknowledges")
_WITHDRAW: Final = ("id", "relation", "reason")
_DECLARATION: Final = (
    *("id", "relation", "title", "summary", "weight", "kind", "share", "reason"),
    *("due_at", "stale_after", "sources", "children"),
)
_SOURCE: Final = ("channel", "ref", "quote", "observed_at")
_NULLABLE: Final = ("summary", "share", "due_at", "stale_after", "children")


def read_batch(value: Json) -> tuple[Batch, list[Finding]]:
    """The batch as far as it could be read, with its faults of shape."""
    findings: list[Finding] = []
    if not isinstance(value, dict):
        return _NOTHING_READ, [invalid_field("batch", "not_object", {"field": "batch"})]
    if not _within_size(value):
        return _NOTHING_READ, [invalid_field("batch", "too_large", {"field": "batch", "limit": MAX_BATCH_BYTES})]
    fields = Fields(value, "batch", findings)
    fields.only(_BATCH)
    fields.required(*_BATCH)
    declared = fields.values("declarations")
    acknowledged = fields.values("acknowledges")
    reader = _Reader(findings)
    declarations: tuple[Declaration, ...] = ()
    acknowledges: tuple[Acknowledge, ...] = ()
    if not isinstance(declared, UnsetType):
        if (length := _count(declared)) > MAX_DECLARATIONS:
            fields.refuse("declarations", "too_many", limit=MAX_DECLARATIONS, length=length)
        declarations, _ = reader.declarations(declared, "batch.declarations", 1)
    if not isinstance(acknowledged, UnsetType):
        acknowledges = _acknowledges(acknowledged, "batch.acknowledges", findings)
    whole = not isinstance(declared, UnsetType)
    return Batch(declarations, acknowledges, tuple(reader.named), frozenset(reader.unread), whole), findings


_NOTHING_READ: Final = Batch((), (), (), frozenset(), False)


class _Reader:
    """Reads declarations at any depth, and keeps each id that was mentioned on the way."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        self.named: list[Named] = []
        self.unread: set[str] = set()

    def declarations(self, values: list[Json], path: str, level: int) -> tuple[tuple[Declaration, ...], bool]:
        """The declarations of one list, and whether each of them could be read."""
        read = [self._declaration(value, f"{path}[{at}]", level) for at, value in enumerate(values)]
        return tuple(one for one in read if one is not None), None not in read

    def _declaration(self, value: Json, path: str, level: int) -> Declaration | None:
        if not isinstance(value, dict):
            self.findings.append(invalid_field(path, "not_object", {"field": "declarations"}))
            return None
        given_id = value.get("id")
        item = given_id if isinstance(given_id, str) and is_id(given_id) else None
        fields = Fields(value, path, self.findings, item=item, nullable=_NULLABLE)
        fields.required("id")
        item_id = fields.identifier("id")
        if not isinstance(item_id, UnsetType):
            self.named.append(Named(item_id, f"{path}.id"))
        elif isinstance(given_id, str):
            self.unread.add(given_id)
        relation = self._relation(fields, item_id, level)
        if relation == "withdraw":
            return _withdraw(fields, item_id)
        return self._described(fields, item_id, relation, level)

    def _relation(self, fields: Fields, item_id: str | UnsetType, level: int) -> str | tuple[str, ...] | None:
        """`new`, `supersedes` or `withdraw`, the ids that a merge lists, or None where the relation is at fault."""
        if "relation" not in fields.members:
            return "new"
        value = fields.string("relation")
        if isinstance(value, UnsetType):
            return None
        if value in ("new", "withdraw"):
            return value
        if value.startswith("supersedes:"):
            if value.removeprefix("supersedes:") != item_id and not isinstance(item_id, UnsetType):
                fields.refuse("relation", "relation_other_id")
            return "supersedes"
        merged = _merged_ids(value)
        if merged is None:
            fields.refuse("relation", "relation")
            return None
        self.named.extend(Named(one, f"{fields.path}.relation") for one in merged)
        if level > 1:
            fields.refuse("relation", "relation_nested")
        if len(merged) < 2:
            fields.refuse("relation", "merges_fewer")
        return merged

    def _described(
        self, fields: Fields, item_id: str | UnsetType, relation: str | tuple[str, ...] | None, level: int
    ) -> Declaration | None:
        """What every declaration but a withdrawal has: the text, the weight, the evidence, the layer."""
        fields.only(_DECLARATION)
        if relation is not None:
            fields.required("weight", "kind")
        if relation == "new" or isinstance(relation, tuple):
            fields.required("title")
        title = fields.text("title", MAX_TITLE)
        summary = fields.text("summary", MAX_SUMMARY)
        weight = fields.choice("weight", tuple(SHARES))
        kind = fields.choice("kind", KINDS)
        share = fields.share("share")
        reason = fields.text("reason", MAX_REASON)
        due_at = fields.time("due_at")
        stale_after = fields.time("stale_after")
        sources = self._sources(fields)
        children = self._children(fields, level)
        if isinstance(item_id, UnsetType):
            return None
        if relation is None or "relation" in fields.faulty:
            self.unread.add(item_id)
            return None
        a_weight = "trace" if isinstance(weight, UnsetType) else weight
        a_kind = "fyi" if isinstance(kind, UnsetType) else kind
        if relation == "supersedes":
            return Supersede(
                id=item_id,
                path=fields.path,
                weight=a_weight,
                kind=a_kind,
                title=title,
                summary=None if fields.clears("summary") else summary,
                share=None if fields.clears("share") else share,
                reason=reason,
                due_at=None if fields.clears("due_at") else due_at,
                stale_after=None if fields.clears("stale_after") else stale_after,
                sources=sources,
                children=children,
                faulty=frozenset(fields.faulty),
            )
        made = New(
            id=item_id,
            path=fields.path,
            title="" if isinstance(title, UnsetType) else title,
            weight=a_weight,
            kind=a_kind,
            summary=None if isinstance(summary, UnsetType) else summary,
            share=None if isinstance(share, UnsetType) else share,
            reason=None if isinstance(reason, UnsetType) else reason,
            due_at=None if isinstance(due_at, UnsetType) else due_at,
            stale_after=None if isinstance(stale_after, UnsetType) else stale_after,
            sources=() if isinstance(sources, UnsetType) else sources,
            children=() if isinstance(children, UnsetType) else children,
            faulty=frozenset(fields.faulty),
        )
        return Merge(made, relation) if isinstance(relation, tuple) else made

    def _children(self, fields: Fields, level: int) -> tuple[Declaration, ...] | UnsetType:
        values = fields.values("children")
        if isinstance(values, UnsetType):
            return () if fields.clears("children") else UNSET
        if values and level >= MAX_DEPTH:
            return fields.refuse("children", "too_deep", limit=MAX_DEPTH)
        children, whole = self.declarations(values, f"{fields.path}.children", level + 1)
        if not whole:
            fields.faulty.add("children")
        return children

    def _sources(self, fields: Fields) -> tuple[Source, ...] | UnsetType:
        values = fields.values("sources")
        if isinstance(values, UnsetType):
            return UNSET
        if not values:
            return fields.refuse("sources", "empty")
        if len(values) > MAX_SOURCES:
            fields.refuse("sources", "too_many", limit=MAX_SOURCES, length=len(values))
        read = [
            _source(value, f"{fields.path}.sources[{at}]", self.findings, fields.item)
            for at, value in enumerate(values)
        ]
        if None in read:
            fields.faulty.add("sources")
        return tuple(dict.fromkeys(source for source in read if source is not None))


def _withdraw(fields: Fields, item_id: str | UnsetType) -> Withdraw | None:
    fields.only(_WITHDRAW, problem="withdraw_only")
    reason = fields.text("reason", MAX_REASON)
    if isinstance(item_id, UnsetType):
        return None
    return Withdraw(item_id, fields.path, None if isinstance(reason, UnsetType) else reason, frozenset(fields.faulty))


def _source(value: Json, path: str, findings: list[Finding], item: str | None) -> Source | None:
    if not isinstance(value, dict):
        findings.append(invalid_field(path, "not_object", {"field": "sources"}))
        return None
    fields = Fields(value, path, findings, item=item)
    fields.only(_SOURCE)
    fields.required("channel", "ref")
    channel = fields.text("channel", None)
    ref = fields.text("ref", MAX_REF)
    quote = fields.text("quote", MAX_QUOTE, allowed="\n\r\t")
    observed_at = fields.time("observed_at")
    if fields.faulty or isinstance(channel, UnsetType) or isinstance(ref, UnsetType):
        return None
    return Source(
        channel,
        ref,
        None if isinstance(quote, UnsetType) else quote,
        None if isinstance(observed_at, UnsetType) else observed_at,
    )


def _acknowledges(values: list[Json], path: str, findings: list[Finding]) -> tuple[Acknowledge, ...]:
    read: list[Acknowledge] = []
    for at, value in enumerate(values):
        if isinstance(value, str):
            read.append(Acknowledge(value, f"{path}[{at}]"))
        else:
            findings.append(invalid_field(f"{path}[{at}]", "not_text", {"field": "acknowledges"}))
    return tuple(read)


_MERGES: Final = re.compile(r"merges: *\[([^\[\]]*)\]")


def _merged_ids(relation: str) -> tuple[str, ...] | None:
    """The ids that `merges:[a, b]` lists, or None where it isn't such a list."""
    found = _MERGES.fullmatch(relation)
    if found is None:
        return None
    inner = found.group(1).strip(" ")
    ids = tuple(part.strip(" ") for part in inner.split(",")) if inner else ()
    return ids if all(is_id(one) for one in ids) else None


def _count(declared: list[Json]) -> int:
    """How many declarations a list holds, those under `children` included."""
    total, waiting = 0, [declared]
    while waiting:
        values = waiting.pop()
        total += len(values)
        for value in values:
            children = value.get("children") if isinstance(value, dict) else None
            if isinstance(children, list):
                waiting.append(children)
    return total


def _within_size(value: Json) -> bool:
    """Whether the value takes at most 256 KiB as compact JSON; what nests too deep to be written doesn't either."""
    try:
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return False
    return len(written.encode("utf-8", "surrogatepass")) <= MAX_BATCH_BYTES
