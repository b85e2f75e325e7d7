"""Editors that are models behind an address: through the Anthropic client or the OpenAI one, from the environment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from foldstate.sidecar.rounds.editor import Attempt, Editor, EditorFailed

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import MessageParam
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionMessageParam

MODEL: Final = "FOLDSTATE_MODEL"
_NO_KEY: Final = "none"
"""What a server without keys is sent; the clients refuse to send nothing."""


class NoModel(Exception):
    """No model can be asked; the message says what to set or install."""


def from_environment(environment: Mapping[str, str]) -> AbstractAsyncContextManager[Editor]:
    """The model that the environment names: Anthropic's protocol if its key or address is set, else OpenAI's.

    Its connections are closed with the block that it is entered in.

    :raises NoModel: where none is named, or its client isn't installed.
    """
    for prefix, library, connected in (("ANTHROPIC", "anthropic", _anthropic), ("OPENAI", "openai", _openai)):
        key, address = environment.get(f"{prefix}_API_KEY"), environment.get(f"{prefix}_BASE_URL")
        if not key and not address:
            continue
        model = environment.get(MODEL)
        if not model:
            raise NoModel(f"set {MODEL} to the name of the model to ask")
        if find_spec(library) is None:
            raise NoModel(f"asking a model needs the library {library}: pip install 'dsh-foldstate[eval]'")
        return connected(model, key or _NO_KEY, address or None)
    raise NoModel(
        "no model to ask: set ANTHROPIC_API_KEY or OPENAI_API_KEY (or the BASE_URL of a server that speaks either"
        f" protocol), and {MODEL}"
    )


@asynccontextmanager
async def _anthropic(model: str, key: str, address: str | None) -> AsyncIterator[Editor]:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(api_key=key, base_url=address) as client:
        yield AnthropicEditor(client, model)


@asynccontextmanager
async def _openai(model: str, key: str, address: str | None) -> AsyncIterator[Editor]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key=key, base_url=address) as client:
        yield OpenAIEditor(client, model)


class AnthropicEditor:
    """Asks by the Messages protocol, streaming, since an answer may take long."""

    def __init__(self, client: AsyncAnthropic, model: str) -> None:
        self._client = client
        self._model = model

    async def complete(self, attempt: Attempt) -> str:
        from anthropic import AnthropicError

        messages: list[MessageParam] = []
        for one in attempt.conversation.messages:
            if one.role == "user":
                messages.append({"role": "user", "content": one.text})
            else:
                messages.append({"role": "assistant", "content": one.text})
        try:
            async with self._client.messages.stream(
                model=self._model,
                max_tokens=attempt.max_tokens,
                system=attempt.conversation.system,
                messages=messages,
                timeout=attempt.timeout_s,
            ) as stream:
                message = await stream.get_final_message()
        except AnthropicError as error:
            raise EditorFailed(str(error)) from None
        return _words("".join(block.text for block in message.content if block.type == "text"), message.stop_reason)


class OpenAIEditor:
    """Asks by the chat completions protocol."""

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        self._client = client
        self._model = model

    async def complete(self, attempt: Attempt) -> str:
        from openai import OpenAIError

        messages: list[ChatCompletionMessageParam] = [{"role": "system", "content": attempt.conversation.system}]
        for one in attempt.conversation.messages:
            if one.role == "user":
                messages.append({"role": "user", "content": one.text})
            else:
                messages.append({"role": "assistant", "content": one.text})
        try:
            answer = await self._client.chat.completions.create(
                model=self._model, max_tokens=attempt.max_tokens, messages=messages, timeout=attempt.timeout_s
            )
        except OpenAIError as error:
            raise EditorFailed(str(error)) from None
        if not answer.choices:
            raise EditorFailed("the model gave no choice at all")
        choice = answer.choices[0]
        return _words(choice.message.content or "", choice.finish_reason)


def _words(text: str, ended: str | None) -> str:
    if not text.strip():
        raise EditorFailed(f"the model's answer was empty (it ended with {ended or 'nothing said'})")
    return text
