"""B5: a content has one digest, which stays what it was recorded as, also after an upgrade."""

from __future__ import annotations

from hashlib import sha256

import pytest

from foldstate.kernel.fingerprint import fingerprint
from foldstate.kernel.values import Json


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ({"b": {"c": "签"}, "a": [1, 2.5, 6.0, 6e0, None, True]}, '{"a":[1,2.5,6,6,null,true],"b":{"c":"签"}}'),
        (["a", ["b", {"d": -3.0}]], '["a",["b",{"d":-3}]]'),
        ("\ud800", '"\ud800"'),
    ],
)
def test_b5_the_digest_is_that_of_one_canonical_form(content: Json, written: str) -> None:
    assert fingerprint(content) == sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def test_b5_what_nests_without_end_is_like_nothing_that_was_accepted() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    assert fingerprint(deep) == ""
