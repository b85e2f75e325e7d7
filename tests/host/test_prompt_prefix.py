"""What the host's prompt cache rests on: an unchanged state sends nothing anew, a changed one is appended."""

from __future__ import annotations

import itertools

import msgspec

from tests.support.answers import Answer, Reply, Script, say
from tests.support.block import blocks
from tests.support.editor import Batch, Disposition, Output, read_round
from tests.support.host import HostHome
from tests.support.messages import Request
from tests.support.model import ScriptedModel


def unmoved(request: Request) -> Answer:
    """An editor for whom nothing matters: the state stays as it is."""
    noise = tuple(Disposition(event.id, "noise", "Nothing of the user's.") for event in read_round(request).events)
    return Reply(msgspec.json.encode(Output(noise, Batch((), ()))).decode())


def test_an_unchanged_state_sends_nothing_anew_and_the_prefix_stays_byte_for_byte(
    home: HostHome, model: ScriptedModel
) -> None:
    home.run("Keep an eye on the deployment.").answer()
    session = model.record.requests("main")[0].session
    model.script = Script(main=say("Still running."), editor=unmoved)
    for task in ("And now?", "And now again?", "And once more?"):
        home.run(task, session).answer()

    requests = model.record.requests("main", session)
    assert len(requests) == 4
    assert [len(blocks(request)) for request in requests] == [0, 1, 1, 1]
    for earlier, later in itertools.pairwise(requests):
        assert later.continues(earlier)


def test_a_changed_state_is_appended_and_the_prefix_stays_byte_for_byte(home: HostHome, model: ScriptedModel) -> None:
    home.run("Keep an eye on the deployment.").answer()
    session = model.record.requests("main")[0].session
    for task in ("Also watch the queue.", "And the disk, please."):
        home.run(task, session).answer()

    requests = model.record.requests("main", session)
    assert [len(blocks(request)) for request in requests] == [0, 1, 2]
    assert len(set(blocks(requests[-1]))) == 2
    for earlier, later in itertools.pairwise(requests):
        assert later.continues(earlier)
