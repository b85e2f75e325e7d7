"""The editor that the host's own model is: one request over the wire an attempt."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from msgspec import Struct

from foldstate.sidecar.rounds.editor import Attempt, EditorFailed, EditorGone
from foldstate.sidecar.wire.errors import HostError, HostGone, HostTimeout
from foldstate.sidecar.wire.frames import EditorCompleteParams, EditorCompleteResult

R = TypeVar("R", bound=Struct)

GRACE_S: Final = 2.0
"""What the host gets beyond the model's own time to say that it ran out."""


class Asker(Protocol):
    """Asks the host over the wire."""

    async def request(self, method: str, params: Struct, result: type[R], timeout_s: float) -> R: ...


class HostEditor:
    """Asks the host's model, with nothing of the session but what the round shows."""

    def __init__(self, host: Asker) -> None:
        self._host = host

    async def complete(self, attempt: Attempt) -> str:
        """The model's answer as it came.

        :raises EditorFailed: where the host has no answer, or an empty one.
        :raises EditorGone: where the host ends.
        """
        request = EditorCompleteParams(
            session=attempt.session,
            batch_id=attempt.batch_id,
            attempt=attempt.number,
            system=attempt.conversation.system,
            messages=attempt.conversation.messages,
            max_tokens=attempt.max_tokens,
            timeout_s=attempt.timeout_s,
        )
        try:
            answer = await self._host.request(
                "editor/complete", request, EditorCompleteResult, request.timeout_s + GRACE_S
            )
        except HostError as error:
            raise EditorFailed(error.message) from None
        except HostTimeout:
            raise EditorFailed(f"the model gave no answer within {request.timeout_s:g} s") from None
        except HostGone:
            raise EditorGone from None
        if not answer.text.strip():
            raise EditorFailed(f"the model's answer was empty (finish: {answer.finish or 'not said'})")
        return answer.text
