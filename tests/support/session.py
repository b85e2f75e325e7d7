"""What the tests of sessions say over the wire again and again: a turn of the log, an editor that answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, cast

import anyio

from foldstate.kernel.values import Json
from tests.support.wire import Answer, Object, WireClient

BEGAN: Final = "2026-03-02T09:00:00.000Z"
BEGAN_MS: Final = 1772442000000
"""The same moment as the host's log tells it."""


def entry(seq: int, kind: str, data: Object, *, time: int | None = None) -> Object:
    """An entry of the host's log, a second after the one before."""
    return {"seq": seq, "time": BEGAN_MS + seq * 1000 if time is None else time, "type": kind, "data": data}


def said(seq: int, text: str) -> Object:
    """The user's words."""
    message = {
        "role": "user",
        "id": f"m-{seq}",
        "content": [{"type": "text", "text": text}],
        "source": {"kind": "user"},
    }
    return entry(seq, "user/message", cast(Object, message))


def answered(seq: int, text: str, turn: int = 1) -> Object:
    """The agent's words."""
    content: Json = [{"type": "text", "text": text}]
    message: Json = {"role": "assistant", "id": f"m-{seq}", "content": content, "source": {"kind": "model"}}
    return entry(seq, "assistant/message", {"turn": turn, "step": 1, "message": message})


def ended(seq: int, turn: int = 1) -> Object:
    return entry(seq, "turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def turn(first: int, asked: str, reply: str, number: int = 1) -> list[Json]:
    """A whole turn: its start, the user's words, the agent's, its end. Four entries from `first` on."""
    return [
        entry(first, "turn/start", {"turn": number}),
        said(first + 1, asked),
        answered(first + 2, reply, number),
        ended(first + 3, number),
    ]


async def send(client: WireClient, events: list[Json], *, session: str = "s", after: int = -1) -> Object:
    """Sends entries that follow `after` without a hole."""
    last = cast(int, cast(Object, events[-1])["seq"]) if events else after
    return await ask(client, "session/events", {"session": session, "after": after, "through": last, "events": events})


async def ask(client: WireClient, method: str, params: Object) -> Object:
    """A request whose result is an object."""
    return cast(Object, await client.request(method, params))


def rows(value: Json) -> list[Object]:
    """A list of objects out of a result."""
    return cast("list[Object]", value)


def at(seconds: float) -> str:
    """So many seconds after `BEGAN`."""
    whole, part = divmod(round(seconds * 1000), 1000)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"2026-03-02T{9 + hours:02d}:{minutes:02d}:{left:02d}.{part:03d}Z"


class Held:
    """Answers `editor/complete` only when the test lets it, with `take_all` or as `answer` says."""

    def __init__(self, answer: Callable[[Object], Json] | None = None) -> None:
        self.asked: list[Object] = []
        self.free = anyio.Event()
        self._answer = take_all if answer is None else answer

    @property
    def handlers(self) -> Mapping[str, Answer]:
        return {"editor/complete": self._complete}

    async def _complete(self, params: Object) -> Object:
        self.asked.append(params)
        await self.free.wait()
        return {"text": json.dumps(self._answer(round_of(params)))}


class Editor:
    """Answers `editor/complete` as a test scripts it, and keeps what it was asked.

    Each of `answers` is what one call gives: a text, or a function of the round's input. The last one stays.
    """

    def __init__(self, *answers: str | Callable[[Object], Json]) -> None:
        self.asked: list[Object] = []
        self._answers = list(answers)

    @property
    def handlers(self) -> Mapping[str, Answer]:
        return {"editor/complete": self._complete}

    async def _complete(self, params: Object) -> Object:
        self.asked.append(params)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if callable(answer):
            return {"text": json.dumps(answer(round_of(params)))}
        return {"text": answer}


def round_of(asked: Object) -> Object:
    """The round's input, read out of what the editor was told as a model would find it."""
    messages = rows(asked["messages"])
    text = cast(str, messages[0]["text"])
    return cast(Object, json.JSONDecoder().raw_decode(text[text.index("{") :])[0])


def take_all(given: Object) -> Json:
    """An answer that makes an item of each of the user's words and notes the rest as noise."""
    dispositions: list[Json] = []
    declarations: list[Json] = []
    for number, event in enumerate(rows(given["events"])):
        name, text = cast(str, event["id"]), cast(str, event["text"])
        if event["channel"] != "user":
            dispositions.append({"event": name, "disposition": "noise", "why": "Nothing in it lasts.", "related": []})
            continue
        item = f"ask-{len(rows(cast(Object, cast(Object, given['state'])['root'])['items'])) + number}"
        dispositions.append({"event": name, "disposition": "used", "why": "The user asked.", "related": [item]})
        declarations.append(
            {
                "id": item,
                "relation": "new",
                "title": text[:24],
                "weight": "normal",
                "kind": "in-progress",
                "sources": [{"channel": "user", "ref": f"event:{name}", "quote": text}],
            }
        )
    return {"dispositions": dispositions, "batch": {"declarations": declarations, "acknowledges": []}}
