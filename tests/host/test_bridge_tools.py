"""Our tools in the agent's hands: one that is asked too early waits, and none ever becomes a failure of the user's."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.answers import Call, Reply, Scene, Script, play, say
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.ledger import read_ledger
from tests.support.messages import Text, ToolResult
from tests.support.model import ScriptedModel

TASK = "Look up what is known."
WORDS = "Nothing is known of it."


def looking(tool: str, **arguments: str) -> Script:
    """An agent whose first step is a call of ours: the sidecar has hardly started then."""
    return Script(main=play(Scene(TASK, (Reply("", (Call(tool, arguments),)), Reply(WORDS)))), editor=edit)


def said(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "".join(block.text for block in result.content if isinstance(block, Text))


def only_result(model: ScriptedModel) -> ToolResult:
    (result,) = model.record.requests("main")[-1].tool_results()
    return result


@pytest.mark.parametrize(("tool", "argument"), [("fold_read", "id"), ("fold_evidence", "ref")])
def test_a_tool_asked_in_the_first_step_waits_for_the_sidecar_and_what_it_does_not_find_is_no_failure(
    home: HostHome, model: ScriptedModel, tool: str, argument: str
) -> None:
    model.script = looking(tool, **{argument: "event:nowhere" if argument == "ref" else "nowhere"})
    assert home.run(TASK).answer() == WORDS

    result = only_result(model)
    assert not result.is_error
    assert said(result).startswith("Foldstate has no answer: "), "the sidecar itself answered"
    session = model.record.requests("main")[0].session
    assert session is not None
    ledger = read_ledger(home, session)
    assert ledger.texts("user") == [TASK]
    assert ledger.texts("tool") == []


def test_a_tool_without_a_sidecar_says_so_and_never_becomes_an_event(home: HostHome, model: ScriptedModel) -> None:
    runtime = home.home / "foldstate" / "runtime.json"
    installed = runtime.read_bytes()
    runtime.unlink()
    model.script = looking("fold_read", id="nowhere")
    assert home.run(TASK).answer() == WORDS
    result = only_result(model)
    assert not result.is_error
    assert said(result).startswith("Foldstate is not available now")

    runtime.write_bytes(installed)
    session = model.record.requests("main")[0].session
    assert session is not None
    model.script = Script(main=say("Done."), editor=edit)
    home.run("Go on.", session).answer()
    ledger = read_ledger(home, session)
    assert ledger.texts("user") == [TASK, "Go on."]
    assert ledger.texts("tool") == []


def test_what_the_agent_reads_of_an_item_is_marked_as_data(home: HostHome, model: ScriptedModel) -> None:
    home.run("Keep an eye on the deployment.").answer()
    session = model.record.requests("main")[0].session
    assert session is not None
    shown = msgspec.json.decode(home.foldstate("show", session, "--json").answer(), type=Shown)
    model.script = looking("fold_read", id=shown.root.items[0].id)
    home.run(TASK, session).answer()

    result = only_result(model)
    assert not result.is_error
    assert said(result).startswith("<foldstate-data ")
    assert "Keep an eye on the deployment" in said(result)


class Item(msgspec.Struct, frozen=True):
    id: str


class Layer(msgspec.Struct, frozen=True):
    items: tuple[Item, ...]


class Shown(msgspec.Struct, frozen=True):
    root: Layer
