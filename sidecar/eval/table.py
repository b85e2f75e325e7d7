"""What came of the scenarios, as a table by rule tag with what went wrong below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from foldstate.sidecar.eval.asking import Asked

_HEAD: Final = ("rule", "scenarios", "first try", "accepted", "met")


def lines(asked: Sequence[Asked]) -> Iterator[str]:
    """First-try acceptance, acceptance in the end, and whose expectations were met, by rule and for all."""
    rules = sorted({rule for one in asked for rule in one.rules})
    rows = [_row(rule, [one for one in asked if rule in one.rules]) for rule in rules]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, _row("all", asked), strict=True)]
    for row in (_HEAD, *rows, _row("all", asked)):
        yield row[0].ljust(widths[0]) + "".join(
            f"  {cell.rjust(w)}" for cell, w in zip(row[1:], widths[1:], strict=True)
        )
    wrong = [one for one in asked if one.wrong]
    if wrong:
        yield ""
        yield "what went wrong"
    for one in wrong:
        yield f"{one.scenario}"
        for sentence in one.wrong:
            yield f"  {sentence}"


def _row(name: str, asked: Sequence[Asked]) -> tuple[str, str, str, str, str]:
    return (
        name,
        str(len(asked)),
        str(sum(one.first_try for one in asked)),
        str(sum(one.accepted for one in asked)),
        str(sum(one.met for one in asked)),
    )
