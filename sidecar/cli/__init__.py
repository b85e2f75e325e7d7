"""The command `foldstate`. The sidecar's start passes by the command line's own machinery, which costs it time."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command that the arguments name."""
    if sys.argv[1:] == ["sidecar"]:
        from foldstate.sidecar.__main__ import main as sidecar

        sidecar()
    else:
        from foldstate.sidecar.cli.app import app

        app()
