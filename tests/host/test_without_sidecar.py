"""With a sidecar that hangs and with none at all, the host's run is what it is without the plugin."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.support.answers import Call, Reply, Scene, Script, play
from tests.support.block import blocks
from tests.support.editor import edit
from tests.support.host import HostHome, Run
from tests.support.model import ScriptedModel

TASK = "Look at one file."
WORDS = "It is missing."
READS = Call("read", {"file_path": "/nowhere/at-all.txt"})
ROUNDS = 5
NOISE_S = 0.35
"""Medians of five runs of the bare host lay up to 0.15 s apart on a busy machine with two cores."""


def runtime(home: HostHome) -> Path:
    return home.home / "foldstate" / "runtime.json"


def hang(home: HostHome) -> None:
    """A program that starts, says nothing, and neither the end of its stdin nor SIGTERM ends it."""
    ignores = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    how = {"interpreter": sys.executable, "args": ["-c", ignores], "version": "0"}
    runtime(home).write_bytes(msgspec.json.encode(how))


def remove(home: HostHome) -> None:
    runtime(home).unlink()


def break_(home: HostHome) -> None:
    """An interpreter that isn't there."""
    how = {"interpreter": str(home.folder / "no" / "python"), "args": [], "version": "0"}
    runtime(home).write_bytes(msgspec.json.encode(how))


@pytest.mark.parametrize("harm", [hang, remove, break_], ids=["that-hangs", "not-installed", "that-can-not-start"])
def test_the_hosts_run_is_what_it_is_without_the_plugin_with_a_sidecar(
    home: HostHome, bare: HostHome, model: ScriptedModel, harm: Callable[[HostHome], None]
) -> None:
    model.script = Script(main=play(Scene(TASK, (Reply("Looking.", (READS,)), Reply(WORDS)))), editor=edit)
    harm(home)
    runs: dict[str, list[Run]] = {"with": [], "without": []}
    for _ in range(ROUNDS):
        runs["without"].append(bare.run(TASK))
        runs["with"].append(home.run(TASK))

    assert {run.answer() for run in runs["with"]} == {WORDS}
    assert {run.stderr for run in runs["with"]} == {run.stderr for run in runs["without"]}
    assert [blocks(request) for request in model.record.requests("main") if blocks(request)] == []
    usual = statistics.median(run.seconds for run in runs["without"])
    measured = statistics.median(run.seconds for run in runs["with"])
    print(f"without the plugin {usual:.2f} s, with it {measured:.2f} s")
    assert measured < usual + NOISE_S
