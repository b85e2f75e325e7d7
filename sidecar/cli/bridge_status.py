"""What the plugin last said of itself in the hosts of a home: one file a host process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from foldstate.kernel import instant
from foldstate.sidecar.cli.home import Home


class Swallowed(Struct, frozen=True):
    """How often something failed in the host, and what it said last."""

    count: int
    last: str


class BridgeStatus(Struct, frozen=True):
    """`reason` is null where the sidecar ran well; `pid` is the host's process."""

    at: str
    pid: int = 0
    reason: str | None = None
    errors: Mapping[str, Swallowed] = {}

    @property
    def troubled(self) -> bool:
        return self.reason is not None or bool(self.errors)


def bridge_status(home: Home) -> BridgeStatus | None:
    """What a person should know: the newest trouble of a host that runs, else of one that ran; null where all is well.

    A file that can't be read says so in the plugin's place.
    """
    told = [status for path in (home.data / "status").glob("*.json") if (status := _read(path)) and status.troubled]
    return max(told, key=lambda one: (_runs(one.pid), instant.parse(one.at) or _LONG_AGO), default=None)


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def _read(path: Path) -> BridgeStatus | None:
    """None where the file went away meanwhile."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=BridgeStatus)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        return BridgeStatus(datetime.now(UTC).isoformat(), reason=f"{path}: {error}")


def _runs(pid: int) -> bool:
    """Whether the process is there. Windows can't be asked without harming it, so there every one counts as running."""
    if os.name == "nt":
        return True
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
