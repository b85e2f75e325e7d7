"""A server on 127.0.0.1 that speaks the chat completions protocol: it gives its answers one by one, then the last."""

from __future__ import annotations

from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler

import msgspec
from msgspec import Struct

from tests.support.server import LocalServer


class ChatMessage(Struct, frozen=True):
    role: str
    content: str


class ChatRequest(Struct, frozen=True):
    model: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int


class ChatModel(LocalServer):
    """`heard` are the requests, in order."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.heard: list[ChatRequest] = []
        self._answers = [*answers]
        super().__init__(_handler(self))

    def answer(self, raw: bytes) -> str:
        self.heard.append(msgspec.json.decode(raw, type=ChatRequest))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def _handler(model: ChatModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what was heard is kept."""

        def do_POST(self) -> None:
            text = model.answer(self.rfile.read(int(self.headers.get("content-length") or 0)))
            message = {"role": "assistant", "content": text}
            body = msgspec.json.encode(
                {
                    "id": "chat-1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "scripted",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                }
            )
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
