"""A scripted model on 127.0.0.1 that speaks the Messages protocol as the host reads it: server-sent events.

It answers from what a request holds, records each one with its answer and its bill, and is bounded: an answer that
hangs lets go when the server closes, at the latest after `PATIENCE_S`.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler
from typing import Literal, assert_never

import msgspec

from tests.support.answers import Answer, Failure, Hang, Reply, Script
from tests.support.messages import Json, Request
from tests.support.prompt_cache import PromptCache, Usage
from tests.support.record import SESSION_HEADER, Exchange
from tests.support.server import PATIENCE_S, LocalServer

CHUNK = 80
"""Characters of text in one delta: a reply of any length comes in several."""

_Event = dict[str, Json]


class ScriptedModel(LocalServer):
    """`with ScriptedModel(script) as model: …`; the script may be replaced between runs."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._cache = PromptCache()
        self._billing = threading.Lock()
        super().__init__(_handler(self))

    def hear(self, session: str | None, raw: bytes) -> tuple[Request, Answer, Usage]:
        """Record one request and decide its answer.

        :raises msgspec.DecodeError: it isn't a Messages request.
        """
        request = self.record.arrive(session, raw)
        answer = self.script.answer(request)
        with self._billing:
            usage = self._cache.bill(request, _size(answer))
        self.record.add(Exchange(request, usage, answer))
        return request, answer, usage


def _size(answer: Answer) -> int:
    if not isinstance(answer, Reply):
        return 0
    calls = sum(len(call.name) + len(msgspec.json.encode(call.arguments)) for call in answer.calls)
    return len(answer.text.encode()) + len(answer.thinking.encode()) + calls


def events(request: Request, answer: Reply, usage: Usage) -> list[_Event]:
    """The stream of one answer, event by event."""
    stream: list[_Event] = []
    index = 0

    def block(kind: dict[str, Json], deltas: list[dict[str, Json]]) -> None:
        nonlocal index
        stream.append({"type": "content_block_start", "index": index, "content_block": kind})
        stream.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        stream.append({"type": "content_block_stop", "index": index})
        index += 1

    billed: dict[str, Json] = {
        "input_tokens": usage.fresh,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": 0,
    }
    head: dict[str, Json] = {"id": f"msg_{request.index}", "type": "message", "role": "assistant", "content": []}
    stream.append({"type": "message_start", "message": {**head, "model": request.body.model, "usage": billed}})
    if answer.thinking:
        block({"type": "thinking", "thinking": ""}, [{"type": "thinking_delta", "thinking": answer.thinking}])
    if answer.text:
        pieces = [answer.text[at : at + CHUNK] for at in range(0, len(answer.text), CHUNK)]
        block({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces])
    for number, call in enumerate(answer.calls):
        name: dict[str, Json] = {"type": "tool_use", "id": f"call_{request.index}_{number}", "name": call.name}
        arguments = msgspec.json.encode(call.arguments).decode()
        block({**name, "input": {}}, [{"type": "input_json_delta", "partial_json": arguments}])
    reason: Literal["tool_use", "end_turn"] = "tool_use" if answer.calls else "end_turn"
    stream.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": usage.output}})
    stream.append({"type": "message_stop"})
    return stream


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what was heard is in the record."""

        def do_POST(self) -> None:
            self.close_connection = True
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                request, answer, usage = model.hear(self.headers.get(SESSION_HEADER), raw)
            except msgspec.DecodeError as error:
                self._refuse(400, f"not a Messages request: {error}")
                return
            try:
                match answer:
                    case Reply():
                        if answer.delay_s and model.closing.wait(answer.delay_s):
                            return
                        self._stream(events(request, answer, usage))
                    case Failure():
                        self._refuse(answer.status, answer.message)
                    case Hang():
                        model.closing.wait(PATIENCE_S)
                    case _:
                        assert_never(answer)
            except (BrokenPipeError, ConnectionResetError):
                return  # the host was killed while it listened: the record has the request already

        def _refuse(self, status: int, message: str) -> None:
            body = msgspec.json.encode({"type": "error", "error": {"type": "api_error", "message": message}})
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, stream: list[_Event]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in stream:
                self.wfile.write(f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n")
                self.wfile.flush()

    return Handler
