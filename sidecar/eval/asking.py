"""Asking an editor for a scenario's answer as a session's rounds do: what is refused goes back to it, twice at most."""

from __future__ import annotations

from msgspec import Struct

from foldstate.kernel.explain import explain
from foldstate.sidecar.eval.scene import Scene
from foldstate.sidecar.eval.trial import Trial, attempt
from foldstate.sidecar.rounds.conversation import Conversation
from foldstate.sidecar.rounds.driver import RETRIES
from foldstate.sidecar.rounds.editor import Attempt, Editor, EditorFailed
from foldstate.sidecar.wire.frames import Config


class Asked(Struct, frozen=True):
    """What came of one scenario. `trial` is the last answer's, null where the editor `failed` to give one.

    `refusals` has a sentence for each answer that was refused.
    """

    scenario: str
    rules: tuple[str, ...]
    trial: Trial | None
    refusals: tuple[str, ...] = ()
    failed: str | None = None

    @property
    def accepted(self) -> bool:
        return self.trial is not None and self.trial.accepted

    @property
    def first_try(self) -> bool:
        return self.accepted and not self.refusals

    @property
    def met(self) -> bool:
        return self.trial is not None and self.trial.good

    @property
    def wrong(self) -> tuple[str, ...]:
        """All that went wrong, in order."""
        missed = () if self.trial is None else self.trial.missed
        return (*self.refusals, *([] if self.failed is None else [f"no answer: {self.failed}"]), *missed)


async def ask(scene: Scene, editor: Editor) -> Asked:
    scenario = scene.scenario
    limits = Config()
    conversation = Conversation.begin(scene.input, scenario.lang)
    refusals: list[str] = []
    trial: Trial | None = None
    for number in range(1, RETRIES + 2):
        try:
            text = await editor.complete(
                Attempt(
                    session=scenario.id,
                    batch_id=scene.round.batch_id,
                    number=number,
                    input=scene.input,
                    conversation=conversation,
                    max_tokens=limits.editor_max_tokens,
                    timeout_s=limits.editor_timeout_s,
                )
            )
        except EditorFailed as failure:
            return Asked(scenario.id, scenario.rules, None, tuple(refusals), str(failure))
        trial = attempt(scene, text)
        if trial.accepted:
            break
        first = trial.faults[0]
        refusals.append(f"try {number} was refused: {first.code} at {first.path}: {explain(first, scenario.lang)}")
        conversation = conversation.refused(text, trial.faults)
    return Asked(scenario.id, scenario.rules, trial, tuple(refusals))
