"""How faults are collected and told: every independent one, in the contract's order of kinds, at most 20 (B8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct

from foldstate.kernel.values import MAX_FAULTS, Code, Defect, Json
from foldstate.kernel.verdict import Fault, Refused


class Stage(IntEnum):
    """The kinds of faults in the order in which a refusal tells them (B8).

    A code doesn't fix its stage: `invalid_field` is a fault of shape, but D6 judges structure and D7 reasons with it.
    """

    SHAPE = 1
    DUPLICATE = 2
    IDENTITY = 3
    STRUCTURE = 4
    REASON = 5
    DISPOSITION = 6
    EVIDENCE = 7
    ACKNOWLEDGEMENT = 8
    STALE_BASE = 9
    LAYER_BUDGET = 10


class Finding(Struct, frozen=True):
    """A fault with the stage that found it."""

    stage: Stage
    fault: Fault


def finding(stage: Stage, code: Code, path: str, fields: Mapping[str, Json]) -> Finding:
    """One finding; texts that came from outside are echoed so that any channel can carry them."""
    return Finding(stage, Fault(code, path, {name: _echo(value) for name, value in fields.items()}))


def invalid_field(path: str, problem: Defect, fields: Mapping[str, Json], stage: Stage = Stage.SHAPE) -> Finding:
    """An `invalid_field`: `problem` says in one word what is wrong with it, for `explain` to put into a sentence."""
    return finding(stage, "invalid_field", path, {**fields, "problem": problem})


def refused(findings: list[Finding]) -> Refused:
    """The refusal that carries these findings in order, cut at 20."""
    return Refused(tuple(found.fault for found in sorted(findings, key=_order)[:MAX_FAULTS]))


def alone(code: Code, path: str, fields: Mapping[str, Json]) -> Refused:
    """A refusal by a fault that comes alone (`invalid_output`, `batch_conflict`)."""
    return Refused((Fault(code, path, fields),))


def member(path: str, name: str) -> str:
    """The path of an object's member, however the member was named."""
    return f"{path}.{echo(name)}" if path else echo(name)


_ECHO_LIMIT: Final = 80
_UNSAYABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def echo(text: str) -> str:
    """A name from outside as a fault may repeat it: bounded, and without characters that no channel carries."""
    shown = _UNSAYABLE.sub("\N{REPLACEMENT CHARACTER}", text[:_ECHO_LIMIT])
    return shown if len(text) <= _ECHO_LIMIT else shown + "…"


def _echo(value: Json) -> Json:
    return echo(value) if isinstance(value, str) else value


_NUMBER: Final = re.compile(r"(\d+)")


def _order(found: Finding) -> tuple[int, list[tuple[int, str]], str, str]:
    """By kind, then by path with its indexes as numbers; what is left is told apart by code and fields."""
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(found.fault.path)]
    return found.stage, parts, found.fault.code, str(sorted(found.fault.fields.items(), key=lambda field: field[0]))
