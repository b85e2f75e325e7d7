"""The one event that a fork begins with: its state is empty, and this names where its words before came from."""

from __future__ import annotations

from foldstate.sidecar.intake.state import IntakeState
from foldstate.sidecar.intake.taken import Taken, run_id, taken, tell
from foldstate.sidecar.intake.words import keep


def forked(state: IntakeState, session: str, parent: str, at: str) -> Taken:
    """The event of a session that was forked from `parent`; its id is the same however often it is opened."""
    words = keep(f"This session was forked from session {parent}; what was said before belongs to that one's state.")
    return taken(state, (tell(run_id("forked", session, parent, ""), "memory", "host", at, words, None),))
