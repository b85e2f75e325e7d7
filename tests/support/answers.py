"""What a scripted model may answer, and small scripts made of such answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from tests.support.messages import Json, Request


class Call(Struct, frozen=True):
    """One tool call. The call's id is the server's."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


class Reply(Struct, frozen=True):
    """A whole answer, after `delay_s`: thinking, then text, then tool calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    delay_s: float = 0.0


class Failure(Struct, frozen=True):
    """An HTTP error instead of an answer."""

    status: int
    message: str = "scripted failure"


class Hang(Struct, frozen=True):
    """No answer at all: the connection stays open until the server closes or the client leaves, 60 s at most."""


Answer: TypeAlias = Reply | Failure | Hang
Responder: TypeAlias = Callable[[Request], Answer]


class Scene(Struct, frozen=True):
    """The steps that follow one thing the user says; the last step repeats."""

    words: str
    steps: tuple[Answer, ...]


def say(text: str) -> Responder:
    return lambda _request: Reply(text)


def play(*scenes: Scene, otherwise: Answer | None = None) -> Responder:
    """An agent's script: the scene whose words stand last in the request, at the step that as many answers follow.

    It remembers nothing, so that a process which was killed and resumed plays on from what its log still holds.
    """
    fallback = Reply("Understood.") if otherwise is None else otherwise

    def respond(request: Request) -> Answer:
        answered = 0
        for message in reversed(request.messages):
            if message.role == "assistant":
                answered += 1
                continue
            for scene in scenes:
                if any(scene.words in text for text in message.texts if not text.lstrip().startswith("<")):
                    return scene.steps[min(answered, len(scene.steps) - 1)]
        return fallback

    return respond


class Script(Struct, frozen=True):
    """One responder for each role that asks."""

    main: Responder
    editor: Responder
    child: Responder = say("Nothing more to report.")
    title: Responder = say("Scripted session")
    compaction: Responder = say("## Primary Request and Intent\n- (none)\n\n## Next Step\n- (none)")

    def answer(self, request: Request) -> Answer:
        responders: dict[str, Responder] = {
            "main": self.main,
            "editor": self.editor,
            "child": self.child,
            "title": self.title,
            "compaction": self.compaction,
        }
        return responders[request.role](request)
