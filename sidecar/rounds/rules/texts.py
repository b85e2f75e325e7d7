"""Texts for items: made of anybody's words, within the contract's limits, and cut where a reader would cut."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_UNSAYABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What section 1 of the contract refuses in a title, a summary and a quote."""
_JOINERS: Final = frozenset("\u200c\u200d")
_CUT: Final = "…"


def one_line(text: str) -> str:
    """The text with its white space, and whatever can't stand in an item, as single spaces."""
    return " ".join(_UNSAYABLE.sub(" ", text).split())


def cut(text: str, limit: int) -> str:
    """At most `limit` code points, with a mark where more followed: no word is parted, and no character."""
    if len(text) <= limit:
        return text
    end = limit - len(_CUT)
    while end > 0 and _inside_character(text, end):
        end -= 1
    start = end
    while start > 0 and _inside_word(text, start):
        start -= 1
    if start > end // 2:  # a single long word is parted rather than lost
        end = start
    return text[:end].rstrip(" ,;:，、；：") + _CUT


def sayable(text: str) -> str:
    """The beginning of a text up to the first character that no quote may have, without white space at its ends."""
    found = _UNSAYABLE.search(text)
    return (text if found is None else text[: found.start()]).strip()


def _inside_word(text: str, at: int) -> bool:
    return _of_word(text[at - 1]) and _of_word(text[at])


def _of_word(character: str) -> bool:
    """Whether it belongs to words that spaces part: all but white space and the East Asian scripts."""
    return not character.isspace() and unicodedata.east_asian_width(character) not in ("W", "F")


def _inside_character(text: str, at: int) -> bool:
    after = text[at]
    return (
        unicodedata.combining(after) > 0
        or unicodedata.category(after) in ("Mn", "Me", "Mc", "Sk")
        or after in _JOINERS
        or text[at - 1] in _JOINERS
    )
