"""Entries of a host's log as the host writes them, and a driver that takes them as a session does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from foldstate.kernel.event import Event
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.fold import Entry, IntakeState, Settled, Started, Taken, fold, settled, started

SESSION = "session-one"
CHILD = "9ac69d76-e856-4ee3-8b49-6c0bac2ea33d"
T = 1_796_069_829_000
NOON = "2026-11-30T12:00:00Z"
DATA = Path(__file__).parent / "data"


def captured(name: str) -> list[Entry]:
    """Entries that a real host wrote."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Entry) for line in lines]


class Fold:
    """Takes entries and facts one by one, with the state written out and read back between any two."""

    def __init__(self) -> None:
        self.state = IntakeState()
        self.events: list[Event] = []
        self.skipped: Counter[str] = Counter()
        self.seen: set[tuple[int, int, str]] = set()
        self.last = -1

    def take(self, entries: Iterable[Entry]) -> Fold:
        for entry in entries:
            key = (entry.seq, entry.time, entry.type)
            if key not in self.seen:
                self.seen.add(key)
                self.keep(fold(self.state, SESSION, entry))
        return self

    def say(self, type_: str, data: Json, time: int | None = None) -> list[Event]:
        """One more entry; returns the events that it made."""
        self.last += 1
        before = len(self.events)
        self.take([Entry(self.last, T + self.last * 10 if time is None else time, type_, data)])
        return self.events[before:]

    def started(self, run: str | None, child: str = CHILD, label: str | None = None) -> Taken:
        return self.keep(started(self.state, SESSION, Started(child, NOON, run, label)))

    def settled(self, run: str | None, closing: str | None, stop: str = "completed", label: str | None = None) -> Taken:
        return self.keep(settled(self.state, SESSION, Settled(CHILD, NOON, stop, run, label, closing)))

    def notice(self, *closing: str, kind: str = "subagent-settled", child: str = CHILD) -> list[Event]:
        return self.say("user/message", notice(*closing, kind=kind, child=child))

    def keep(self, taken: Taken) -> Taken:
        self.state = msgspec.json.decode(msgspec.json.encode(taken.state), type=IntakeState)
        self.events.extend(taken.events)
        self.skipped.update(taken.skipped)
        return taken


def notice(*closing: str, kind: str = "subagent-settled", child: str = CHILD) -> Json:
    opening = f"Background subagent {child} finished and will do no further work unless you send it more."
    rest = ("Its closing message:", *closing) if closing else ("It left no closing message.",)
    return {
        "content": [{"type": "text", "text": one} for one in (opening, *rest)],
        "source": {"kind": kind, "form": "notice", "summary": opening, "senderSessionId": child},
        "role": "user",
        "id": "4537798c",
    }


def user(text: str, **source: Json) -> Json:
    return {
        "content": [{"type": "text", "text": text}],
        "source": {"kind": "user", **source},
        "role": "user",
        "id": "c08dc13d",
    }


def assistant(text: str, turn: int = 1) -> Json:
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    call: Json = {"type": "tool-call", "id": "call_0", "name": "bash", "arguments": "{}"}
    return {"turn": turn, "step": 1, "message": {"role": "assistant", "content": [*content, call], "id": "26222564"}}


def call(name: str, call_id: str, turn: int = 1) -> Json:
    return {"turn": turn, "step": 1, "callId": call_id, "name": name, "arguments": "{}"}


def result(
    call_id: str, text: str, *, is_error: bool = False, code: str | None = None, turn: int = 1
) -> dict[str, Json]:
    message: Json = {
        "role": "tool",
        "source": {"kind": "tool", "callId": call_id},
        "toolCallId": call_id,
        "content": [{"type": "text", "text": text}],
        "isError": is_error,
        "id": "2d95a742",
    }
    error: dict[str, Json] = {} if code is None else {"error": {"name": "AnError", "code": code}}
    return {"turn": turn, "step": 1, "message": message, **error}


def end(kind: str = "completed", turn: int = 1, **more: Json) -> Json:
    return {"turn": turn, "reason": {"kind": kind, **more}}
