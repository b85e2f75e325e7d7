"""The frames as the bridge declares them against those of the sidecar: the same fields, throughout."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import NoneType
from typing import get_args

import msgspec
import pytest

from foldstate.sidecar.wire.frames import HOST_NOTIFICATIONS, HOST_REQUESTS, REQUESTS
from tests.support.node import node

ROOT = Path(__file__).parents[2]


class Member(msgspec.Struct, frozen=True):
    """A field as the bridge declares it; `shape` is null where the bridge does not look inside."""

    optional: bool
    shape: dict[str, Member] | None


class Frame(msgspec.Struct, frozen=True):
    params: dict[str, Member] | None
    result: dict[str, Member] | None


@pytest.fixture(scope="module")
def declared() -> dict[str, Frame]:
    reader = ROOT / "tests" / "bridge" / "support" / "frames.mjs"
    words = (node(), str(reader), str(ROOT / "bridge" / "frames.d.ts"))
    read = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return msgspec.json.decode(read.stdout, type=dict[str, Frame])


SENT = {**REQUESTS, **HOST_REQUESTS, **{method: (params, NoneType) for method, params in HOST_NOTIFICATIONS.items()}}
UNUSED = {
    "annotation/add",
    "batch/submit",
    "clock/set",
    "event/post",
    "history/list",
    "round/begin",
    "round/cancel",
    "round/submit",
    "shutdown",
    "state/changed",
    "state/get",
    "surface/get",
}
"""What other programs send or read and this bridge does not; the bridge ends the sidecar by ending its input."""


def test_every_method_is_declared_by_the_bridge_or_known_to_be_for_others(declared: dict[str, Frame]) -> None:
    assert set(declared) == set(SENT) - UNUSED
    assert set(SENT) >= UNUSED


@pytest.mark.parametrize("method", sorted(set(SENT) - UNUSED))
def test_both_sides_have_the_same_fields_of(method: str, declared: dict[str, Frame]) -> None:
    params, result = SENT[method]
    assert differences(declared[method].params, params, f"{method} params") == []
    assert differences(declared[method].result, result, f"{method} result") == []


def test_a_field_that_only_one_side_has_is_a_difference() -> None:
    of_params = REQUESTS["session/events"][0]
    shape = {"session": Member(optional=False, shape=None), "extra": Member(optional=True, shape=None)}
    found = differences(shape, of_params, "session/events params")
    assert any("extra" in line and "sidecar" in line for line in found)
    assert any("through" in line and "bridge" in line for line in found)


def differences(shape: dict[str, Member] | None, kind: object, where: str) -> list[str]:
    """What the two sides don't agree on. What the bridge has no shape for it passes on unread."""
    if shape is None:
        return []
    struct = struct_of(kind)
    if struct is None:
        return [f"{where}: the sidecar has no fields there"]
    found: list[str] = []
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    found += [f"{where}.{name}: not in the sidecar's type" for name in shape.keys() - fields.keys()]
    found += [f"{where}.{name}: not declared by the bridge" for name in fields.keys() - shape.keys()]
    for name in shape.keys() & fields.keys():
        if shape[name].optional and fields[name].required:
            found.append(f"{where}.{name}: optional for the bridge, required by the sidecar")
        found += differences(shape[name].shape, fields[name].type, f"{where}.{name}")
    return found


def struct_of(kind: object) -> type[msgspec.Struct] | None:
    """The struct that a type is, lists, or makes optional."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((found for one in get_args(kind) if (found := struct_of(one)) is not None), None)
