"""Where a session's changes go: to the host as notifications, and its mishaps to where a person can see them."""

from __future__ import annotations

from typing import Protocol

from foldstate.kernel.surface import Surface
from foldstate.sidecar.desk.desk import Desk


class Outlet(Protocol):
    """Takes what sessions tell; waits for nothing and raises nothing."""

    def moved(self, before: Desk, after: Desk, surface: Surface) -> None:
        """The desk changed, durably, and `surface` is its surface now."""
        ...

    def alarm(self, where: str, error: Exception) -> None:
        """Something went wrong that no request waits for; it is counted and logged."""
        ...
