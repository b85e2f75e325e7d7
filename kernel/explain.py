"""What to tell an editor about a fault: one sentence that says what to do next, in Chinese and in English (B9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from foldstate.kernel.values import Json, Language
from foldstate.kernel.verdict import Fault
from foldstate.kernel.words import PROBLEMS, SENTENCES


def explain(fault: Fault, language: Language) -> str:
    """The sentence for one fault."""
    problem = fault.fields.get("problem")
    sentence = next((told for defect, told in PROBLEMS.items() if defect == problem), SENTENCES[fault.code])
    match language:
        case "zh":
            return sentence.zh.format_map(_Figures(fault.fields, "、"))
        case "en":
            return sentence.en.format_map(_Figures(fault.fields, ", "))
        case _:
            assert_never(language)


class _Figures(dict[str, str]):
    """A fault's fields as words. One that it doesn't carry reads as a gap: an explanation must never fail."""

    def __init__(self, fields: Mapping[str, Json], comma: str) -> None:
        super().__init__({name: _word(value, comma) for name, value in fields.items()})

    def __missing__(self, name: str) -> str:
        return "–"


def _word(value: Json, comma: str) -> str:
    match value:
        case list():
            return comma.join(_word(one, comma) for one in value)
        case dict():
            return " ".join(_word(one, comma) for one in value.values())
        case _:
            return str(value)


def fault_view(fault: Fault, language: Language) -> dict[str, Json]:
    """A fault as the wire tells it: code, message and path with the code's own fields beside them."""
    return {**fault.fields, "code": fault.code, "message": explain(fault, language), "path": fault.path}
