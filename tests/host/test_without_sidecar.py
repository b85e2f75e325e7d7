"""With a sidecar that hangs and with none at all, the host's run is what it is without the plugin."""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec
import pytest
from msgspec import Struct

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
"""The least that is taken for noise; on a busy machine it is how far the bare host's own runs lie apart."""
HARMS = ("that hangs", "that isn't installed", "that can't start")


def _runtime(home: HostHome, interpreter: str, *args: str) -> None:
    how = {"interpreter": interpreter, "args": args, "version": "0"}
    (home.home / "foldstate" / "runtime.json").write_bytes(msgspec.json.encode(how))


def hang(home: HostHome) -> None:
    """A program that starts, says nothing, and neither the end of its stdin nor SIGTERM ends it."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    _runtime(home, sys.executable, "-c", deaf)


def remove(home: HostHome) -> None:
    (home.home / "foldstate" / "runtime.json").unlink()


def break_(home: HostHome) -> None:
    _runtime(home, str(home.folder / "no" / "python"))


class Measured(Struct, frozen=True):
    """Runs of the same task that took turns: the bare host's, and those of a home with each harm."""

    usual: list[Run]
    harmed: dict[str, list[Run]]
    shown: list[str]
    left: list[str]


@pytest.fixture(scope="module")
def measured(template: HostHome, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    script = Script(main=play(Scene(TASK, (Reply("Looking.", (READS,)), Reply(WORDS)))), editor=edit)
    with ScriptedModel(script) as model:
        folder = tmp_path_factory.mktemp("measured")
        bare = HostHome(folder / "without", model.base_url)
        harms: tuple[Callable[[HostHome], None], ...] = (hang, remove, break_)
        homes = {name: template.copy(folder / str(number), model.base_url) for number, name in enumerate(HARMS)}
        for harm, home in zip(harms, homes.values(), strict=True):
            harm(home)
        usual: list[Run] = []
        harmed: dict[str, list[Run]] = {name: [] for name in homes}
        turns = [(bare, usual), *((home, harmed[name]) for name, home in homes.items())]
        for _ in range(ROUNDS):
            for home, runs in turns:
                runs.append(home.run(TASK))
            turns = [*turns[1:], turns[0]]  # nobody always comes after the same one
        shown = [block for request in model.record.requests("main") for block in blocks(request)]
        left = [process.words for home in homes.values() for process in home.left()]
        return Measured(usual, harmed, shown, left)


@pytest.mark.parametrize("harm", HARMS)
def test_the_hosts_run_is_what_it_is_without_the_plugin_with_a_sidecar(measured: Measured, harm: str) -> None:
    runs = measured.harmed[harm]
    assert {run.answer() for run in runs} == {run.answer() for run in measured.usual} == {WORDS}
    assert {run.stderr for run in runs} == {run.stderr for run in measured.usual}
    usual = sorted(run.seconds for run in measured.usual)
    took = min(run.seconds for run in runs)
    noise = max(NOISE_S, usual[-1] - usual[0])
    print(f"without the plugin {usual[0]:.2f} s to {usual[-1]:.2f} s, with a sidecar {harm} {took:.2f} s")
    assert took < usual[0] + noise


def test_without_a_sidecar_no_state_is_made_up_and_nothing_is_left(measured: Measured) -> None:
    assert measured.shown == []
    assert measured.left == []
