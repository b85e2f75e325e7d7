"""From msgspec's one-line complaint to the path and the sentence of a -32602."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import inspect

from foldstate.sidecar.wire.errors import InvalidParams

_PLACE: Final = re.compile(r"^(?P<what>.*) - at `\$(?P<path>.*)`\Z", re.DOTALL)
_NAMED: Final = re.compile(r"^(?:Object (?:contains unknown|missing required) field )?`(?P<name>\w+)`")
_STEP: Final = re.compile(r"\.(?P<field>\w+)|\[(?:\d+|\.\.\.)\]")


def invalid_params(error: msgspec.ValidationError, params: type[msgspec.Struct], root: str) -> InvalidParams:
    """The fault with the path of the field itself: for a missing or an unknown one msgspec names only its object."""
    text = str(error)
    placed = _PLACE.match(text)
    what, path = (placed["what"], placed["path"]) if placed else (text, "")
    what += _allowed(params, path)
    if named := _NAMED.match(what):
        path += f".{named['name']}"
    return InvalidParams(what, path=f"{root}{path}")


def _allowed(params: type[msgspec.Struct], path: str) -> str:
    """What the field at `path` takes, where that is a closed set, and what is known of it besides."""
    at: inspect.Type = inspect.type_info(params)
    notes = ""
    for step in _STEP.finditer(path):
        at, notes = _bare(at)
        match at:
            case inspect.StructType(fields=fields):
                found = [one.type for one in fields if one.encode_name == step["field"]]
                if not found:
                    return ""
                at = found[0]
            case inspect.VarTupleType(item_type=inner) | inspect.DictType(value_type=inner):
                at = inner
            case _:
                return ""
    at, notes = _bare(at)
    if isinstance(at, inspect.LiteralType):
        notes = "; give " + " or ".join(f"`{value}`" for value in at.values) + notes
    return notes


def _bare(at: inspect.Type) -> tuple[inspect.Type, str]:
    """The type itself, without `null` and its description, and the description."""
    notes = ""
    while True:
        match at:
            case inspect.Metadata(type=inner, extra_json_schema=schema):
                notes += f" ({schema['description']})" if schema and "description" in schema else ""
                at = inner
            case inspect.UnionType(types=types):
                some = [one for one in types if not isinstance(one, inspect.NoneType)]
                if len(some) != 1:
                    return at, notes
                at = some[0]
            case _:
                return at, notes
