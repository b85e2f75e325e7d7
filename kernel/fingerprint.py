"""Recognising the same content when it is sent again (B5).

Content is compared as parsed: the order of an object's members, the spacing of the JSON and how a number is written
(`6`, `6.0`, `6e0`) make no difference; a text does, a relation's spaces too.
"""

from __future__ import annotations

import json
from hashlib import sha256

from foldstate.kernel.values import Json


def fingerprint(content: Json) -> str:
    """The sha256 of the content in one canonical form, as hex.

    Empty for what nests too deep to be read: it is like nothing that was ever accepted.
    """
    try:
        written = json.dumps(_canonical(content), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except RecursionError:
        return ""
    return sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Json) -> Json:
    match value:
        case dict():
            return {name: _canonical(member) for name, member in value.items()}
        case list():
            return [_canonical(member) for member in value]
        case float():
            return int(value) if value.is_integer() else value
        case _:
            return value
