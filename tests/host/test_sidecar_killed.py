"""The sidecar killed in the middle of a turn: the turn completes, it is back, no event is missing or doubled."""

from __future__ import annotations

import os
import signal
import time

from tests.support.answers import Answer, Call, Reply, Scene, Script, play
from tests.support.driver import final_log
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.ledger import read_ledger
from tests.support.messages import Request
from tests.support.model import ScriptedModel
from tests.support.oracle import facts
from tests.support.sidecars import sidecars, wait_for_sidecar, wait_for_store

TASK = "Look at three files."
WORDS = "All three are missing."
MOMENT_S = 4.0


def reads(number: int) -> Reply:
    return Reply(f"File {number}.", (Call("read", {"file_path": f"/nowhere/{number}.txt"}),))


def test_with_the_sidecar_killed_in_the_middle_of_a_turn_the_turn_completes_and_every_event_is_there_once(
    home: HostHome, model: ScriptedModel
) -> None:
    steps = play(Scene(TASK, (reads(1), reads(2), reads(3), Reply(WORDS))))
    killed: list[int] = []
    back: list[int] = []

    def main(request: Request) -> Answer:
        if len(request.messages) == 3:
            pid = wait_for_sidecar(home)
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        if len(request.messages) == 7:
            back.append(wait_for_sidecar(home, other_than=killed))
            wait_for_store(home, request.session or "")
        return steps(request)

    model.script = Script(main=main, editor=edit)
    run = home.run(TASK)

    assert run.answer() == WORDS
    assert killed and back and back[0] not in killed
    session = model.record.requests("main")[0].session
    assert session is not None
    ledger = read_ledger(home, session)
    said = facts(final_log(home, session))
    assert ledger.texts("user") == list(said.user) == [TASK]
    assert ledger.texts("agent") == [turn.words for turn in said.turns] == [WORDS]
    failures = "\n".join(ledger.texts("tool"))
    for number in (1, 2, 3):
        assert f"/nowhere/{number}.txt" in failures
    assert ledger.doubled() == []
    assert ledger.waiting == frozenset()


def test_a_sidecar_killed_again_and_again_leaves_the_hosts_run_whole(home: HostHome, model: ScriptedModel) -> None:
    steps = play(Scene(TASK, (reads(1), reads(2), reads(3), Reply(WORDS))))

    def main(request: Request) -> Answer:
        for process in sidecars(home):
            os.kill(process.pid, signal.SIGKILL)
        return steps(request)

    model.script = Script(main=main, editor=edit)
    assert home.run(TASK).answer() == WORDS


def test_a_sidecar_that_stops_answering_in_the_middle_of_a_turn_holds_the_host_for_a_moment_at_most(
    home: HostHome, model: ScriptedModel
) -> None:
    steps = play(Scene(TASK, (reads(1), reads(2), reads(3), Reply(WORDS))))
    answered: list[float] = []

    def main(request: Request) -> Answer:
        if len(request.messages) == 3:
            os.kill(wait_for_sidecar(home), signal.SIGSTOP)
        answered.append(time.monotonic())
        return steps(request)

    model.script = Script(main=main, editor=edit)
    running = home.start(TASK)
    assert running.finish().answer() == WORDS
    assert time.monotonic() - answered[-1] < MOMENT_S
    assert home.left(within_s=1.0) == []
