"""What a session's actor keeps in memory: enough to answer and to decide without asking the file."""

from __future__ import annotations

from collections.abc import Mapping

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


class Trouble(Struct, frozen=True):
    """The editor's failures in a row, the last of them `at`, because of `reason`.

    `not_before` is null once the pauses are used up: then only something new calls it again.
    """

    failures: int = 0
    at: str | None = None
    not_before: str | None = None
    reason: str | None = None


class Desk(Struct, frozen=True):
    """One session as it stands, never modified in place.

    `cursor` is the last host sequence number taken, -1 before the first. `heard_at` is when something last arrived.
    `rounds` holds the open rounds (R9): they live in memory alone and end with the process.
    """

    head: Head
    state: State
    intake: IntakeState
    cursor: int
    waiting: Waiting
    heard_at: str | None = None
    rounds: Mapping[str, Round] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    trouble: Trouble = Trouble()
    read_only: bool = False

    @property
    def claimed(self) -> frozenset[str]:
        """The events that an open round has: no other round gets them."""
        return frozenset(event.id for round_ in self.rounds.values() for event in round_.events)

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

    def heard_since(self, at: str | None) -> bool:
        """Whether something arrived after the given time."""
        return at is not None and self.heard_at is not None and instant(self.heard_at) > instant(at)

    def without_round(self, batch_id: str) -> Desk:
        return replace(self, rounds={key: value for key, value in self.rounds.items() if key != batch_id})
