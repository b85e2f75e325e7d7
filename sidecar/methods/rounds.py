"""Methods by which an editor outside works: rounds begun and answered over the wire, and bare batches."""

from __future__ import annotations

from foldstate.kernel.explain import fault_view
from foldstate.kernel.values import Language
from foldstate.kernel.verdict import Accepted, Refused, Verdict
from foldstate.sidecar.desk.judging import begin_round, cancel_round, end_round, submit_batch, submit_round
from foldstate.sidecar.methods.access import writable
from foldstate.sidecar.rounds.conversation import Conversation
from foldstate.sidecar.sessions.registry import Registry
from foldstate.sidecar.wire.frames import (
    BatchAccepted,
    BatchAnswer,
    BatchRefused,
    BatchSubmitParams,
    RoundBeginParams,
    RoundBeginResult,
    RoundCancelParams,
    RoundFinishParams,
    RoundFinishResult,
    RoundPrompt,
    RoundSubmitParams,
)


class RoundMethods:
    """Owns nothing; works on the registry's sessions."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def begin(self, params: RoundBeginParams) -> RoundBeginResult:
        session = await writable(self._registry, params.session)
        begun = await session.actor.run(
            begin_round((params.reason,)), undo=lambda begun: end_round(begun.round.batch_id)
        )
        prompt = Conversation.begin(begun.input, session.language(session.desk))
        return RoundBeginResult(begun.input, RoundPrompt(prompt.system, prompt.messages[0].text))

    async def submit(self, params: RoundSubmitParams) -> BatchAnswer:
        session = await writable(self._registry, params.session)
        submitted = await session.actor.run(submit_round(params.batch_id, params.output.value))
        return answer(submitted.verdict, session.language(session.desk))

    async def finish(self, params: RoundFinishParams) -> RoundFinishResult:
        session = await writable(self._registry, params.session)
        return RoundFinishResult(await session.driver.finish(params.timeout_s))

    async def cancel(self, params: RoundCancelParams) -> None:
        session = await writable(self._registry, params.session)
        await session.actor.run(cancel_round(params.batch_id))

    async def submit_batch(self, params: BatchSubmitParams) -> BatchAnswer:
        session = await writable(self._registry, params.session)
        verdict = await session.actor.run(
            submit_batch(params.batch_id, params.now, params.batch.value, params.base_revision)
        )
        return answer(verdict, session.language(session.desk))


def answer(verdict: Verdict, language: Language) -> BatchAnswer:
    """The verdict as the wire tells it: a refusal is a result that an editor can mend, never an error."""
    match verdict:
        case Accepted(receipt=receipt):
            return BatchAccepted(receipt)
        case Refused(faults=faults):
            views = tuple(fault_view(fault, language) for fault in faults)
            return BatchRefused(error=views[0], errors=views)
