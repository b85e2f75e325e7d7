"""The sidecar's start in the real host: where it goes wrong the host goes on, and it comes back when it can."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.host.test_bridge_surface import patch
from tests.support.answers import Reply, Scene, Script, play
from tests.support.editor import edit
from tests.support.host import HostHome, Running, command
from tests.support.ledger import read_ledger, wait_until_heard
from tests.support.model import ScriptedModel
from tests.support.sdk import SdkHost
from tests.support.sidecars import sidecars, wait_for_sidecar

GREEDY = Path(__file__).with_name("plugin") / "greedy.js"
DESCRIPTORS = 400
TASK = "Say something."
WORDS = "Done."
ROUNDS = 4
BOUND_S = 2.0
"""The longest after its start that anyone waits for a sidecar."""
NOISE_S = 0.35
FIRST_WORD = b'{"jsonrpc":"2.0","method":"sidecar/starting","params":{"pid":1}}'
HANGS = f"""
import sys, time
sys.stdout.write("Content-Length: {len(FIRST_WORD)}\\r\\n\\r\\n" + {FIRST_WORD.decode()!r})
sys.stdout.flush()
time.sleep(600)
"""


def _runtime(home: HostHome) -> Path:
    return home.home / "foldstate" / "runtime.json"


def test_a_sidecar_that_hangs_after_its_first_word_slows_one_run_within_its_bound_and_no_other(
    home: HostHome, bare: HostHome, model: ScriptedModel
) -> None:
    installed = _runtime(home).read_bytes()
    how = {"interpreter": sys.executable, "args": ("-c", HANGS), "version": "0"}
    _runtime(home).write_bytes(msgspec.json.encode(how))

    first = home.run(TASK)
    usual, later = [], []
    for _ in range(ROUNDS):
        usual.append(bare.run(TASK).seconds)
        later.append(home.run(TASK).seconds)
    noise = max(NOISE_S, max(usual) - min(usual))
    print(f"without the plugin {min(usual):.2f} s, at first {first.seconds:.2f} s, then {min(later):.2f} s")
    assert first.answer() == WORDS
    assert first.seconds < max(usual) + BOUND_S + noise
    assert min(later) < min(usual) + noise

    note = home.home / "foldstate" / "start-failed"
    assert "2 s" in note.read_text()
    _runtime(home).write_bytes(installed)
    model.script = Script(main=lambda _request: Reply(WORDS, delay_s=3), editor=edit)
    home.run("And now?").answer()
    assert not note.exists(), "one that started is waited for again"
    session = model.record.requests("main")[-1].session
    assert session is not None
    assert read_ledger(home, session).waiting == frozenset()


def test_a_host_without_free_descriptors_goes_on_and_has_its_sidecar_again_once_there_are_some(
    home: HostHome, model: ScriptedModel
) -> None:
    """The sidecar ends just when the host can't open anything: starting it fails, and must not be the host's end."""
    back: list[int] = []
    victim = home.folder / "victim"

    def main(_request: object) -> Reply:
        killed = wait_for_sidecar(home)
        draft = victim.with_suffix(".part")
        draft.write_text(str(killed))
        draft.rename(victim)
        _wait_for(lambda: _failed_to_start(home), "a start failed")
        victim.unlink()
        back.append(wait_for_sidecar(home, other_than=(killed,)))
        return Reply(WORDS, delay_s=2)

    model.script = Script(main=main, editor=edit)
    words = ("/bin/sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", str(command("dsh")), "headless")
    patched = (*words, "--patch", str(patch(home.folder, GREEDY)), TASK)
    run = Running(patched, home.workspace, {**home.env, "FOLDSTATE_VICTIM": str(victim)}).finish()

    assert run.answer() == WORDS
    assert back
    session = model.record.requests("main")[0].session
    assert session is not None
    ledger = read_ledger(home, session)
    assert (ledger.texts("user"), ledger.texts("agent")) == ([TASK], [WORDS])


def test_in_a_live_session_a_sidecar_that_could_not_start_is_there_from_the_turn_on_that_finds_it_mended(
    home: HostHome, model: ScriptedModel
) -> None:
    second = Scene("Second.", (Reply("The second is done."),))
    model.script = Script(main=play(second, otherwise=Reply(WORDS)), editor=edit)
    installed = _runtime(home).read_bytes()
    _runtime(home).unlink()
    with SdkHost(home) as host:
        host.say("s-1", "First.")
        assert sidecars(home) == []
        _runtime(home).write_bytes(installed)
        host.say("s-1", "Second.")
        wait_for_sidecar(home)
        _wait_for(lambda: list((home.home / "foldstate" / "sessions").glob("*.surface.json")), "the session was opened")
        wait_until_heard(home, "s-1", "The second is done.")
    assert read_ledger(home, "s-1").texts("user") == ["First.", "Second."]


def _failed_to_start(home: HostHome) -> bool:
    """Whether the plugin says that it couldn't run the sidecar."""
    return any("can't be run" in path.read_text() for path in (home.home / "foldstate" / "status").glob("*.json"))


def _wait_for(holds: Callable[[], object], what: str, timeout_s: float = 15.0) -> None:
    """:raises TimeoutError: it didn't become true."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_s} s: {what}")
        time.sleep(0.02)
