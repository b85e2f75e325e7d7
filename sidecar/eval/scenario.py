"""A case of judgement as its file has it: a prior state, one round, answers good and bad, and what any must meet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from foldstate.kernel.event import Feedback
from foldstate.kernel.instant import parse
from foldstate.kernel.signal import Coverage, Window
from foldstate.kernel.values import Disposed, Json, Kind, Language, Result, Status, Weight
from foldstate.kernel.view import Profile


class ScenarioError(Exception):
    """A file that is no scenario, or one whose own story the kernel refuses; the message says where and why."""


class Due(Struct, frozen=True, forbid_unknown_fields=True):
    """A reminder as a file tells it; what its target is by now follows from the state."""

    feedback: str
    target: str
    requested_for: str
    requested_at: str


class Told(Struct, frozen=True, forbid_unknown_fields=True):
    """An event. `feedback` names the kernel's own type."""

    id: str
    channel: str
    speaker: str = field(name="from")
    at: str
    text: str
    feedback: Feedback | None = None
    reminder: Due | None = None


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """An editor's answer. What stands in it is the kernel's to judge."""

    dispositions: Json
    batch: Json


class Seed(Struct, frozen=True, forbid_unknown_fields=True):
    """A round that was accepted before."""

    batch_id: str
    now: str
    events: tuple[Told, ...]
    dispositions: Json
    declarations: Json
    acknowledges: Json


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """A pending annotation; answers call it `a-1`, `a-2`, … by its position."""

    item: str
    text: str


class Called(Struct, frozen=True, forbid_unknown_fields=True):
    """The round's signal. `turn_end` and `max_wait` are two causes of what the kernel calls `events`."""

    type: Literal["events", "review"]
    reason: tuple[str, ...]
    received: int
    window: Window
    coverage: Mapping[str, Coverage]
    reminders: tuple[str, ...]


class Bad(Struct, frozen=True, forbid_unknown_fields=True):
    """A plausible wrong answer. `caught_by` is `kernel:<code>` or `judgement`."""

    why: str
    answer: Answer
    caught_by: str


class Want(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement about one item of the resulting state, picked by `id` or as one that cites `about_event`.

    `exists` false: no active item is so named, or cites that event. Otherwise the item has one of the statuses; all
    else but `updated` is asked of an active one, since what left by an allowed status has nothing left to show.
    `due_at` and `stale_after` are an instant, null, or "unchanged". `updated`: whether any stored field but `reason`
    differs from before. `…_has` and `…_lacks` are regular expressions, searched without regard to case: all of `has`
    match and none of `lacks`; `text` is title and summary together. With `about_event` one item meets the whole
    statement, and each of those that cite the event meets the `lacks`.
    """

    id: str | None = None
    about_event: str | None = None
    exists: bool = True
    status: tuple[Status, ...] = ("active",)
    kind: tuple[Kind, ...] | None = None
    weight: tuple[Weight, ...] | None = None
    share: tuple[int, ...] | None = None
    due_at: str | UnsetType | None = UNSET
    stale_after: str | UnsetType | None = UNSET
    title_has: tuple[str, ...] = ()
    title_lacks: tuple[str, ...] = ()
    summary_has: tuple[str, ...] = ()
    summary_lacks: tuple[str, ...] = ()
    text_has: tuple[str, ...] = ()
    text_lacks: tuple[str, ...] = ()
    updated: bool | None = None

    def __post_init__(self) -> None:
        if (self.id is None) == (self.about_event is None):
            raise ValueError("a statement names an item by `id` or by `about_event`")
        for time in (self.due_at, self.stale_after):
            if isinstance(time, str) and time != UNCHANGED and parse(time) is None:
                raise ValueError(f"{time!r} is neither a time with an offset nor {UNCHANGED!r}")
        for pattern in (*self.title_has, *self.summary_has, *self.text_has, *self.lacks):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None

    @property
    def lacks(self) -> tuple[str, ...]:
        return (*self.title_lacks, *self.summary_lacks, *self.text_lacks)


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True):
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()


class Expect(Struct, frozen=True, forbid_unknown_fields=True):
    """What an acceptable answer meets: allowed dispositions by event, allowed results, statements, notes, new items."""

    dispositions: Mapping[str, tuple[Disposed, ...]]
    result: tuple[Result, ...]
    items: tuple[Want, ...]
    acknowledges: Acknowledged
    new_items_max: int


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    lang: Language
    about: str
    rules: tuple[str, ...]
    profile: Profile | None
    now: str
    seed: tuple[Seed, ...]
    annotations: tuple[Note, ...]
    events: tuple[Told, ...]
    signal: Called
    good: Answer
    bad: tuple[Bad, ...]
    expect: Expect


UNCHANGED = "unchanged"


def read(path: Path) -> Scenario:
    """The scenario that a file holds.

    :raises ScenarioError: it isn't one.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scenario)
    except (OSError, msgspec.DecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from None
