"""`foldstate eval`: what it says of files that are wrong, of statements that are missed, and of models that it asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from foldstate.kernel.values import Json
from foldstate.sidecar.eval import models
from foldstate.sidecar.eval.asking import ask
from foldstate.sidecar.eval.models import NoModel, from_environment
from foldstate.sidecar.eval.scenario import Scenario, ScenarioError, Want, read
from foldstate.sidecar.eval.scene import set_up
from foldstate.sidecar.eval.trial import attempt, written
from tests.support.answers import Failure, Reply, Script, say
from tests.support.chat import ChatModel
from tests.support.messages import Request
from tests.support.model import ScriptedModel
from tests.support.release import PACKAGE

FOLDER = Path(__file__).parents[1] / "scenarios"
BILL = FOLDER / "power-bill-overdue.json"
Object = dict[str, Json]


def changed(folder: Path, name: str, **fields: Json) -> Path:
    """A copy of a scenario with some of its members replaced."""
    whole = msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=dict[str, Json])
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.encode({**whole, **fields}))
    return path


def foldstate(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    program = "import sys; sys.argv[0] = 'foldstate'; from foldstate.sidecar.cli import main; main()"
    whole = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE.parent), "LANG": "C.UTF-8", **(env or {})}
    return subprocess.run(
        (sys.executable, "-c", program, *words), cwd=cwd, env=whole, capture_output=True, text=True, timeout=120
    )


def test_check_says_that_every_answer_is_judged_as_its_file_says() -> None:
    run = foldstate("eval", "--check", cwd=FOLDER.parents[1])
    assert run.returncode == 0, run.stdout
    assert run.stdout.endswith("answers of 24 scenarios are judged as their files say\n")


def test_check_fails_with_the_scenarios_name_where_one_is_misjudged(tmp_path: Path) -> None:
    whole = msgspec.json.decode(BILL.read_bytes(), type=dict[str, Json])
    bad = msgspec.convert(whole["bad"], list[Object])
    changed(tmp_path, "power-bill-overdue", bad=[{**bad[0], "caught_by": "kernel:layer_budget"}])
    changed(tmp_path, "quiet-wednesday", good=bad[0]["answer"])
    run = foldstate("eval", "--check", str(tmp_path), cwd=tmp_path)
    assert run.returncode == 1
    assert "power-bill-overdue: bad answer 1" in run.stdout
    assert "quiet-wednesday: the good answer: refused for item_not_found" in run.stdout


def test_the_rules_are_measured_by_rule_with_what_went_wrong() -> None:
    run = foldstate("eval", "power-bill-overdue", "visa-slot-acknowledged", cwd=FOLDER.parents[1])
    assert run.returncode == 0, run.stderr
    rows = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines() if line}
    assert rows["all"] == ["2", "2", "2", "1"]
    assert rows["fb-ack"] == ["1", "1", "1", "0"]
    assert "visa-slot-acknowledged\n  e-4 is deferred, not used\n" in run.stdout


def test_a_scenario_that_isnt_there_or_isnt_one_is_told_in_a_sentence(tmp_path: Path) -> None:
    missing = foldstate("eval", "no-such", cwd=tmp_path)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith("foldstate: there is no scenario no-such")
    path = changed(tmp_path, "power-bill-overdue", lang="de")
    broken = foldstate("eval", str(path), cwd=tmp_path)
    assert broken.returncode == 1
    assert str(path) in broken.stderr and "$.lang" in broken.stderr


def test_a_model_that_nobody_named_is_told_in_a_sentence(tmp_path: Path) -> None:
    run = foldstate("eval", "--editor", "model", str(BILL), cwd=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("foldstate: no model to ask: set ANTHROPIC_API_KEY or OPENAI_API_KEY")


def test_a_client_that_isnt_installed_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda _name: None)
    with pytest.raises(NoModel, match=r"dsh-foldstate\[eval\]"):
        from_environment({"OPENAI_API_KEY": "k", "FOLDSTATE_MODEL": "m"})
    with pytest.raises(NoModel, match="FOLDSTATE_MODEL"):
        from_environment({"OPENAI_API_KEY": "k"})


def test_a_story_that_the_kernel_refuses_is_no_scenario(tmp_path: Path) -> None:
    whole = msgspec.json.decode(BILL.read_bytes(), type=dict[str, Json])
    seed = msgspec.convert(whole["seed"], list[Object])
    path = changed(tmp_path, "power-bill-overdue", seed=[{**seed[0], "dispositions": []}])
    with pytest.raises(ScenarioError, match="b-1 is refused: disposition_missing"):
        set_up(read(path))


@pytest.mark.parametrize(
    ("want", "missed"),
    [
        (Want(id="power-bill", kind=("done",)), "power-bill: power-bill is needs-you, not done"),
        (Want(id="power-bill", exists=False), "power-bill: power-bill is in the state"),
        (Want(id="no-such"), "no-such: there is no such item"),
        (Want(id="power-bill", updated=True), "power-bill: power-bill was not updated"),
        (Want(id="power-bill", due_at=None), "power-bill: due_at is 2026-10-15T23:59:00+08:00, not None"),
        (Want(id="power-bill", share=(6,)), "power-bill: power-bill has a share of 12"),
        (Want(id="power-bill", status=("withdrawn",)), "power-bill: power-bill is active"),
        (
            Want(about_event="e-1", title_has=("已缴",)),
            "about e-1: power-bill: '电费 186.40 元待缴' doesn't say '已缴'",
        ),
        (Want(about_event="e-1", text_lacks=("电费",)), None),
        (Want(id="power-bill", due_at="2026-10-15T15:59:00Z", stale_after="unchanged", updated=False), ""),
        (Want(about_event="e-9", exists=False), ""),
    ],
)
def test_a_statement_is_met_or_missed_by_what_the_state_holds(want: Want, missed: str | None) -> None:
    scenario = read(BILL)
    expect = msgspec.structs.replace(scenario.expect, items=(want,), result=("checked",))
    scene = set_up(msgspec.structs.replace(scenario, expect=expect))
    nothing: Json = {"dispositions": [], "batch": {"declarations": [], "acknowledges": []}}
    trial = attempt(scene, nothing)
    assert trial.accepted
    if missed is None:
        assert len(trial.missed) == 1
    else:
        assert trial.missed == ((missed,) if missed else ())


@pytest.mark.parametrize(
    "bad", [{}, {"id": "a", "about_event": "e"}, {"id": "a", "due_at": "soon"}, {"id": "a", "title_has": ["("]}]
)
def test_a_statement_that_means_nothing_is_refused(bad: Object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bad, Want)


def answer_of(scenario: Scenario) -> str:
    return msgspec.json.encode(written(scenario.good)).decode()


@pytest.mark.anyio
async def test_a_model_is_told_what_was_wrong_and_its_second_answer_counts_as_such() -> None:
    scenario = read(FOLDER / "lease-term-decided.json")
    refused = msgspec.json.encode(written(scenario.bad[-1].answer)).decode()
    answers = [refused, f"Here it is:\n```json\n{answer_of(scenario)}\n```"]

    def edit(request: Request) -> Reply:
        return Reply(answers[min(len(request.messages) // 2, 1)])

    with ScriptedModel(Script(main=say("?"), editor=edit)) as model:
        async with from_environment({"ANTHROPIC_BASE_URL": model.base_url, "FOLDSTATE_MODEL": "scripted"}) as editor:
            asked = await ask(set_up(scenario), editor)
        first, second = model.record.requests("editor")
    assert (asked.first_try, asked.accepted, asked.met) == (False, True, True)
    assert asked.wrong[0].startswith("try 1 was refused: disposition_missing at dispositions")
    assert second.continues(first)
    assert "disposition_missing" in second.user_texts[-1]
    assert first.body.model == "scripted"


@pytest.mark.anyio
async def test_three_refusals_are_the_last_and_a_failing_model_is_said() -> None:
    scene = set_up(read(BILL))
    with ScriptedModel(Script(main=say("?"), editor=say("I would rather not."))) as model:
        async with from_environment({"ANTHROPIC_BASE_URL": model.base_url, "FOLDSTATE_MODEL": "scripted"}) as editor:
            asked = await ask(scene, editor)
            assert len(model.record.requests("editor")) == 3
            assert (asked.accepted, len(asked.refusals)) == (False, 3)
            model.script = Script(main=say("?"), editor=lambda _request: Failure(400, "no such model"))
            failed = await ask(scene, editor)
    assert failed.failed is not None
    assert "no such model" in failed.failed
    assert failed.wrong == (f"no answer: {failed.failed}",)


@pytest.mark.anyio
async def test_a_model_of_the_other_protocol_is_asked_the_same() -> None:
    scenario = read(BILL)
    with ChatModel(["", "no object", answer_of(scenario)]) as model:
        address = f"{model.base_url}/v1"
        named = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "k", "FOLDSTATE_MODEL": "scripted"}
        async with from_environment(named) as editor:
            empty = await ask(set_up(scenario), editor)
            asked = await ask(set_up(scenario), editor)
        heard = model.heard
    assert empty.failed == "the model's answer was empty (it ended with stop)"
    assert (asked.met, len(asked.refusals)) == (True, 1)
    assert [[one.role for one in request.messages] for request in heard[1:]] == [
        ["system", "user"],
        ["system", "user", "assistant", "user"],
    ]
    assert heard[0].messages[0].content.startswith("Foldstate editor")


def test_the_command_asks_the_model_and_ends_with_1_where_none_answered(tmp_path: Path) -> None:
    scenario = read(BILL)
    with ChatModel([answer_of(scenario)]) as model:
        env = {"OPENAI_BASE_URL": f"{model.base_url}/v1", "FOLDSTATE_MODEL": "scripted"}
        run = foldstate("eval", "--editor", "model", str(BILL), cwd=tmp_path, env=env)
        assert run.returncode == 0, run.stderr
        assert run.stdout.splitlines()[-1].split() == ["all", "1", "1", "1", "1"]
    gone = foldstate("eval", "--editor", "model", str(BILL), cwd=tmp_path, env=env)
    assert gone.returncode == 1
    assert "  no answer: Connection error." in gone.stdout
