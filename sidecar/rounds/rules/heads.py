"""What the fixed words at an event's head say: whether something is asked or answered, started or ended.

Only words that intake and the host write by themselves are read here; nobody's prose is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from foldstate.kernel.event import Event
from foldstate.sidecar.rounds.rules.texts import sayable

ANSWERERS: Final = frozenset({"host", "user"})
"""Who speaks when a question or an approval is answered; whoever else speaks there asks."""

SUBJECT: Final = 160
"""Code points of a subject: enough to tell what was asked from what else was asked."""

_HEAD: Final = re.compile(r"[^:：]{1,40}(?:：|: )")
_BOUNDARY: Final = re.compile(r"[^\w\s]")
_STOPS: Final = "。.!！"

_RUN: Final = re.compile(r"(?:Subagent|Job) (?P<name>.+?) (?:started\b|settled: (?P<status>[\w-]+))")
_JOB: Final = re.compile(
    r"background job \S+ \((?:[\w-]+: )?(?P<name>.+?)\) finished \[status: (?P<status>[\w-]+)", re.IGNORECASE
)
_CHILD: Final = re.compile(
    r"Background subagent \S+ (?P<verb>finished|was stopped|ran out of room|declined|failed|ended abnormally)\b"
)
_COMPLETED: Final = "completed"


class Began(Struct, frozen=True):
    """A subagent or a job was started; `words` are the head's own."""

    name: str
    words: str


class Ended(Struct, frozen=True):
    """A subagent or a job ended; `well` where the host says that it completed."""

    name: str
    words: str
    well: bool


Run: TypeAlias = Began | Ended
Asking: TypeAlias = Literal["approval", "question"]


def subject(text: str) -> str:
    """What an event asks or answers: the first line after its head, word for word, at most 160 code points.

    Empty where the text begins with nothing that could be quoted.
    """
    line = sayable(text.lstrip())
    head = _HEAD.match(line)
    rest = line[head.end() :].strip() if head else ""
    return (rest or line)[:SUBJECT].strip()


def answers(answer: str, asked: str) -> bool:
    """Whether an answer's subject is what was asked, alone or before further words that punctuation parts from it."""
    core = asked.rstrip(_STOPS)
    if not core or not answer.startswith(core):
        return False
    rest = answer[len(core) :]
    return not rest or _BOUNDARY.match(rest) is not None


def run(event: Event) -> Run | None:
    """What the event says of a subagent or a job; null where its head is none of the known ones."""
    text = event.text.lstrip()
    if found := _RUN.match(text) or _JOB.match(text):
        name, status = found["name"], found["status"]
        return Began(name, found[0]) if status is None else Ended(name, found[0], status == _COMPLETED)
    if found := _CHILD.match(text):
        return Ended(event.speaker, found[0], found["verb"] == "finished")
    return None


def began(words: str, names: Collection[str]) -> bool:
    """Whether the head of a start, as an item's evidence quotes it, has one of these names."""
    found = _RUN.match(words)
    return found is not None and found["name"] in names
