"""Foldstate as it would be installed in some version: a copy of the package whose plugin says when it was loaded."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.support.host import HostMissingError, Run, Running, command

PACKAGE = Path(__file__).parents[2] / "src" / "foldstate"
PNPM = Path(__file__).parents[2] / "node_modules" / ".bin" / "pnpm"
MARK = "FOLDSTATE_TEST_LOADED"
"""Names the file that the plugin of a `Release` writes its version to when a host loads it."""


def path_with_pnpm() -> str:
    """A PATH on which the plugin command of DSH finds its pnpm.

    :raises HostMissingError: the development packages aren't installed.
    """
    if not PNPM.exists():
        raise HostMissingError(PNPM)
    return os.pathsep.join((str(PNPM.parent), path_without_pnpm()))


def path_without_pnpm() -> str:
    """The caller's PATH without the folders that hold a pnpm."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / "pnpm").exists())


class Release(Struct, frozen=True):
    """One version, in a folder of its own. Its command is this environment's, with that folder's package before it."""

    folder: Path
    version: str

    def start(self, words: Sequence[str], env: Mapping[str, str]) -> Running:
        own = {**env, "PYTHONPATH": str(self.folder)}
        return Running((str(command("foldstate")), *words), self.folder, own)

    def run(self, words: Sequence[str], env: Mapping[str, str]) -> Run:
        return self.start(words, env).finish()


def release(folder: Path, version: str, note: str = "") -> Release:
    """Makes a release in `folder`. Two of one version differ by their `note`."""
    shutil.copytree(PACKAGE, folder / "foldstate", ignore=shutil.ignore_patterns("__pycache__"))
    bridge = folder / "foldstate" / "bridge"
    manifest = msgspec.json.decode((bridge / "package.json").read_bytes(), type=dict[str, object])
    (bridge / "package.json").write_bytes(msgspec.json.encode({**manifest, "version": version}))
    said = msgspec.json.encode(version + note).decode()
    with (bridge / "index.js").open("a", encoding="utf-8") as script:
        script.write(f"\nimport * as marking from 'node:fs'\nmarking.writeFileSync(process.env.{MARK}, {said})\n")
    return Release(folder, version)


def bare_env(home: Path, path: str) -> dict[str, str]:
    """The environment of a command that is run without the host."""
    return {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), path)),
        "HOME": str(home.parent),
        "DSH_HOME": str(home),
        "LANG": "C.UTF-8",
        "DSH_TELEMETRY_DISABLED": "1",
    }
