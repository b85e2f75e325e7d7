"""Reading one JSON object field by field, noting every fault and going on (section 1, the rules of single values)."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, TypeVar

from msgspec import UNSET, Struct, UnsetType

from foldstate.kernel import instant
from foldstate.kernel.faults import Finding, invalid_field, member
from foldstate.kernel.values import LAYER_BUDGET, MAX_ID, ROOT, Defect, Json

_Choice = TypeVar("_Choice", bound=str)

_ID: Final = re.compile(rf"[a-z0-9-]{{1,{MAX_ID}}}", re.ASCII)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def is_id(text: str) -> bool:
    """Whether the text can be an item's id."""
    return _ID.fullmatch(text) is not None


class Problem(Struct, frozen=True):
    """What is wrong with a value, in one word, with the figures that go with it."""

    name: Defect
    figures: dict[str, Json]


def text_problem(text: str, limit: int | None, allowed: str = "") -> Problem | None:
    """What keeps a text from being a title, a reason and the like; None where nothing does.

    Counted as sent, in code points. `allowed` are control characters that may stand in it all the same.
    """
    if not text or text.isspace():
        return Problem("blank", {})
    if limit is not None and len(text) > limit:
        return Problem("too_long", {"limit": limit, "length": len(text)})
    for found in _CONTROL.finditer(text):
        if found.group() not in allowed:
            return Problem("character", {"character": f"U+{ord(found.group()):04X}", "position": found.start()})
    return None


class Fields:
    """One object's members. A reading method answers `UNSET` where the member was left out, is null, or is at fault.

    `nullable` names the members that may be null (ask `clears`); null is a fault of any other. `faulty` collects the
    names of members at fault, `findings`, shared by a whole batch, their faults. `item` is what the faults are about.
    """

    def __init__(
        self,
        members: dict[str, Json],
        path: str,
        findings: list[Finding],
        *,
        item: str | None = None,
        nullable: Collection[str] = (),
    ) -> None:
        self.members = members
        self.path = path
        self.findings = findings
        self.item = item
        self.faulty: set[str] = set()
        self._nullable = nullable

    def refuse(self, name: str, problem: Defect, **figures: Json) -> UnsetType:
        """Note a fault of the member `name`."""
        self.faulty.add(name)
        about: dict[str, Json] = {"field": name} if self.item is None else {"item": self.item, "field": name}
        self.findings.append(invalid_field(member(self.path, name), problem, {**about, **figures}))
        return UNSET

    def only(self, known: Collection[str], problem: Defect = "unknown_field") -> None:
        """Every member is one of `known`; none is ever ignored."""
        for name in self.members:
            if name not in known:
                self.refuse(name, problem)

    def required(self, *names: str) -> None:
        """Each of these members is there."""
        for name in names:
            if name not in self.members:
                self.refuse(name, "missing")

    def clears(self, name: str) -> bool:
        """Whether the member is there, is null, and may be."""
        return name in self._nullable and name in self.members and self.members[name] is None

    def identifier(self, name: str) -> str | UnsetType:
        """An item's id; `root` is reserved."""
        value = self.string(name)
        if isinstance(value, UnsetType):
            return value
        if not is_id(value):
            return self.refuse(name, "id", length=len(value), limit=MAX_ID)
        return self.refuse(name, "reserved") if value == ROOT else value

    def text(self, name: str, limit: int | None, *, allowed: str = "") -> str | UnsetType:
        """A text of 1 to `limit` code points."""
        value = self.string(name)
        if isinstance(value, UnsetType):
            return value
        problem = text_problem(value, limit, allowed)
        return value if problem is None else self.refuse(name, problem.name, **problem.figures)

    def choice(self, name: str, allowed: Collection[_Choice]) -> _Choice | UnsetType:
        """One of a closed set of words."""
        value = self._value(name)
        if isinstance(value, UnsetType):
            return value
        for one in allowed:
            if value == one:
                return one
        return self.refuse(name, "choice", allowed=list(allowed))

    def time(self, name: str) -> str | UnsetType:
        """An RFC 3339 time with an offset, kept as sent."""
        value = self._value(name)
        if isinstance(value, UnsetType):
            return value
        if not isinstance(value, str) or instant.parse(value) is None:
            return self.refuse(name, "time")
        return value

    def share(self, name: str) -> int | UnsetType:
        """A whole number from 1 to a layer's budget; true, false and 6.0 are none."""
        value = self._value(name)
        if isinstance(value, UnsetType):
            return value
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LAYER_BUDGET:
            return self.refuse(name, "share", limit=LAYER_BUDGET)
        return value

    def values(self, name: str) -> list[Json] | UnsetType:
        """A list, of whatever."""
        value = self._value(name)
        if isinstance(value, UnsetType):
            return value
        return value if isinstance(value, list) else self.refuse(name, "not_list")

    def string(self, name: str) -> str | UnsetType:
        """A string, whatever stands in it."""
        value = self._value(name)
        if isinstance(value, UnsetType):
            return value
        return value if isinstance(value, str) else self.refuse(name, "not_text")

    def _value(self, name: str) -> Json | UnsetType:
        value = self.members.get(name, UNSET)
        if value is None:
            return UNSET if name in self._nullable else self.refuse(name, "null")
        return value
