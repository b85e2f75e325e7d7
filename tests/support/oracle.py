"""What a session's log says must have become events: worked out from the log alone, without our own intake."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from tests.support.driver import Log


class _Source(Struct, frozen=True):
    kind: str = ""


class _Text(Struct, frozen=True):
    type: str
    text: str = ""


class _Said(Struct, frozen=True):
    """A `user/message`, or the message of an answer or of a tool's result."""

    content: tuple[_Text, ...] = ()
    source: _Source = _Source()
    is_error: bool = msgspec.field(default=False, name="isError")

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")


class _Held(Struct, frozen=True):
    message: _Said


class Turn(Struct, frozen=True):
    """A turn that has ended: when, in milliseconds, how, and the agent's last words in it, if any."""

    ended: int
    kind: str
    words: str


class _Reason(Struct, frozen=True):
    kind: str


class _End(Struct, frozen=True):
    reason: _Reason


class Facts(Struct, frozen=True):
    """In the log's order: the user's words, the texts of failed tools, the turns that have ended."""

    user: tuple[str, ...]
    tool: tuple[str, ...]
    turns: tuple[Turn, ...]


def facts(log: Log) -> Facts:
    user, tool, turns = [], [], []
    last = ""
    for entry in log.events:
        if entry.type == "user/message":
            said = msgspec.json.decode(entry.data, type=_Said)
            if said.source.kind == "user":
                user.append(said.text)
        elif entry.type == "tool/result":
            result = msgspec.json.decode(entry.data, type=_Held).message
            if result.is_error:
                tool.append(result.text)
        elif entry.type == "assistant/message":
            last = msgspec.json.decode(entry.data, type=_Held).message.text or last
        elif entry.type == "turn/start":
            last = ""
        elif entry.type == "turn/end":
            kind = msgspec.json.decode(entry.data, type=_End).reason.kind
            turns.append(Turn(entry.time, kind, last))
    return Facts(tuple(user), tuple(tool), tuple(turns))
