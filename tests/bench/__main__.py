"""Prints what the kernel's work costs in sessions of different ages, against decoding the JSON that it is about.

Exits with 1 where the oldest session costs more than `AIM` times what the youngest does.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from foldstate.kernel.batch import submit
from foldstate.kernel.round import round_input
from foldstate.kernel.verdict import Accepted
from tests.bench.sessions import NOW, aged, round_of, ten
from tests.bench.timing import Work, medians

AGES: Final = (10, 60, 2_000)
"""Items ever made."""
AIM: Final = 1.5


class Bench(Struct, frozen=True):
    """One kind of work at one age, and the decoding of `body` that it is measured against."""

    kind: str
    made: int
    work: Work
    body: bytes

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.made}"

    @property
    def reference(self) -> str:
        return f"{self.name}, decoding"


def benches(made: int) -> tuple[Bench, Bench]:
    """What is measured in a session in which so many items were ever made."""
    state = aged(made)
    batch = ten(made)
    apply = partial(submit, state, batch_id="ten", now=state.recorded_at or NOW, batch=batch)
    assert isinstance(apply(), Accepted)
    build = partial(round_input, state, round_of(state), None)
    return (
        Bench("applying ten declarations", made, apply, msgspec.json.encode(batch)),
        Bench("building a round's input", made, build, msgspec.json.encode(build())),
    )


def main() -> int:
    """Measures, prints, and says whether the aim is met."""
    rows = sorted((one for made in AGES for one in benches(made)), key=lambda one: one.kind)
    works: dict[str, Work] = {}
    for one in rows:
        works[one.name] = one.work
        works[one.reference] = partial(msgspec.json.decode, one.body)
    took = medians(works)
    print("| work | items ever made | bytes decoded | µs | µs decoding | ratio | against the youngest |")
    print("|---|---|---|---|---|---|---|")
    met = True
    youngest: dict[str, float] = {}
    for one in rows:
        ratio = took[one.name] / took[one.reference]
        growth = took[one.name] / youngest.setdefault(one.kind, took[one.name])
        met = met and growth <= AIM
        print(
            f"| {one.kind} | {one.made:,} | {len(one.body):,} | {took[one.name]:.1f} | {took[one.reference]:.1f}"
            f" | {ratio:.1f} | {growth:.2f} |"
        )
    print(f"\nAim: at most {AIM} against the youngest session: {'met' if met else 'missed'}.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
