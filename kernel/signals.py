"""When the editor is called for events that wait: timing alone, as a function of what is known now.

Once a turn has ended and it was quiet for `quiet_s`; at the latest `patience_s` after the first waiting event, turn or
no turn; at once for what is urgent; never while a round is open, and never before a back-off is over.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from foldstate.kernel import instant
from foldstate.kernel.signal import Reason

QUIET_S: Final = 3.0
PATIENCE_S: Final = 120.0


class Waiting(Struct, frozen=True):
    """The events that wait: how many, when the first and the last was heard, and the reasons that won't wait."""

    count: int
    first_at: str | None = None
    last_at: str | None = None
    urgent: tuple[Reason, ...] = ()


class Call(Struct, frozen=True):
    """Call the editor now, for these reasons; it has been due since `due`."""

    reasons: tuple[Reason, ...]
    due: str


class WaitUntil(Struct, frozen=True):
    """Ask again at this time, or when anything changes."""

    at: str


class Idle(Struct, frozen=True):
    """Nothing to do until something changes."""


Decision: TypeAlias = Call | WaitUntil | Idle


def next_call(
    waiting: Waiting,
    *,
    turn_open: bool,
    round_open: bool,
    quiet_since: str | None,
    not_before: str | None,
    now: str,
    quiet_s: float = QUIET_S,
    patience_s: float = PATIENCE_S,
) -> Decision:
    """What to do about the waiting events at `now`.

    `quiet_since` is when the session was last heard at all. A time ahead of `now` (a clock was set back) holds nothing
    up.
    """
    if waiting.count == 0 or round_open:
        return Idle()
    if not_before is not None and instant.known(not_before) > instant.known(now):
        return WaitUntil(not_before)
    if waiting.urgent:
        return Call(waiting.urgent, _due(waiting.first_at, 0, now))
    due = [_due(waiting.first_at, patience_s, now)]
    if not turn_open:
        due.append(max(_due(waiting.last_at, quiet_s, now), _due(quiet_since, quiet_s, now), key=instant.known))
    at = min(due, key=instant.known)
    return Call(("events",), at) if instant.known(at) <= instant.known(now) else WaitUntil(at)


def _due(since: str | None, seconds: float, now: str) -> str:
    """So long after `since`; now where that is unknown or still to come."""
    if since is None or instant.known(since) > instant.known(now):
        return now
    return instant.plus_seconds(since, seconds)
