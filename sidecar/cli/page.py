"""The state as a person reads it in a terminal: 80 columns at most, wide characters measured as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from foldstate.kernel.instant import known
from foldstate.kernel.values import KINDS, Kind
from foldstate.kernel.view import ItemView, LayerView
from foldstate.sidecar.cli.show import Shown, items_of
from foldstate.sidecar.cli.when import Times
from foldstate.sidecar.cli.words import Words

WIDTH = 80
PER_CELL = 3
"""Parts of a layer's budget in one cell of a bar: the heaviest weight fills eight."""
BAR = 8
STEP = 4
"""How far each layer of children stands in."""

JOINERS = "\u200c\u200d"
"""Not printable by themselves, but part of words and pictures."""

STRONG = "bold"
FAINT = "dim"
ACCENT = "bold magenta"
WARNING = "bold red"


_RULER = Console(file=StringIO(), color_system=None)
"""Only measures: nothing is printed to it."""


class Page(Struct, frozen=True):
    """Lays out one session. `width` is in columns."""

    shown: Shown
    words: Words
    times: Times
    width: int = WIDTH

    def lines(self) -> Iterator[Text]:
        yield from self._head()
        yield Text()
        root = self.shown.view.root
        if not root.items:
            yield from self._wrapped(1, self._nothing())
        for kind in KINDS:
            items = [item for item in root.items if item.kind == kind]
            if items:
                yield Text(f" {self.kind(kind).upper()}", ACCENT if kind == "needs-you" else STRONG)
                for item in items:
                    yield from self._item(item, 0)
        foot = list(self._foot())
        if foot:
            yield Text()
        for note in foot:
            yield from self._wrapped(1, note, FAINT)

    def kind(self, kind: Kind) -> str:
        names: dict[Kind, str] = {
            "needs-you": self.words.needs_you,
            "in-progress": self.words.in_progress,
            "done": self.words.done,
            "fyi": self.words.fyi,
        }
        return names[kind]

    def _head(self) -> Iterator[Text]:
        view = self.shown.view
        used = self.words.used.format(used=view.root.used, budget=view.root.budget)
        title = self.shown.title or self.shown.session
        head = Text(f"{_one_line(title)} · {used} · {self._checked()}")
        head.stylize(STRONG, 0, len(_one_line(title)))
        yield from self._folded(0, head)

    def _checked(self) -> str:
        """When the state was last looked at: a check that changed it is told as the change that it was (B4)."""
        recorded, checked = self.shown.recorded_at, self.shown.view.last_checked_at
        if checked is not None and (recorded is None or known(checked) >= known(recorded)):
            return self.words.checked.format(when=self.times.past(checked))
        if recorded is not None:
            return self.words.updated.format(when=self.times.past(recorded))
        return self.words.never_checked

    def _nothing(self) -> str:
        return self.words.nothing_yet if self.shown.view.revision == 0 else self.words.nothing_now

    def _item(self, item: ItemView, indent: int) -> Iterator[Text]:
        bar_width = max([BAR, *(len(_bar(each.share)) for each in items_of(self.shown.view.root))])
        left = Text(" " * indent + f"{item.rank or 0:>3} " + _bar(item.share).ljust(bar_width) + " ")
        if item.kind == "needs-you":
            left.stylize(ACCENT, indent + 4, len(left))
        body = len(left)
        due, style = "", ""
        if item.due_at is not None:
            due = self.times.due(item.due_at)
            style = WARNING if item.until_due is not None and item.until_due < 0 else ""
        room = self.width - body - (cell_len(due) + 2 if due else 0)
        title = Text(item.title, STRONG)
        if indent:
            title.append(f" · {self.kind(item.kind)}", FAINT)
        first, *rest = _wrap(title, room)
        line = left + first
        if due:
            line.append(" " * (self.width - cell_len(line.plain) - cell_len(due)))
            line.append(due, style)
        yield line
        for more in rest:
            yield Text(" " * body) + more
        if item.summary is not None:
            yield from self._wrapped(body, item.summary)
        if item.until_stale is not None and item.until_stale < 0:
            when = self.times.past(item.updated_at)
            yield from self._wrapped(body, self.words.stale.format(when=when), WARNING)
        if not indent and (evidence := self._evidence(item, self.width - body)):
            yield Text(" " * body) + Text(evidence, FAINT)
        if item.children is not None:
            yield from self._children(item.children, indent + STEP)

    def _children(self, layer: LayerView, indent: int) -> Iterator[Text]:
        for item in layer.items:
            yield from self._item(item, indent)

    def _evidence(self, item: ItemView, room: int) -> str:
        """The newest source that was quoted, on one line: where it doesn't fit, the quote is cut, never its origin."""
        quoted = [source for source in item.sources if source.quote is not None]
        if not item.sources:
            return ""
        source = (quoted or item.sources)[-1]
        at = source.observed_at or self.shown.quoted_at.get(source.ref)
        origin = (
            source.channel
            if at is None
            else self.words.from_channel.format(channel=source.channel, when=self.times.clock(at))
        )
        if source.quote is None:
            return _cut(_one_line(origin), room)
        around = cell_len(self.words.quote.format(quote="", source=_one_line(origin)))
        return self.words.quote.format(quote=_cut(_one_line(source.quote), room - around), source=_one_line(origin))

    def _foot(self) -> Iterator[str]:
        view, words = self.shown.view, self.words
        if gone := len(view.not_active) + view.not_active_omitted:
            yield words.not_active.format(n=gone)
        if self.shown.waiting:
            yield words.waiting.format(n=self.shown.waiting)
        for channel, coverage in self.shown.coverage.items():
            if coverage.status != "ok":
                yield words.not_heard.format(channel=channel, when=self.times.clock(coverage.since))
        for path in self.shown.damaged:
            yield words.damaged.format(path=path)
        if (bridge := self.shown.bridge) is not None:
            if bridge.reason is not None:
                yield words.sidecar_trouble.format(when=self.times.clock(bridge.at), reason=bridge.reason)
            for place, failed in bridge.errors.items():
                yield words.bridge_trouble.format(place=place, n=failed.count, last=failed.last)

    def _wrapped(self, indent: int, text: str, style: str = "") -> Iterator[Text]:
        yield from self._folded(indent, Text(_one_line(text), style))

    def _folded(self, indent: int, text: Text) -> Iterator[Text]:
        for line in _wrap(text, self.width - indent):
            yield Text(" " * indent) + line


def _bar(share: int) -> str:
    """Full cells, and a part of one for what is left; one part of the budget is seen too."""
    full, left = divmod(share, PER_CELL)
    return "█" * full + ("", "▎", "▋")[left]


def _wrap(text: Text, width: int) -> list[Text]:
    """Broken between words, or between wide characters, none of which is cut."""
    return list(text.wrap(_RULER, max(width, 2))) or [text]


def _cut(text: str, width: int) -> str:
    """Shortened to so many columns, with a mark where it was."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def _one_line(text: str) -> str:
    """Without anything that a terminal could take as more than a character."""
    kept = (c if c.isprintable() or c.isspace() or c in JOINERS else "\N{REPLACEMENT CHARACTER}" for c in text)
    return " ".join("".join(kept).split())
