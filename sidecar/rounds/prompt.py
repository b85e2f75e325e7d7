"""What the editor reads: the system prompt, one round's input as quoted data, and the faults of a refused answer.

The system prompt is the same bytes for every round of a language, so that a provider's cache holds. Everything that
came from outside stands inside the marks of `round_text`, which no text can close.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final, assert_never

import msgspec

from foldstate.kernel.event import Event
from foldstate.kernel.evidence import shown
from foldstate.kernel.explain import explain
from foldstate.kernel.values import Language
from foldstate.kernel.verdict import Fault
from foldstate.kernel.view import RoundInput

OPENING: Final = "<foldstate-round>"
CLOSING: Final = "</foldstate-round>"

_ASK: Final = 'Answer with one JSON object: {"dispositions": [...], "batch": {...}}'
"""Stands after the data, where a long round's last words would otherwise be somebody else's."""


@cache
def system_prompt(language: Language) -> str:
    """The editor's instructions in one language, byte-constant for as long as the package is installed."""
    return files(__package__).joinpath("prompt", f"{language}.md").read_text(encoding="utf-8")


def round_text(given: RoundInput) -> str:
    """The round's input as one line of JSON between marks; the same input gives the same bytes.

    An event's text is cut for showing (R6 lets a quote stand in the text as shown); where in a log it came from isn't
    the editor's concern. JSON's own escape `<\\/` keeps a text from closing the marks and decodes to what was said.
    """
    document = msgspec.structs.replace(
        given,
        events=_quoted(given.events),
        deferred=None if given.deferred is None else _quoted(given.deferred),
    )
    data = msgspec.json.encode(document, order="deterministic").decode("utf-8").replace("</", "<\\/")
    return f"{OPENING}\n{data}\n{CLOSING}\n{_ASK}"


def retry_text(faults: tuple[Fault, ...], language: Language) -> str:
    """What is said after a refusal: each fault's sentence once, with its code and where it stands."""
    places: dict[tuple[str, str], list[str]] = {}
    for fault in faults:
        places.setdefault((fault.code, explain(fault, language)), []).append(fault.path)
    lines = [f"- {code} · {', '.join(paths)}: {sentence}" for (code, sentence), paths in places.items()]
    match language:
        case "zh":
            head = "上一个答案被拒绝，什么都没有写入："
            ask = "逐条改正，重新输出整个 JSON 对象，dispositions 与 batch 都要完整。"
        case "en":
            head = "The last answer was refused; nothing was written:"
            ask = "Mend each one and send the whole JSON object again, dispositions and batch complete."
        case _:
            assert_never(language)
    return "\n".join((head, *lines, ask))


def _quoted(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(msgspec.structs.replace(event, text=shown(event.text), origin=None) for event in events)
