"""From a model's words to the one JSON object that they carry (the contract, section 4)."""

from __future__ import annotations

import json
import re
from typing import Final

from foldstate.kernel.values import Defect, Json
from foldstate.kernel.verdict import Fault


def read_answer(output: Json) -> dict[str, Json] | Fault:
    """The answer's object: as given, or the only one in a text, in a code fence and among words or not.

    Two objects, none, or one that breaks off is `invalid_output`; its `problem` says which.
    """
    if isinstance(output, dict):
        return output
    return _only_object(output) if isinstance(output, str) else _unreadable("no_object")


def _only_object(text: str) -> dict[str, Json] | Fault:
    found: list[dict[str, Json]] = []
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            return _unreadable("broken_json", {"position": opening.start()})
        found.append(value)
    if len(found) == 1:
        return found[0]
    return _unreadable("several_objects", {"count": len(found)}) if found else _unreadable("no_object")


def _not_json(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


_OPENING: Final = re.compile(r'\{\s*["}]')
"""A brace that opens an object rather than standing in somebody's sentence."""

_DECODER: Final = json.JSONDecoder(parse_constant=_not_json)


def _unreadable(problem: Defect, figures: dict[str, Json] | None = None) -> Fault:
    return Fault("invalid_output", "output", {"problem": problem, **(figures or {})})
