"""A subagent is told nothing of our state and gets none of our tools; a fork starts with a state of its own."""

from __future__ import annotations

from tests.support.answers import Call, Reply, Scene, Script, play, say
from tests.support.block import blocks
from tests.support.driver import OpenHost
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.ledger import read_ledger
from tests.support.model import ScriptedModel

TASK = "Have the changelog read by somebody else."
DELEGATES = Call("subagent", {"description": "read the changelog", "prompt": "Read CHANGELOG.md and say what breaks."})
FOUND = "Two calls were renamed."
DELEGATING = Script(
    main=play(Scene(TASK, (Reply("Delegating.", (DELEGATES,)), Reply("Waiting."), Reply("It is read.")))),
    editor=edit,
    child=say(FOUND),
)


def test_a_childs_requests_carry_neither_our_block_nor_our_tools(
    home: HostHome, bare: HostHome, model: ScriptedModel
) -> None:
    model.script = DELEGATING
    bare.run(TASK).answer()
    plain = model.record.requests("child")
    home.run("Begin.").answer()
    session = model.record.requests("main")[-1].session
    home.run(TASK, session).answer()

    assert any(blocks(request) for request in model.record.requests("main", session)), "the parent has its block"
    children = model.record.requests("child")[len(plain) :]
    assert children
    for child in children:
        assert blocks(child) == []
        assert child.tools == plain[0].tools


def test_a_childs_settlement_is_its_parents_event_and_a_child_has_no_state(
    home: HostHome, model: ScriptedModel
) -> None:
    model.script = DELEGATING
    home.run(TASK).answer()
    session = model.record.requests("main")[0].session
    assert session is not None
    settled = [text for text in read_ledger(home, session).texts("subagent") if FOUND in text]
    assert len(settled) == 1
    assert len(list((home.home / "foldstate" / "sessions").glob("*.sqlite"))) == 1


def test_a_fork_starts_empty_and_without_its_parents_block(home: HostHome, model: ScriptedModel) -> None:
    home.run("Prepare the release of version 2.4.").answer()
    parent = model.record.requests("main")[0].session
    assert parent is not None
    with OpenHost(home, "web") as driver:
        driver.resume(parent)
        driver.prompt(parent, "Go on with the release.")
        assert blocks(model.record.requests("main", parent)[-1]), "the parent has its block"
        fork = driver.fork(parent)
        driver.prompt(fork, "Try another way here.")

    forked = model.record.requests("main", fork)
    assert forked
    for request in forked:
        assert blocks(request) == []
    ledger = read_ledger(home, fork)
    assert ledger.texts("user") == ["Try another way here."]
    assert [event for event in ledger.events if parent in event.text], "one event names the parent"
