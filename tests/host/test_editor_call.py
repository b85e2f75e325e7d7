"""The editor's call: our prompt, no tools, and no trace of it in the session."""

from __future__ import annotations

import msgspec

from foldstate.sidecar.rounds.prompt import system_prompt
from tests.support.answers import Call, Reply, Scene, Script, play
from tests.support.driver import final_log
from tests.support.editor import CLOSING, OPENING, edit
from tests.support.host import HostHome
from tests.support.model import ScriptedModel
from tests.support.record import EDITOR_MARK

READS = Call("read", {"file_path": "/nowhere/at-all.txt"})
TASK = "Read the file that isn't there."


def test_the_editors_call_has_our_prompt_and_no_tools_and_leaves_no_trace_in_the_sessions_log(
    home: HostHome, model: ScriptedModel
) -> None:
    model.script = Script(main=play(Scene(TASK, (Reply(calls=(READS,)), Reply("It can't be read.")))), editor=edit)
    home.run(TASK).answer()

    calls = model.record.requests("editor")
    assert calls, "the editor was never asked"
    for call in calls:
        assert call.system in (system_prompt("en"), system_prompt("zh"))
        assert call.tools == ()
        assert call.session is None
        assert bytes(call.body.session_log) == b"null"
        assert call.user_texts[0].startswith(OPENING)

    session = model.record.requests("main")[0].session
    assert session is not None
    log = final_log(home, session)
    said = msgspec.json.encode(log).decode()
    for mark in (EDITOR_MARK, OPENING, CLOSING, '\\"dispositions\\"'):
        assert mark not in said
    answers = [entry for entry in log.events if entry.type == "assistant/message"]
    assert len(answers) == len(model.record.requests("main"))
