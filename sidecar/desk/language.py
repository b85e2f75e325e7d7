"""Which of the two languages a session is in, where nobody said: the one that its user writes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from foldstate.kernel.event import Event
from foldstate.kernel.values import Language

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z]+")


def written(text: str) -> Language:
    """Chinese where its characters are no fewer than the Latin words: names of files and tools are Latin in both."""
    han = len(_HAN.findall(text))
    return "zh" if han and han >= len(_WORD.findall(text)) else "en"


def heard(events: Iterable[Event]) -> Language | None:
    """The language of the first words of the user among the events; null where the user said nothing."""
    return next((written(event.text) for event in events if event.channel == "user"), None)
