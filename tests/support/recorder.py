"""A recorder between the host and a real model: passes everything through, keeps what was asked and what it cost."""

from __future__ import annotations

import http.client
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tests.support.prompt_cache import Usage
from tests.support.record import SESSION_HEADER, Exchange
from tests.support.server import LocalServer

ANSWER_S = 300.0
"""How long a real model may take over one answer."""
HOP = frozenset({"host", "connection", "content-length", "accept-encoding", "transfer-encoding", "keep-alive"})
"""Headers that belong to one connection and not to what is said over it."""


class _Billed(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Head(Struct, frozen=True):
    usage: _Billed | None = None


class _Event(Struct, frozen=True):
    message: _Head | None = None
    usage: _Billed | None = None


def billed(stream: Iterable[bytes]) -> Usage:
    """What the events of one answer say that it cost; of figures told twice the last."""
    fresh = cached = output = 0
    for line in stream:
        if not line.startswith(b"data:"):
            continue
        try:
            event = msgspec.json.decode(line[5:], type=_Event)
        except msgspec.DecodeError:
            continue  # an event of another shape carries no bill
        for bill in (event.message.usage if event.message else None, event.usage):
            if bill is not None:
                fresh = fresh if bill.input_tokens is None else bill.input_tokens
                cached = cached if bill.cache_read_input_tokens is None else bill.cache_read_input_tokens
                output = output if bill.output_tokens is None else bill.output_tokens
    return Usage(fresh, cached, output)


class Recorder(LocalServer):
    """`with Recorder(upstream) as recorder:` the host is given `recorder.base_url`."""

    def __init__(self, upstream: str) -> None:
        super().__init__(_handler(self, upstream.rstrip("/")))


def _handler(recorder: Recorder, upstream: str) -> type[BaseHTTPRequestHandler]:
    target = urlsplit(upstream)
    connect = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what was heard is in the record."""

        def do_POST(self) -> None:
            self.close_connection = True
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            connection = connect(target.netloc, timeout=ANSWER_S)
            try:
                connection.request("POST", target.path + self.path, raw, headers)
                answer = connection.getresponse()
                lines = self._pass_on(answer)
            except (BrokenPipeError, ConnectionResetError):
                return  # the host left
            except (OSError, http.client.HTTPException) as error:
                self.send_error(502, f"the model at {target.netloc} can't be reached: {error}")
                return
            finally:
                connection.close()
            if answer.status == 200 and self.path.endswith("/messages"):
                request = recorder.record.arrive(self.headers.get(SESSION_HEADER), raw)
                recorder.record.add(Exchange(request, billed(lines)))

        def _pass_on(self, answer: http.client.HTTPResponse) -> list[bytes]:
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("connection", "close")
            self.end_headers()
            lines = []
            for line in answer:
                lines.append(line)
                self.wfile.write(line)
                self.wfile.flush()
            return lines

    return Handler
