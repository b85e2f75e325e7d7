"""What was said to the editor in one round: the round itself, its refused answers, and what was wrong with them."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel.values import Language
from foldstate.kernel.verdict import Fault
from foldstate.kernel.view import RoundInput
from foldstate.sidecar.rounds.prompt import retry_text, round_text, system_prompt
from foldstate.sidecar.wire.frames import EditorMessage


class Conversation(Struct, frozen=True):
    """Grows at its end only, so that the provider's cache of what was sent before holds."""

    language: Language
    system: str
    messages: tuple[EditorMessage, ...]

    @classmethod
    def begin(cls, given: RoundInput, language: Language) -> Conversation:
        text = round_text(given)
        return cls(language, system_prompt(language), (EditorMessage(role="user", text=text),))

    def refused(self, answer: str, faults: tuple[Fault, ...]) -> Conversation:
        """The same with the refused answer and what has to be mended."""
        more = (
            EditorMessage(role="assistant", text=answer),
            EditorMessage(role="user", text=retry_text(faults, self.language)),
        )
        return replace(self, messages=self.messages + more)
