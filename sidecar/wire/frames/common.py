"""What the frames are made of: bounded texts, checked times, and content that is opaque to the checks of params.

Lengths are Unicode code points. A `Params` struct refuses unknown fields, and times that are not RFC 3339 with an
offset.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta, Struct

from foldstate.kernel.instant import parse
from foldstate.kernel.values import Json

SessionId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=512)]
Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=128)]
Line: TypeAlias = Annotated[str, Meta(max_length=1000)]
Path: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4096)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Timeout: TypeAlias = Annotated[float, Meta(ge=0, le=600, description="seconds, at most 600")]


class Opaque:
    """Content that the wire passes on unjudged: every fault inside it is the kernel's to name, never a -32602."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Opaque({self.value!r})"


class LogData(Opaque):
    """What an entry of the host's log holds. However deep it is nested, it holds up no other entry."""

    __slots__ = ()


class Params(Struct, frozen=True, forbid_unknown_fields=True):
    """Params of one method. `TIMES` names the fields that hold a time.

    Raises `ValueError` whose message begins with the field in backquotes, which the codec turns into a path.
    """

    TIMES: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.TIMES:
            value = getattr(self, name)
            if value is not None and parse(value) is None:
                raise ValueError(
                    f"`{name}` is not a time: give RFC 3339 with an offset or Z, years 1970 to 9998,"
                    " for example 2026-01-31T09:30:00+08:00"
                )


class Nothing(Params, frozen=True):
    """No params: they may be left out."""


class OfSession(Params, frozen=True):
    """Params that name a session and nothing else."""

    session: SessionId
