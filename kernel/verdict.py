"""What a judged batch comes to: an acceptance with its receipt and record, a replay, or the faults to mend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from foldstate.kernel.event import Disposition
from foldstate.kernel.state import State
from foldstate.kernel.values import Change, Code, Json, Result


class ItemChange(Struct, frozen=True):
    item: str
    change: Change


class LayerUse(Struct, frozen=True):
    budget: int
    used: int


class Receipt(Struct, frozen=True):
    """What an accepted batch did. `changes` and `acknowledged` are sorted; `layers` names each layer it touched."""

    batch_id: str
    result: Result
    revision: int
    at: str
    replayed: bool
    changes: tuple[ItemChange, ...]
    acknowledged: tuple[str, ...]
    layers: Mapping[str, LayerUse]


class Record(Struct, frozen=True):
    """An accepted batch as history keeps it: enough to replay it and to recognise it when it is sent again (B5).

    `batch` is the content as parsed, `fingerprint` a digest of it and of the dispositions that is the same for the same
    content whatever the order of members. `base_revision` is null where none came beside it.
    """

    batch_id: str
    at: str
    result: Result
    revision: int
    base_revision: int | None
    batch: Json
    fingerprint: str
    receipt: Receipt
    dispositions: tuple[Disposition, ...] = ()


class Fault(Struct, frozen=True):
    """One thing that keeps a batch from being accepted (B8, B9). `fields` are the code's own (`item`, `limit`, …)."""

    code: Code
    path: str
    fields: Mapping[str, Json] = field(default_factory=dict)


class Accepted(Struct, frozen=True):
    """The new state, what to record of it (null for a replay: nothing is new), and the receipt.

    `changed` names the items whose stored rows differ from before.
    """

    state: State
    record: Record | None
    receipt: Receipt
    changed: frozenset[str] = frozenset()


class Refused(Struct, frozen=True):
    """At least one fault, at most 20, in the contract's order (B8). Nothing was changed (B1)."""

    faults: tuple[Fault, ...]


Verdict: TypeAlias = Accepted | Refused
