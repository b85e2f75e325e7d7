"""The editor that needs no model: the rules' answer, given in the same way as anybody's and judged like it."""

from __future__ import annotations

import msgspec

from foldstate.sidecar.rounds.editor import Attempt
from foldstate.sidecar.rounds.rules import edit


class RulesEditor:
    """Answers at once, and the same each time it is asked."""

    async def complete(self, attempt: Attempt) -> str:
        return msgspec.json.encode(edit(attempt.input, attempt.conversation.language)).decode("utf-8")
