"""What a batch says, read into types: a closed union of the four declarations (D1).

A declaration that could be identified is read even where some of its fields could not: `faulty` names those, a
placeholder stands in their place, and no further rule is judged on them. So that one refusal can tell every fault (B8).
`UNSET` stands for a field that was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct, UnsetType

from foldstate.kernel.state import Source
from foldstate.kernel.values import Kind, Weight


class New(Struct, frozen=True):
    """A new item, with its layer if it has one. `null` for an optional field was read as left out (D4)."""

    id: str
    path: str
    title: str
    weight: Weight
    kind: Kind
    summary: str | None
    share: int | None
    reason: str | None
    due_at: str | None
    stale_after: str | None
    sources: tuple[Source, ...]
    children: tuple[Declaration, ...]
    faulty: frozenset[str]


class Merge(Struct, frozen=True):
    """One new item for the several that `merged` lists (D11). A layer of its own is read in order to be refused."""

    made: New
    merged: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.made.id

    @property
    def path(self) -> str:
        return self.made.path

    @property
    def faulty(self) -> frozenset[str]:
        return self.made.faulty


class Supersede(Struct, frozen=True):
    """A patch of one item (D4): what is `UNSET` keeps its value, None clears. `children` is a target set (D12)."""

    id: str
    path: str
    weight: Weight
    kind: Kind
    title: str | UnsetType
    summary: str | UnsetType | None
    share: int | UnsetType | None
    reason: str | UnsetType
    due_at: str | UnsetType | None
    stale_after: str | UnsetType | None
    sources: tuple[Source, ...] | UnsetType
    children: tuple[Declaration, ...] | UnsetType
    faulty: frozenset[str]


class Withdraw(Struct, frozen=True):
    """Takes an item and its subtree out of the state (D10). `reason` is None where it was left out; D7 refuses that."""

    id: str
    path: str
    reason: str | None
    faulty: frozenset[str]


Declaration: TypeAlias = New | Merge | Supersede | Withdraw


class Placed(Struct, frozen=True):
    """A declaration with where it stands in the batch.

    `parent` is the id of the declaration that lists it, null at the top; `level` is 1 at the top.
    """

    declaration: Declaration
    parent: str | None
    level: int


class Named(Struct, frozen=True):
    """One mention of an id: by a declaration, readable or not, or as the source of a merge (D14)."""

    id: str
    path: str


class Acknowledge(Struct, frozen=True):
    annotation: str
    path: str


class Batch(Struct, frozen=True):
    """A batch as read.

    `unread` are the ids, such as they are, of declarations that could not be told apart by id and relation. `whole`
    says that there was a list of declarations to read.
    """

    declarations: tuple[Declaration, ...]
    acknowledges: tuple[Acknowledge, ...]
    named: tuple[Named, ...]
    unread: frozenset[str]
    whole: bool

    @property
    def named_ids(self) -> frozenset[str]:
        """Every id that the batch mentions as it should."""
        return frozenset(named.id for named in self.named)

    def placed(self) -> Iterator[Placed]:
        """Every declaration, each before those that it lists."""
        yield from _placed(self.declarations, None, 1)


def _placed(declarations: tuple[Declaration, ...], parent: str | None, level: int) -> Iterator[Placed]:
    for one in declarations:
        yield Placed(one, parent, level)
        yield from _placed(listed(one) or (), one.id, level + 1)


def listed(declaration: Declaration) -> tuple[Declaration, ...] | None:
    """The declarations under `children`, or None where the declaration says nothing of a layer."""
    match declaration:
        case New(children=children) | Merge(made=New(children=children)):
            return children
        case Supersede(children=children):
            return None if isinstance(children, UnsetType) else children
        case Withdraw():
            return None


def cited(declaration: Declaration) -> tuple[Source, ...]:
    """The sources that the declaration itself gives."""
    match declaration:
        case New(sources=sources) | Merge(made=New(sources=sources)):
            return sources
        case Supersede(sources=sources):
            return () if isinstance(sources, UnsetType) else sources
        case Withdraw():
            return ()
