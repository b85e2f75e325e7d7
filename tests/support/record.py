"""What a model on this machine heard, in order: each request with who asked, what it was answered and what it cost."""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec import Struct

from tests.support.answers import Answer
from tests.support.messages import Body, Request, Role, decode, system_text
from tests.support.prompt_cache import Usage

SESSION_HEADER = "x-deepseek-harness-session-id"
TITLE_MARK = "Create a concise title for an AI coding-assistant session"
SUMMARY_MARK = "You are now acting as a compaction engine"
EDITOR_MARK = "Foldstate editor"
CHILD_MARK = 'Your parent agent id is "'


class Exchange(Struct, frozen=True):
    """`answer` is null where somebody else gave it."""

    request: Request
    usage: Usage
    answer: Answer | None = None


def role_of(body: Body) -> Role:
    """Who asks, by the words that each of them begins with."""
    system = system_text(body)
    if system.startswith(TITLE_MARK):
        return "title"
    if system.startswith(EDITOR_MARK):
        return "editor"
    if body.messages and any(text.startswith(SUMMARY_MARK) for text in body.messages[-1].texts):
        return "compaction"
    told = (text for message in body.messages if message.role == "user" for text in message.texts)
    return "child" if any(text.startswith(CHILD_MARK) for text in told) else "main"


class Record:
    """Safe to write and to read from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._exchanges: list[Exchange] = []
        self._count = 0

    def arrive(self, session: str | None, raw: bytes) -> Request:
        """Number one request in the order of arrival.

        :raises msgspec.DecodeError: it isn't a Messages request.
        """
        body, parts = decode(raw)
        with self._changed:
            self._count += 1
            return Request(self._count - 1, role_of(body), session, body, raw, parts)

    def add(self, exchange: Exchange) -> None:
        with self._changed:
            self._exchanges.append(exchange)
            self._exchanges.sort(key=lambda one: one.request.index)
            self._changed.notify_all()

    def exchanges(self, role: Role | None = None, session: str | None = None) -> list[Exchange]:
        """What was heard so far; of one role, of one session."""
        with self._changed:
            return [
                exchange
                for exchange in self._exchanges
                if role in (None, exchange.request.role) and session in (None, exchange.request.session)
            ]

    def requests(self, role: Role | None = None, session: str | None = None) -> list[Request]:
        return [exchange.request for exchange in self.exchanges(role, session)]

    def wait_for(self, enough: Callable[[list[Request]], bool], timeout_s: float = 20.0) -> None:
        """Wait until what was heard is enough.

        :raises TimeoutError: it never was; the message names who was heard.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: enough([one.request for one in self._exchanges]), timeout_s):
                roles = [exchange.request.role for exchange in self._exchanges]
                raise TimeoutError(f"the model waited {timeout_s} s and heard only {roles}")
