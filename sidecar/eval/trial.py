"""One answer to one scenario: what the kernel says of it, and what the scenario does."""

from __future__ import annotations

from msgspec import Struct

from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted, Fault, Refused
from foldstate.sidecar.eval.expectations import misses
from foldstate.sidecar.eval.scenario import Answer
from foldstate.sidecar.eval.scene import Scene


class Trial(Struct, frozen=True):
    """`faults` of an answer that was refused, `missed` of one that was accepted; both empty for a good one."""

    faults: tuple[Fault, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.faults

    @property
    def good(self) -> bool:
        return not self.faults and not self.missed


def attempt(scene: Scene, output: Json) -> Trial:
    match scene.judge(output):
        case Refused(faults=faults):
            return Trial(faults=faults)
        case Accepted() as accepted:
            return Trial(missed=misses(scene.scenario.expect, scene.before, accepted))


def written(answer: Answer) -> Json:
    """A file's own answer as an editor would send it."""
    return {"dispositions": answer.dispositions, "batch": answer.batch}
