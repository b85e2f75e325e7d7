"""Who answers a round, and what they are given for it."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from foldstate.kernel.view import RoundInput
from foldstate.sidecar.rounds.conversation import Conversation


class EditorFailed(Exception):
    """The editor gave no answer that could be judged; the message says why, for a person."""


class EditorGone(Exception):
    """The host ends, and its model with it: nobody's failure, and nobody is left to be told."""


class Attempt(Struct, frozen=True):
    """One asking. `number` counts from 1 within a round; `conversation` holds what was refused before.

    `max_tokens` and `timeout_s` bound a model's answer.
    """

    session: str
    batch_id: str
    number: int
    input: RoundInput
    conversation: Conversation
    max_tokens: int
    timeout_s: float


class Editor(Protocol):
    """Whoever answers a round, with a text that holds one JSON object.

    :raises EditorFailed: where no answer came.
    :raises EditorGone: where none can come any more.
    """

    async def complete(self, attempt: Attempt) -> str: ...
