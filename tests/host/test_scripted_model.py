"""The scripted model and the recorder are what the other host tests rest on."""

from __future__ import annotations

from tests.support.answers import Call, Failure, Reply, Scene, Script, play, say
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.model import ScriptedModel
from tests.support.prompt_cache import Usage
from tests.support.recorder import Recorder

TASK = "Count the files."
LONG = "All counted. " * 40
COUNTING = play(
    Scene(
        TASK,
        (
            Reply("Counting.", (Call("bash", {"command": "ls | wc -l", "description": "count"}),), thinking="Hm."),
            Reply(LONG),
        ),
    )
)


def test_the_host_takes_text_thinking_and_tool_calls_from_the_scripted_model(
    bare: HostHome, model: ScriptedModel
) -> None:
    model.script = Script(main=COUNTING, editor=edit)
    assert bare.run(TASK).answer() == LONG.strip()
    first, second = model.record.requests("main")
    assert second.continues(first)
    assert [result.is_error for result in second.tool_results()] == [False]
    assert {one.request.role for one in model.record.exchanges()} == {"title", "main"}


def test_what_stood_at_an_earlier_requests_head_is_billed_as_cached(bare: HostHome, model: ScriptedModel) -> None:
    model.script = Script(main=COUNTING, editor=edit)
    bare.run(TASK).answer()
    first, second = (one.usage for one in model.record.exchanges("main"))
    assert first.cached == 0
    assert second.cached > 0.9 * first.fresh


def test_a_failure_of_the_model_is_the_hosts_failure_and_no_silence(bare: HostHome, model: ScriptedModel) -> None:
    model.script = Script(main=lambda _request: Failure(400, "no such thing"), editor=edit)
    run = bare.run(TASK)
    assert run.code == 1
    assert "no such thing" in run.stderr


def test_the_recorder_passes_everything_through_and_keeps_the_bill(model: ScriptedModel, bare: HostHome) -> None:
    model.script = Script(main=COUNTING, editor=say("{}"))
    with Recorder(model.base_url) as recorder:
        through = HostHome(bare.folder, recorder.base_url)
        assert through.run(TASK).answer() == LONG.strip()
        assert [one.request.parts for one in recorder.record.exchanges("main")] == [
            one.request.parts for one in model.record.exchanges("main")
        ]
        spent = sum((one.usage for one in recorder.record.exchanges()), Usage(0, 0, 0))
        assert spent == sum((one.usage for one in model.record.exchanges()), Usage(0, 0, 0))
