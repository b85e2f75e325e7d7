"""The demo's story: a small workspace, what its user says, and what a scripted model does about it.

A real model is given the same workspace and the same words.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.answers import Answer, Call, Reply, Scene, Script, play, say
from tests.support.block import blocks
from tests.support.editor import edit
from tests.support.messages import Request

SMOKE = """#!/bin/sh
if [ ! -f staging.env ]; then
  echo "smoke: staging.env is missing, nothing was checked" >&2
  exit 1
fi
echo "smoke: 12 checks passed"
"""
CHANGELOG = """# 2.4
- `export()` now returns an iterator, not a list. Callers that index it break.
- Faster start.
"""

FIRST = (
    "Release 2.4 is due today: run ./smoke.sh, have a subagent look for breaking changes in CHANGELOG.md, "
    "and ask me before anything is published."
)
SECOND = "Staging is back: write REGION=eu into staging.env and run ./smoke.sh again."
THIRD = "I was away. Where do we stand?"
FOURTH = "Thanks. Nothing else for now."
TASKS = (FIRST, SECOND, THIRD, FOURTH)


def furnish(workspace: Path) -> None:
    (workspace / "CHANGELOG.md").write_text(CHANGELOG)
    smoke = workspace / "smoke.sh"
    smoke.write_text(SMOKE)
    smoke.chmod(0o755)


def _bash(command: str, description: str) -> Call:
    return Call("bash", {"command": command, "description": description})


_DELEGATE = Call(
    "subagent",
    {
        "description": "look for breaking changes",
        "prompt": "Read CHANGELOG.md. Say which changes of 2.4 break callers.",
    },
)
_STEPS = play(
    Scene(
        FIRST,
        (
            Reply(
                "The smoke check first; a subagent reads the changelog meanwhile.",
                (_bash("./smoke.sh", "Run the smoke check"), _DELEGATE),
            ),
            Reply("The smoke check stopped: staging.env is missing. I wait for the subagent."),
            Reply(
                "smoke.sh can't check: staging.env is missing. 2.4 breaks callers of export(). Publish all the same?"
            ),
        ),
    ),
    Scene(
        SECOND,
        (
            Reply("", (_bash("echo REGION=eu > staging.env && ./smoke.sh", "Write the file, run the check again"),)),
            Reply("All 12 smoke checks pass now. export() still breaks callers: shall I publish 2.4?"),
        ),
    ),
    Scene(FOURTH, (Reply("Understood. I publish nothing until you say so."),)),
)


def _main(request: Request) -> Answer:
    """The agent; asked where things stand, it has nothing but the block before it to say so from."""
    if any(THIRD in text for text in request.messages[-1].texts):
        first = next((line for line in (blocks(request) or [""])[-1].splitlines() if line.startswith("1.")), None)
        return Reply("Nothing is known of an earlier turn." if first is None else f"By the state before me: {first}")
    return _STEPS(request)


def _child(request: Request) -> Answer:
    if request.messages[-1].role == "user" and not any(True for _ in request.tool_results()):
        return Reply("", (Call("read", {"file_path": "CHANGELOG.md"}),))
    return Reply("One breaking change: export() returns an iterator, so callers that index it break.")


SCRIPT = Script(main=_main, editor=edit, child=_child, title=say("Release 2.4"))
