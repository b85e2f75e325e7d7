"""The command itself: its version, and how little the sidecar's start passes through."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import msgspec

import foldstate
from tests.support.host import Running, command
from tests.support.release import PACKAGE, bare_env, path_without_pnpm

LOADED = """
import sys
import foldstate.sidecar.__main__ as program
def main():
    print(sorted(sys.modules.keys() & {"typer", "rich", "click", "foldstate.sidecar.cli.app"}))
program.main = main
sys.argv = ["foldstate", "sidecar"]
from foldstate.sidecar.cli import main
main()
"""


def test_the_version_is_the_packages_and_the_plugins(tmp_path: Path) -> None:
    env = bare_env(tmp_path, path_without_pnpm())
    run = Running((str(command("foldstate")), "--version"), tmp_path, env).finish()
    plugin = msgspec.json.decode((PACKAGE / "bridge" / "package.json").read_bytes(), type=dict[str, object])
    assert run.stdout == f"foldstate {version('dsh-foldstate')}\n"
    assert foldstate.__version__ == plugin["version"] == version("dsh-foldstate")


def test_the_sidecar_starts_without_the_command_lines_own_machinery() -> None:
    run = subprocess.run((sys.executable, "-c", LOADED), capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[]\n"


def test_foldstate_sidecar_speaks_on_its_wire_and_ends_with_its_input(tmp_path: Path) -> None:
    env = bare_env(tmp_path, path_without_pnpm())
    run = Running((str(command("foldstate")), "sidecar"), tmp_path, env, stdin=subprocess.PIPE).finish(30)
    assert run.code == 0, run.stderr
    assert run.stdout.startswith("Content-Length: ") and '"sidecar/starting"' in run.stdout
