"""The Node that the bridge's tests run in: the one that the setup has chosen, not whichever is on PATH."""

from __future__ import annotations

from pathlib import Path

NODE = Path(__file__).parents[2] / "node_modules" / ".bin" / "node"


class NodeMissingError(RuntimeError):
    """The development packages aren't installed. It says how to mend it."""

    def __init__(self) -> None:
        super().__init__(f"there is no node at {NODE}: run `make setup`")


def node() -> str:
    """:raises NodeMissingError: the setup hasn't been run, or is older than the tests."""
    if not NODE.exists():
        raise NodeMissingError
    return str(NODE)
