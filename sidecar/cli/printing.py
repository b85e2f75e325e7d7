"""Putting a page on the terminal, or plainly wherever else the output goes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from io import TextIOWrapper

from rich.console import Console

from foldstate.kernel.instant import known
from foldstate.sidecar.cli.page import WIDTH, Page
from foldstate.sidecar.cli.show import Shown
from foldstate.sidecar.cli.when import Times
from foldstate.sidecar.cli.words import Words

NARROWEST = 40


def print_page(shown: Shown, words: Words, environment: Mapping[str, str]) -> None:
    """Prints in colours to a terminal, unless `NO_COLOR` is set; a character that the output lacks becomes "?"."""
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else WIDTH
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(
        file=sys.stdout,
        width=max(columns, NARROWEST),
        color_system="auto" if terminal and not environment.get("NO_COLOR") else None,
    )
    times = Times(words, max(known(shown.view.now), datetime.now(UTC)))
    page = Page(shown, words, times, max(NARROWEST, min(columns, WIDTH)))
    for line in page.lines():
        console.print(line, soft_wrap=True, highlight=False)
