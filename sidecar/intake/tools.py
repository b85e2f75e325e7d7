"""Tool results that failed. A run of the same failure of one tool is one event that counts it.

A run ends when the tool's next result is another one, or with the turn; other tools' results between don't end it, so
an edit between two failing test runs makes no second event. The host reports a shell command that failed as an ordinary
result with markers in its last lines; all else that failed, was denied, timed out or was aborted has `isError`.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from foldstate.kernel.event import Origin
from foldstate.kernel.values import Json
from foldstate.sidecar.intake.reading import member, string, texts, whole
from foldstate.sidecar.intake.state import Failure, IntakeState, Turn
from foldstate.sidecar.intake.taken import Entry, Taken, Telling, entry_id, instant, taken, tell
from foldstate.sidecar.intake.words import keep

_SHELLS: Final = frozenset({"bash", "pwsh"})
_UNNAMED: Final = "tool"
_ANSWERED_KEPT: Final = 1024
_MARKER: Final = re.compile(r"\[(exit code|killed by signal|timed out after|stopped|sandbox)\b[^\n]*\]")
_DENIAL: Final = re.compile(
    r"Error: (?:the user rejected |approval for |\[sandbox: file access denied|[^\n]{0,200} requires approval\b)"
)
"""The host's words for a call that the user or a policy refused; most refusals have no code."""

_VERBS: Final = (
    (re.compile(r"TIMEOUT\Z"), "timed out"),
    (re.compile(r"DENIED\Z"), "was denied"),
    (re.compile(r"TOOL_ABORTED"), "was aborted"),
    (re.compile(r"TOOL_OUTCOME_UNKNOWN\Z|TOOL_NOT_STARTED\Z"), "was interrupted"),
)
"""What the host's error codes mean for the user. A code that isn't here has failed."""

_PASSING: Final = (
    re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE),
    re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE),
    re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"),
    re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"),
    re.compile(r"\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|seconds|minutes)\b"),
)
"""What differs between two tellings of the same failure without a meaning: ids, addresses, times of day, durations."""


def take_call(state: IntakeState, data: Json) -> IntakeState:
    turn = state.turn or Turn()
    call, tool = string(member(data, "callId")), string(member(data, "name"))
    return replace(state, turn=replace(turn, calls={**turn.calls, call: tool or _UNNAMED}))


def take_result(state: IntakeState, session: str, entry: Entry) -> Taken:
    message = member(entry.data, "message")
    call = string(member(message, "toolCallId")) or string(member(message, "source", "callId"))
    number = whole(member(entry.data, "turn"))
    turn = state.turn or Turn()
    # A compaction logs a shortened copy of an earlier result; it is no new fact.
    if call in turn.answered or (number is not None and state.ended is not None and number <= state.ended):
        return taken(state, skipped=("tool/result:copy",))
    tool = turn.calls.get(call, _UNNAMED)
    text = "\n".join(texts(member(message, "content")))
    failed = member(message, "isError") is True
    verb = _verb(string(member(entry.data, "error", "code")), text) if failed else _shell_verb(tool, text)
    running = next((one for one in turn.failures if one.tool == tool), None)
    key = None if verb is None else _key(verb, text)
    same = running is not None and running.key == key
    kept = tuple(one for one in turn.failures if one is not running)
    if verb is not None and key is not None:
        count = running.count + 1 if running is not None and same else 1
        head = f"{tool} {verb} ({count} times)" if count > 1 else f"{tool} {verb}"
        kept = (*kept, Failure(tool, key, verb, count, keep(f"{head}\n{text}"), entry.seq, entry.time))
    answered = (*turn.answered, call)[-_ANSWERED_KEPT:] if call else turn.answered
    calls = {one: name for one, name in turn.calls.items() if one != call}
    after = replace(state, turn=replace(turn, calls=calls, answered=answered, failures=kept))
    ended = () if running is None or same else (_telling(session, running),)
    return taken(after, ended, () if verb is not None else ("tool/result:success",))


def end_runs(session: str, turn: Turn) -> list[Telling]:
    """The runs that are open when the turn ends, in the order of their last entries."""
    return [_telling(session, one) for one in sorted(turn.failures, key=lambda one: one.seq)]


def _telling(session: str, failure: Failure) -> Telling:
    event_id = entry_id(session, failure.seq, failure.time, "tool/result")
    origin = Origin(session, failure.seq)
    return tell(event_id, "tool", failure.tool, instant(failure.time), failure.words, origin)


def _verb(code: str, text: str) -> str:
    if _DENIAL.match(text):
        return "was denied"
    return next((verb for pattern, verb in _VERBS if pattern.search(code)), "failed")


def _shell_verb(tool: str, text: str) -> str | None:
    """How a shell command failed, by the markers after its output; null where it did not."""
    if tool not in _SHELLS:
        return None
    marks: list[str] = []
    for line in reversed(text.split("\n")[1:]):
        found = _MARKER.fullmatch(line)
        if found is None:
            break
        marks.append(found[1])
    if not marks:
        return None
    if "sandbox" in marks:
        return "was denied"
    return "timed out" if "timed out after" in marks else "failed"


def _key(verb: str, text: str) -> str:
    for pattern in _PASSING:
        text = pattern.sub("~", text)
    return sha256(f"{verb}\n{' '.join(text.split())}".encode()).hexdigest()
