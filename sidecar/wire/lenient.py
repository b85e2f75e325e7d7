"""JSON as its grammar has it, for what msgspec refuses to read though it is JSON.

Those are escaped lone surrogates and numbers beyond a float's or an integer's range. Inside `Opaque` content they reach
the kernel, whose fault they are; elsewhere a lone surrogate becomes U+FFFD, as in every UTF-8 encoder with replacement.
"""

from __future__ import annotations

import json
import re
from typing import Final

from foldstate.kernel.values import Json
from foldstate.sidecar.wire.errors import ParseError

MAX_DIGITS: Final = 4000
"""Integers of more digits are read as infinite: Python refuses to convert them, and nothing here takes them."""

_LONE: Final = re.compile("[\ud800-\udfff]")


def loads(body: bytes) -> Json:
    """Raises `ParseError` for invalid UTF-8, for what is no JSON, and for nesting deeper than the interpreter reads."""
    try:
        value: Json = json.loads(body.decode("utf-8"), parse_int=_integer, parse_constant=_no_constant)
    except RecursionError:
        raise ParseError("the JSON is nested too deep") from None
    except ValueError as error:
        raise ParseError(f"this is no JSON in UTF-8: {error}") from None
    return value


def mended(value: Json) -> Json:
    """The value with each lone surrogate replaced, so that every text of it can be stored and sent."""
    match value:
        case str():
            return _LONE.sub("�", value)
        case list():
            return [mended(one) for one in value]
        case dict():
            return {_LONE.sub("�", name): mended(one) for name, one in value.items()}
        case _:
            return value


def depth_within(value: Json, limit: int) -> bool:
    """Whether lists and objects are nested at most `limit` deep. Itself not recursive."""
    layer = [value]
    for _ in range(limit):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return True
    return not any(isinstance(one, dict | list) for one in layer)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MAX_DIGITS else float("-inf" if digits.startswith("-") else "inf")


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")
