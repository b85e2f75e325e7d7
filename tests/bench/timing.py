"""Timing several pieces of work against each other, so that a slower moment of the machine meets them all."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter_ns
from typing import Final, TypeAlias

Work: TypeAlias = Callable[[], object]

TURNS: Final = 60
"""How often each piece of work gets its turn."""
TURN_NS: Final = 2_000_000
"""About how long a turn lasts: long against the clock's own grain."""


def medians(works: Mapping[str, Work]) -> dict[str, float]:
    """Microseconds that one call of each takes: the median of their turns, which go round in one order.

    The collector of cycles rests meanwhile, as it does in `timeit`.
    """
    calls = {name: _calls(work) for name, work in works.items()}
    turns: dict[str, list[float]] = {name: [] for name in works}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(TURNS):
            for name, work in works.items():
                turns[name].append(_turn(work, calls[name]) / calls[name] / 1000)
    finally:
        if enabled:
            gc.enable()
    return {name: median(took) for name, took in turns.items()}


def _turn(work: Work, calls: int) -> int:
    began = perf_counter_ns()
    for _ in range(calls):
        work()
    return perf_counter_ns() - began


def _calls(work: Work) -> int:
    """How many calls fill a turn; the first ones warm up what is kept from call to call."""
    _turn(work, 3)
    return max(1, TURN_NS // max(1, _turn(work, 3) // 3))
