"""Where Foldstate's own files lie under DSH's home."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class Home(Struct, frozen=True):
    """DSH's home folder, absolute. Nothing here is made until it is needed."""

    path: Path

    @property
    def data(self) -> Path:
        """All that is Foldstate's: the sessions' states, the plugin's copies, how the sidecar is started."""
        return self.path / "foldstate"

    @property
    def sessions(self) -> Path:
        return self.data / "sessions"

    @property
    def bundles(self) -> Path:
        """The plugin's copies, a folder for each content. One must stay while a profile refers to it."""
        return self.data / "bundle"

    @property
    def runtime(self) -> Path:
        """How the plugin starts the sidecar: the interpreter that it is installed for, and its arguments."""
        return self.data / "runtime.json"

    @property
    def profiles(self) -> Path:
        return self.path / "profiles"


def find_home(given: Path | None, environment: Mapping[str, str]) -> Home:
    """The home that was asked for, else `$DSH_HOME`, else `~/.dsh`, as DSH itself has it.

    Links are followed, so that one home has one name in what is written down.
    """
    chosen = given or Path(environment.get("DSH_HOME") or "~/.dsh")
    return Home(chosen.expanduser().resolve())
