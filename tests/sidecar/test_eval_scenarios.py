"""The scenarios of judgement that come with the project, on the real kernel."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from foldstate.kernel.event import Event
from foldstate.kernel.values import Language
from foldstate.kernel.verdict import Accepted
from foldstate.sidecar.eval.asking import ask
from foldstate.sidecar.eval.checking import caught, outcome
from foldstate.sidecar.eval.scenario import Scenario, Told, read
from foldstate.sidecar.eval.scene import Scene, set_up
from foldstate.sidecar.eval.trial import attempt, written
from foldstate.sidecar.rounds.rules import edit
from foldstate.sidecar.rounds.rules.heads import ANSWERERS
from foldstate.sidecar.rounds.rules_editor import RulesEditor
from tests.sidecar.rules_making import Session

FILES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.json"))
SCENES = [set_up(read(path)) for path in FILES]

every = pytest.mark.parametrize("scene", SCENES, ids=[scene.scenario.id for scene in SCENES])


def test_the_scenarios_are_named_as_their_files_and_are_in_both_languages() -> None:
    assert [scene.scenario.id for scene in SCENES] == [path.stem for path in FILES]
    assert {scene.scenario.lang for scene in SCENES} == set(get_args(Language))
    assert len(SCENES) == 24


@every
def test_the_good_answer_is_accepted_and_meets_every_expectation(scene: Scene) -> None:
    trial = attempt(scene, written(scene.scenario.good))
    assert trial.good, outcome(trial)


@every
def test_each_bad_answer_is_caught_as_its_file_says(scene: Scene) -> None:
    assert scene.scenario.bad
    for bad in scene.scenario.bad:
        trial = attempt(scene, written(bad.answer))
        assert caught(bad, trial), f"{bad.why} ({bad.caught_by}): {outcome(trial)}"


@every
@pytest.mark.anyio
async def test_the_rules_answer_is_accepted_at_once(scene: Scene) -> None:
    asked = await ask(scene, RulesEditor())
    assert asked.first_try, asked.wrong


@every
def test_the_rules_surface_whatever_the_round_asks_of_the_user(scene: Scene) -> None:
    verdict = scene.judge(edit(scene.input, scene.scenario.lang))
    assert isinstance(verdict, Accepted)
    for event in asks(scene.scenario.events):
        items = verdict.state.items.values()
        cited = [item for item in items if any(one.ref == f"event:{event.id}" for one in item.sources)]
        assert [(item.status, item.kind) for item in cited] == [("active", "needs-you")]


@every
def test_the_rules_alone_live_through_the_whole_story_and_list_all_that_waits(scene: Scene) -> None:
    scenario = scene.scenario
    session = Session(scenario.lang)
    for seed in scenario.seed:
        session.round(*(plain(told) for told in seed.events), now=seed.now)
    session.round(*(plain(told) for told in scenario.events), now=scenario.now)
    waiting = [item for item in session.active() if item.kind == "needs-you"]
    assert sorted(one.ref for item in waiting for one in item.sources) == sorted(
        f"event:{event.id}" for event in unanswered(scenario)
    )


def test_some_scenarios_ask_something_of_the_user() -> None:
    assert sum(len(asks(scene.scenario.events)) for scene in SCENES) >= 3
    assert sum(len(unanswered(scene.scenario)) for scene in SCENES) >= 4


def asks(events: tuple[Told, ...]) -> list[Told]:
    return [one for one in events if one.channel in ("approval", "question") and one.speaker not in ANSWERERS]


ANSWERED = {("three-approvals-one-granted", "e-2")}
"""What a later event of the story answers, as a reader sees it."""


def unanswered(scenario: Scenario) -> list[Told]:
    told = (*(event for seed in scenario.seed for event in seed.events), *scenario.events)
    return [one for one in asks(told) if (scenario.id, one.id) not in ANSWERED]


def plain(told: Told) -> Event:
    """The event without what the host registered on items that the rules never made."""
    return Event(told.id, told.channel, told.speaker, told.at, told.text, told.feedback)
