"""What the fold remembers between two entries. It is committed with the cursor, so the two always fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from foldstate.sidecar.intake.words import Words


class Said(Struct, frozen=True):
    """The agent's last words of the open turn, and the entry they stand in. `text` is whole, as long as one message
    may be: how the turn ended goes before it, and the digest covers both.
    """

    text: str
    seq: int


class Failure(Struct, frozen=True):
    """A run of one tool's same failure, told by its last entry. `key` recognises the failure, `count` is how often."""

    tool: str
    key: str
    verb: str
    count: int
    words: Words
    seq: int
    time: int


class Turn(Struct, frozen=True):
    """The open turn. `calls` maps the calls without a result to their tool; `answered` are those that have one."""

    said: Said | None = None
    calls: Mapping[str, str] = field(default_factory=dict)
    answered: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


class Run(Struct, frozen=True):
    """One cycle of a subagent. `run` is null where only the settlement was heard; `event` is the settlement's.

    `told`: the host's bus said that it settled; `noticed`: its log did. It is open while neither is. `closing`
    recognises its closing words, null where they are unknown.
    """

    child: str
    run: str | None
    told: bool = False
    noticed: bool = False
    closing: str | None = None
    event: str | None = None

    @property
    def open(self) -> bool:
        return not self.told and not self.noticed


class IntakeState(Struct, frozen=True):
    """The fold's whole memory, oldest first. `ended` is the number of the last turn that ended, as the host counts now:
    after a kill it may count from an earlier one again.
    """

    version: Literal[1] = 1
    turn: Turn | None = None
    ended: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
