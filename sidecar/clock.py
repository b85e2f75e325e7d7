"""The sidecar's only source of time: the system's clock, or one that a test sets by hand.

Times are RFC 3339 in UTC with milliseconds. Whoever waits for an instant waits here, so that a manual clock drives all.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final, Protocol

import anyio

from foldstate.kernel.instant import parse

NAP_CAP_S: Final = 15.0
"""The longest single sleep: it bounds how late a waiter is after a suspend or a jump of the wall clock."""


def stamp(moment: datetime) -> str:
    """The instant as the sidecar writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Clock(Protocol):
    """Tells the time and waits for an instant."""

    def now(self) -> str: ...

    async def wait_until(self, at: str) -> None: ...


class SystemClock:
    """The wall clock. A step back is told as it is: the actor keeps recorded time from running backwards (B7)."""

    def now(self) -> str:
        return stamp(datetime.now(UTC))

    async def wait_until(self, at: str) -> None:
        """Until the instant has come by the wall clock, or as long has passed as it was away: clocks are set back."""
        due = instant(at)
        end = time.monotonic() + (due - datetime.now(UTC)).total_seconds()
        while (left := min((due - datetime.now(UTC)).total_seconds(), end - time.monotonic())) > 0:  # noqa: ASYNC110  no event tells of the wall clock's jumps
            await anyio.sleep(min(NAP_CAP_S, left))


class ManualClock:
    """A clock that stands still until it is set; it wakes whoever waits for an instant that has come.

    :raises ValueError: from `set`, where the new time is before the present one.
    """

    def __init__(self, now: str) -> None:
        self._now = instant(now)
        self._moved = anyio.Event()

    def now(self) -> str:
        return stamp(self._now)

    def set(self, now: str) -> None:
        moment = instant(now)
        if moment < self._now:
            raise ValueError(f"the clock stands at {stamp(self._now)} and never goes back; send a later `now`")
        self._now = moment
        self._moved.set()
        self._moved = anyio.Event()

    async def wait_until(self, at: str) -> None:
        due = instant(at)
        while self._now < due:
            await self._moved.wait()


def instant(text: str) -> datetime:
    """The moment that an RFC 3339 text names.

    :raises ValueError: for a text without an offset, or one that names no moment of the years 1970..9998.
    """
    moment = parse(text)
    if moment is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time with an offset")
    return moment
