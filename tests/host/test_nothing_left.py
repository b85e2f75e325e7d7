"""However a host ends, none of its processes is left."""

from __future__ import annotations

import signal
import time

import pytest

from tests.support.answers import Hang, Script
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.model import ScriptedModel
from tests.support.sidecars import wait_for_sidecar

ENDINGS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]


def test_nothing_is_left_after_a_normal_end(home: HostHome) -> None:
    home.run("Say something.").answer()
    assert home.left(within_s=1.0) == []


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_nothing_is_left_after_an_end_in_the_middle_of_a_turn_by(
    home: HostHome, model: ScriptedModel, ending: signal.Signals
) -> None:
    model.script = Script(main=lambda _request: Hang(), editor=edit)
    running = home.start("Think for ever.")
    model.record.wait_for(lambda requests: any(request.role == "main" for request in requests))
    wait_for_sidecar(home)
    running.end(ending)
    assert home.left() == []


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_nothing_is_left_after_an_end_during_start_up_by(home: HostHome, ending: signal.Signals) -> None:
    running = home.start("Say something.")
    wait_for_sidecar(home)
    running.end(ending)
    assert home.left() == []


@pytest.mark.parametrize("instant_s", [0.05, 0.25, 0.45, 0.65])
def test_nothing_is_left_after_a_kill_so_many_seconds_into_the_start(home: HostHome, instant_s: float) -> None:
    running = home.start("Say something.")
    time.sleep(instant_s)
    running.end(signal.SIGKILL)
    assert home.left() == []
