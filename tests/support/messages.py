"""What the host sends to its model: one Messages request, decoded once, with the bytes it came as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Role: TypeAlias = Literal["title", "editor", "compaction", "child", "main"]
"""Who asks: the host naming a session, our editor, the host's summariser, a subagent, or the agent itself."""


class Text(Struct, frozen=True, tag="text"):
    text: str


class Thinking(Struct, frozen=True, tag="thinking"):
    thinking: str


class ToolUse(Struct, frozen=True, tag="tool_use"):
    id: str
    name: str
    input: Raw


class ToolResult(Struct, frozen=True, tag="tool_result"):
    tool_use_id: str
    content: str | tuple[Text, ...] = ()
    is_error: bool = False


class ToolAddition(Struct, frozen=True, tag="tool_addition"):
    """From here on a tool more: another profile took the session up."""


class ToolRemoval(Struct, frozen=True, tag="tool_removal"):
    """From here on a tool less."""


Block: TypeAlias = Text | Thinking | ToolUse | ToolResult | ToolAddition | ToolRemoval


class Message(Struct, frozen=True):
    role: Literal["user", "assistant", "system"]
    content: str | tuple[Block, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        if isinstance(self.content, str):
            return (self.content,)
        return tuple(block.text for block in self.content if isinstance(block, Text))


class Tool(Struct, frozen=True):
    name: str


class Body(Struct, frozen=True):
    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    system: str | tuple[Text, ...] = ""
    tools: tuple[Tool, ...] = ()
    stream: bool = False
    session_log: Raw = field(default=Raw(b"null"), name="dsh_session_log")


class Parts(Struct, frozen=True):
    """The same body as bytes: what a provider's prompt cache compares, in its order."""

    messages: tuple[Raw, ...]
    system: Raw = Raw(b"")
    tools: Raw = Raw(b"")


class Request(Struct, frozen=True):
    """One request in the order of arrival. `session` is the host's own header, null on calls that name none."""

    index: int
    role: Role
    session: str | None
    body: Body
    raw: bytes
    parts: tuple[bytes, ...]

    @property
    def system(self) -> str:
        return system_text(self.body)

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.body.tools)

    def tool_size(self, prefix: str) -> int:
        """The bytes that describe the tools whose names begin so."""
        if not self.body.tools:
            return 0
        each = msgspec.json.decode(self.parts[0], type=tuple[Raw, ...])
        return sum(
            len(bytes(raw)) for raw, tool in zip(each, self.body.tools, strict=True) if tool.name.startswith(prefix)
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.body.messages

    @property
    def user_texts(self) -> tuple[str, ...]:
        return tuple(text for message in self.messages if message.role == "user" for text in message.texts)

    def tool_results(self) -> Iterator[ToolResult]:
        for message in self.messages:
            if not isinstance(message.content, str):
                yield from (block for block in message.content if isinstance(block, ToolResult))

    def continues(self, earlier: Request) -> bool:
        """Whether everything that `earlier` sent stands at this request's head, byte for byte."""
        return self.parts[: len(earlier.parts)] == earlier.parts


def system_text(body: Body) -> str:
    if isinstance(body.system, str):
        return body.system
    return "\n".join(block.text for block in body.system)


def decode(raw: bytes) -> tuple[Body, tuple[bytes, ...]]:
    """The body, and its cacheable parts: tools, system, each message.

    :raises msgspec.DecodeError: it isn't a Messages request.
    """
    body = msgspec.json.decode(raw, type=Body)
    parts = msgspec.json.decode(raw, type=Parts)
    return body, (bytes(parts.tools), bytes(parts.system), *(bytes(message) for message in parts.messages))
