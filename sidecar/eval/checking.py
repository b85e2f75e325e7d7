"""Judging the judges: a scenario's own answers, each against what its file says becomes of it."""

from __future__ import annotations

from typing import Final

from foldstate.sidecar.eval.scenario import Bad
from foldstate.sidecar.eval.scene import Scene
from foldstate.sidecar.eval.trial import Trial, attempt, written

KERNEL: Final = "kernel:"
JUDGEMENT: Final = "judgement"


def misjudged(scene: Scene) -> tuple[str, ...]:
    """What became of an answer that its file doesn't say; empty if all is as it says."""
    good = attempt(scene, written(scene.scenario.good))
    found = [] if good.good else [f"the good answer: {outcome(good)}"]
    for number, bad in enumerate(scene.scenario.bad, 1):
        trial = attempt(scene, written(bad.answer))
        if not caught(bad, trial):
            found.append(f"bad answer {number} ({bad.why}) should be caught by {bad.caught_by}: {outcome(trial)}")
    return tuple(found)


def caught(bad: Bad, trial: Trial) -> bool:
    """Whether a bad answer was caught as its file says.

    `kernel:<code>`: refused, and that code is the refusal's `error`, the first in the contract's order of kinds (B8);
    others may follow it. `judgement`: the kernel accepts it, and the scenario's expectations don't.
    """
    if bad.caught_by == JUDGEMENT:
        return trial.accepted and bool(trial.missed)
    return not trial.accepted and f"{KERNEL}{trial.faults[0].code}" == bad.caught_by


def outcome(trial: Trial) -> str:
    if trial.faults:
        return "refused for " + ", ".join(f"{fault.code} at {fault.path}" for fault in trial.faults)
    return "accepted, but " + "; ".join(trial.missed) if trial.missed else "accepted, with every expectation met"
