"""The demo's page: 80 columns of plain text, bold only where a terminal reads it."""

from __future__ import annotations

import sys
import textwrap

WIDTH = 80
BOLD, FAINT, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def _styled(style: str, text: str) -> str:
    return f"{style}{text}{PLAIN}" if sys.stdout.isatty() else text


def line(text: str = "") -> None:
    print(text, flush=True)


def rule() -> None:
    line(_styled(FAINT, "─" * WIDTH))


def _ends(left: str, right: str) -> str:
    return left + right.rjust(WIDTH - len(left))


def heading(number: int, left: str, right: str = "") -> None:
    line()
    line(_styled(BOLD, _ends(f"{number}  {left}", right)))
    rule()


def title(left: str, right: str) -> None:
    line(_styled(BOLD, _ends(left, right)))


def step(words: str, right: str) -> None:
    """One thing that ran, cut to fit beside what it took."""
    room = WIDTH - len(right) - 5
    line(_ends("   " + (words if len(words) <= room else words[: room - 1] + "…"), right))


def note(text: str) -> None:
    for part in textwrap.wrap(text, WIDTH - 6):
        line(_styled(FAINT, f"      {part}"))


def quoted(text: str) -> None:
    """Verbatim, behind a bar; a line that is too long goes on behind a double one."""
    for row in text.splitlines():
        first, *rest = textwrap.wrap(row, WIDTH - 4, drop_whitespace=False, replace_whitespace=False) or [""]
        line(f"   │{first}")
        for more in rest:
            line(f"   ┆{more}")


def table(rows: list[tuple[str, ...]], widths: tuple[int, ...]) -> None:
    for number, row in enumerate(rows):
        first, *rest = row
        text = f"   {first:<{widths[0]}}" + "".join(
            f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)
        )
        line(_styled(FAINT, text) if number == 0 else text)
