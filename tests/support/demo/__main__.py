"""`make demo`: the plugin in the real host, from its installation to what the agent receives and what that costs.

Uses the public command lines alone. Exits with 1 and the reason where a step isn't as it should be. With
DEEPSEEK_API_KEY set it asks the real model, through a recorder on this machine.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.support.block import blocks
from tests.support.demo import paper, scene
from tests.support.host import HostHome, HostMissingError, Run
from tests.support.ledger import Ledger, NoLedger, read_ledger, read_surface
from tests.support.messages import Request, Role
from tests.support.model import ScriptedModel
from tests.support.prompt_cache import Usage, tokens
from tests.support.record import Exchange, Record
from tests.support.recorder import Recorder

FOLDER = Path(".demo")
KEY = "DEEPSEEK_API_KEY"
ASKERS: tuple[tuple[Role, str], ...] = (
    ("main", "the agent"),
    ("child", "its subagent"),
    ("title", "the title"),
    ("editor", "Foldstate's editor"),
)
UPSTREAM = "https://api.deepseek.com/anthropic"


class StepFailed(Exception):
    """A step wasn't as it should be; the message is the reason."""


class _Line(Struct, frozen=True):
    """The line of the host's own JSON output that names the session."""

    type: str
    session: str = msgspec.field(default="", name="sessionId")


def must(fact: bool, reason: str) -> None:
    if not fact:
        raise StepFailed(reason)


class Demo:
    """One telling of the story, step by step; each prints what it did and stops the rest where it isn't right."""

    def __init__(self, home: HostHome, record: Record, model: str, scripted: bool) -> None:
        self._home = home
        self._record = record
        self._model = model
        self._scripted = scripted
        self._session = ""
        self._left_by_last = ""
        self._seen: list[Request] = []

    def tell(self) -> None:
        paper.title("foldstate", "one current state of all that happens in an agent's session")
        paper.heading(1, "What ran", f"dsh {version('deepseek-harness-runtime-bin')}, {self._model}")
        self._install()
        for number, task in enumerate(scene.TASKS):
            self._turn(number, task)
        self._state()
        self._block()
        self._cost()
        must(not (left := self._home.left()), f"processes were left behind: {left}")
        paper.line()
        paper.line("All as it should be. To look around:")
        paper.line(f"   export DSH_HOME={FOLDER}/home; .venv/bin/foldstate show")

    def _install(self) -> None:
        started = time.monotonic()
        run = self._home.foldstate("install", "--profile", "headless")
        must(run.code == 0, f"foldstate install failed: {run.stdout}{run.stderr}")
        paper.step("foldstate install --profile headless", f"{time.monotonic() - started:.1f} s")

    def _turn(self, number: int, task: str) -> None:
        before = len(self._record.exchanges())
        words = ("--json", task) if not self._session else ("--json", "--session-id", self._session, task)
        run = self._home.headless(*words)
        must(run.code == 0, f"the host's run {number + 1} failed: {run.stdout[-400:]}{run.stderr}")
        self._session = self._session or _session_of(run)
        heard = self._record.exchanges()[before:]
        shown = "dsh headless" + (" --session-id …" if number else "") + f' "{task}"'
        paper.step(shown, f"{run.seconds:.1f} s")
        ledger = read_ledger(self._home, self._session)
        paper.note(_told(heard, ledger, number))
        if self._scripted:
            must(not ledger.waiting, f"{len(ledger.waiting)} events still wait after run {number + 1}")
        self._check_block(number, [one.request for one in heard if one.request.role == "main"])
        self._left_by_last = read_surface(self._home, self._session).text

    def _check_block(self, number: int, requests: list[Request]) -> None:
        """The run's first request has the state that the run before left, and nothing if there was none."""
        must(bool(requests), f"the agent asked its model nothing in run {number + 1}")
        self._seen.extend(requests)
        expected, found = self._left_by_last, blocks(requests[0])
        must(bool(expected) or number == 0 or not self._scripted, f"no state came of run {number}")
        must(bool(found) == bool(expected), f"run {number + 1} began with {len(found)} states before the agent")
        must(found[-1:] == [expected] or not found, f"run {number + 1} began with another state than run {number} left")

    def _state(self) -> None:
        paper.heading(2, "The state that came of it, with its evidence", "foldstate show")
        ledger = read_ledger(self._home, self._session)
        must(ledger.revision > 0, "no state came of four runs")
        if self._scripted:
            must(bool(ledger.texts("tool")), "the tool's failure is no event")
            must(bool(ledger.texts("subagent")), "the subagent's settlement is no event")
        shown = self._home.foldstate("show", self._session)
        must(shown.code == 0, f"foldstate show failed: {shown.stderr}")
        for row in shown.stdout.rstrip().splitlines():
            paper.line(row)

    def _block(self) -> None:
        paper.heading(3, "The block that the model received on the turn after", "word for word")
        standing = blocks(self._seen[-1])
        must(bool(standing), "the last run's model received no state")
        paper.quoted(standing[-1])

    def _cost(self) -> None:
        paper.heading(4, "What it cost, in tokens", "counted at 4 bytes each" if self._scripted else "as billed")
        rows: list[tuple[str, ...]] = [("", "requests", "prompt", "of it cached", "answers")]
        for role, name in ASKERS:
            spent = [one for one in self._record.exchanges() if one.request.role == role]
            bill = sum((one.usage for one in spent), Usage(0, 0, 0))
            figures = (len(spent), bill.fresh + bill.cached, bill.cached, bill.output)
            rows.append((name, *(f"{figure:,}" for figure in figures)))
        paper.table(rows, (22, 10, 12, 16, 12))
        for earlier, later in itertools.pairwise(self._seen):
            must(later.continues(earlier), f"request {later.index} changed what the agent had sent before")
        last = self._seen[-1]
        standing, before = blocks(last), blocks(self._seen[-2])
        size = sum(tokens(len(block.encode())) for block in standing)
        tools = tokens(last.tool_size("fold_"))
        paper.line()
        paper.note(
            f"In the agent's own prompt Foldstate takes {size} tokens for the state, sent {len(standing)} times in "
            f"{len(scene.TASKS)} runs, and {tools} for its two tools. Unchanged, the state isn't sent again: the last "
            f"run added {len(standing) - len(before)} blocks. What was sent before stayed as it was, byte for byte, so "
            "the prompt cache held."
        )


def _session_of(run: Run) -> str:
    for row in run.stdout.splitlines():
        said = msgspec.json.decode(row, type=_Line)
        if said.type == "session":
            return said.session
    raise StepFailed("the host named no session")


def _told(heard: list[Exchange], ledger: Ledger, number: int) -> str:
    asked = f"{len(heard)} requests to the model"
    if number:
        return f"{asked}; the first began with the state of the run before"
    kinds = Counter(event.channel for event in ledger.events)
    return f"{asked}; events: " + ", ".join(f"{count} {channel}" for channel, count in kinds.items())


def main() -> int:
    started = time.monotonic()
    shutil.rmtree(FOLDER, ignore_errors=True)
    key = os.environ.get(KEY, "")
    server: ScriptedModel | Recorder
    if key:
        upstream = os.environ.get("DEEPSEEK_BASE_URL", UPSTREAM)
        server, name = Recorder(upstream), "its own model"
    else:
        server, name = ScriptedModel(scene.SCRIPT), "a scripted model on this machine"
    try:
        with server:
            home = HostHome(FOLDER.resolve(), server.base_url, key or "none")
            scene.furnish(home.workspace)
            Demo(home, server.record, name, scripted=not key).tell()
    except (StepFailed, HostMissingError, NoLedger) as reason:
        paper.line()
        print(f"demo: {reason}", file=sys.stderr)
        return 1
    paper.line(f"{time.monotonic() - started:.1f} s in all.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
