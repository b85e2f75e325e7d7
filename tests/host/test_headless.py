"""What a headless run did is in the state when it has ended, and before the next run's agent at once."""

from __future__ import annotations

from tests.support.answers import Call, Reply, Scene, Script, play, say
from tests.support.block import blocks
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.ledger import read_ledger, read_surface
from tests.support.model import ScriptedModel

READS = Call("read", {"file_path": "/nowhere/at-all.txt"})
TASK = "Find out why the nightly build is red."
LAST_WORDS = "The nightly build is red because its input file is missing."


def begun(home: HostHome, model: ScriptedModel) -> str:
    """A first run with a failed tool in it; the session's id."""
    model.script = Script(main=play(Scene(TASK, (Reply("Looking.", (READS,)), Reply(LAST_WORDS)))), editor=edit)
    home.run(TASK).answer()
    session = model.record.requests("main")[0].session
    assert session is not None
    return session


def test_a_headless_runs_own_events_are_in_its_state_when_it_has_exited(home: HostHome, model: ScriptedModel) -> None:
    session = begun(home, model)

    ledger = read_ledger(home, session)
    assert ledger.texts("user") == [TASK]
    assert ledger.texts("agent") == [LAST_WORDS]
    assert len(ledger.texts("tool")) == 1
    assert "at-all.txt" in ledger.texts("tool")[0]
    assert ledger.waiting == frozenset()
    assert ledger.revision >= 1
    assert read_surface(home, session).revision == ledger.revision


def test_the_state_that_show_prints_rests_on_the_users_own_words(home: HostHome, model: ScriptedModel) -> None:
    session = begun(home, model)
    shown = home.foldstate("show", session, "--json").answer()
    assert TASK in shown
    assert LAST_WORDS in shown


def test_the_first_turn_of_a_resumed_process_has_the_state_of_the_run_before(
    home: HostHome, model: ScriptedModel
) -> None:
    session = begun(home, model)
    expected = read_surface(home, session).text
    before = len(model.record.requests("main"))

    home.run("What did you find?", session).answer()

    first = model.record.requests("main", session)[before]
    assert blocks(first) == [expected]


def test_the_first_turn_has_its_state_when_the_sidecar_can_not_be_started(home: HostHome, model: ScriptedModel) -> None:
    session = begun(home, model)
    expected = read_surface(home, session).text
    (home.home / "foldstate" / "runtime.json").unlink()
    before = len(model.record.requests("main"))

    home.run("What did you find?", session).answer()

    assert blocks(model.record.requests("main", session)[before])[0].startswith(expected[:40])


def test_a_new_session_has_no_block_and_nothing_of_another_sessions_state(home: HostHome, model: ScriptedModel) -> None:
    first = begun(home, model)
    model.script = Script(main=say("Hello."), editor=edit)
    home.run("Something else altogether.").answer()

    newest = model.record.requests("main")[-1]
    assert newest.session != first
    assert blocks(newest) == []
    assert TASK not in " ".join(newest.user_texts)
