"""What a session's actor keeps in memory: enough to answer and to decide without asking the file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from foldstate.kernel.round import Round
from foldstate.kernel.signal import Coverage
from foldstate.kernel.signals import Waiting
from foldstate.kernel.state import State
from foldstate.kernel.surface import Note
from foldstate.sidecar.clock import instant
from foldstate.sidecar.intake.fold import IntakeState
from foldstate.sidecar.store.head import Head

ROUND_LIFE: Final = timedelta(minutes=10)
"""How long a round can be answered (R9)."""


class Trouble(Struct, frozen=True):
    """The editor's failures in a row, the last of them `at`, because of `reason`.

    `heard` is what had been heard when the last failing round began. `pause` is null once the pauses are used up: then
    only something new calls the editor again.
    """

    failures: int = 0
    at: str | None = None
    pause: timedelta | None = None
    heard: int = 0
    reason: str | None = None


class Open(Struct, frozen=True):
    """An open round, and the ledger's last number when it began."""

    round: Round
    ledger_to: int

    @property
    def ends(self) -> datetime:
        """When it is too old to be answered."""
        return instant(self.round.begun_at) + ROUND_LIFE


class Desk(Struct, frozen=True):
    """One session as it stands, never modified in place.

    `cursor` is the last host sequence number taken, -1 before the first. `heard` counts what brought something new
    since the session was opened, the last of it at `heard_at`. `skipped` counts by kind what became no event. `rounds`
    holds the open rounds (R9): they live in memory alone and end with the process.
    """

    head: Head
    state: State
    intake: IntakeState
    cursor: int
    waiting: Waiting
    heard: int = 0
    heard_at: str | None = None
    rounds: Mapping[str, Open] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    trouble: Trouble = Trouble()
    read_only: bool = False

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the surface says about how far it can be relied on, in a fixed order."""
        notes: list[Note] = []
        if self.trouble.failures:
            notes.append("editor_failing")
        if any(known.status == "unknown" for known in self.coverage.values()):
            notes.append("coverage_unknown")
        if self.read_only:
            notes.append("read_only")
        return tuple(notes)

    @property
    def claimed(self) -> frozenset[str]:
        """The events that an open round has: no other round gets them."""
        return frozenset(event.id for one in self.rounds.values() for event in one.round.events)

    def without_round(self, batch_id: str) -> Desk:
        """The desk once that round has ended; its events wait, unless they were judged."""
        if batch_id not in self.rounds:
            return self
        return replace(self, rounds={key: one for key, one in self.rounds.items() if key != batch_id})

    def without_old_rounds(self, now: str) -> Desk:
        """The desk without the rounds that are too old to be answered (R9)."""
        moment = instant(now)
        alive = {key: one for key, one in self.rounds.items() if moment < one.ends}
        return self if len(alive) == len(self.rounds) else replace(self, rounds=alive)

    def hearing(self, now: str) -> Desk:
        """The desk once something new was heard."""
        return replace(self, heard=self.heard + 1, heard_at=now)

    def counting(self, skips: Mapping[str, int]) -> Desk:
        """The desk with more of what became no event."""
        if not skips:
            return self
        kinds = {*self.skipped, *skips}
        return replace(self, skipped={kind: self.skipped.get(kind, 0) + skips.get(kind, 0) for kind in sorted(kinds)})
