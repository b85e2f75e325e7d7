"""The scripted model's editor: reads a round out of the prompt it was sent, and answers by a few fixed rules.

It knows nothing but the prompt's text. Its judgement is plain on purpose: what the user wants done is an item, and
words that name a file or a version which an item names are about that item; the agent's last words are the item's
summary; a failed tool and a subagent are items of their own; questions to the agent are noise, the rest is deferred.
When the root layer is full it lets go of what ranks last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct, field

from tests.support.answers import Answer, Reply
from tests.support.messages import Request

OPENING = "<foldstate-round>"
CLOSING = "</foldstate-round>"
BUDGET = 64
SHARES = {"high": 12, "normal": 6, "low": 3, "trace": 1}
TITLE, SUMMARY, QUOTE = 24, 60, 160

Weight = Literal["high", "normal", "low", "trace"]
Kind = Literal["needs-you", "in-progress", "done", "fyi"]


class Source(Struct, frozen=True, omit_defaults=True):
    channel: str
    ref: str
    quote: str | None = None


class Shown(Struct, frozen=True):
    """An item as the round shows it."""

    id: str
    title: str
    weight: str
    kind: Kind
    share: int
    summary: str | None = None
    sources: tuple[Source, ...] = ()

    @property
    def words(self) -> str:
        return " ".join((self.title, self.summary or "", *(source.quote or "" for source in self.sources)))


class Layer(Struct, frozen=True):
    used: int
    items: tuple[Shown, ...]


class Shape(Struct, frozen=True):
    root: Layer
    not_active: tuple[_Gone, ...] = ()


class _Gone(Struct, frozen=True):
    id: str


class Aim(Struct, frozen=True):
    target: str
    meaning: str


class Heard(Struct, frozen=True):
    """One event of the round."""

    id: str
    channel: str
    text: str
    speaker: str = field(name="from")
    feedback: Aim | None = None


class Note(Struct, frozen=True):
    id: str


class Covered(Struct, frozen=True):
    status: str


class Signal(Struct, frozen=True):
    coverage: Mapping[str, Covered]


class Round(Struct, frozen=True):
    """What stands between the prompt's marks, as far as this editor reads it."""

    batch_id: str
    now: str
    state: Shape
    events: tuple[Heard, ...]
    signal: Signal
    pending_annotations: tuple[Note, ...] = ()


class Disposition(Struct, frozen=True):
    event: str
    disposition: Literal["noise", "duplicate", "used", "deferred"]
    why: str
    related: tuple[str, ...] = ()


class Declaration(Struct, omit_defaults=True):
    """An item as it is to be; a withdrawal carries id, relation and reason alone."""

    id: str
    relation: str
    title: str | None = None
    summary: str | None = None
    weight: Weight | None = None
    kind: Kind | None = None
    reason: str | None = None
    sources: tuple[Source, ...] = ()


class Batch(Struct, frozen=True):
    declarations: tuple[Declaration, ...]
    acknowledges: tuple[str, ...]


class Output(Struct, frozen=True):
    dispositions: tuple[Disposition, ...]
    batch: Batch


def read_round(request: Request) -> Round:
    """The round that a request to the editor carries.

    :raises ValueError: none stands between the marks, or it isn't a round.
    """
    for text in request.user_texts:
        head, mark, rest = text.partition(OPENING)
        if mark and not head.strip():
            return msgspec.json.decode(rest.partition(CLOSING)[0], type=Round)
    raise ValueError("the editor was asked without a round between its marks")


def edit(request: Request) -> Answer:
    """The editor's answer to one request."""
    return Reply(msgspec.json.encode(_Desk(read_round(request)).output()).decode())


def _short(text: str, limit: int) -> str:
    """The beginning of a text in one line, cut at a word where it is long."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.") + "…"


def _clause(text: str) -> str:
    """The first clause: up to a stop that a space follows, so that a version or a file's name stays whole."""
    return re.split(r"[.:;!?,](?=\s|$)|\n", text.strip(), maxsplit=1)[0]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:48].strip("-") or "item"


def _named(text: str) -> set[str]:
    """The files and versions that a text names: words with a dot inside."""
    return set(re.findall(r"[\w-]+(?:\.[\w-]+)+", text))


def _asks(text: str) -> bool:
    return text.rstrip().endswith("?")


class _Desk:
    """One round under the editor's hands: at most one declaration an item, the root layer within its budget."""

    def __init__(self, given: Round) -> None:
        self._round = given
        self._items: Mapping[str, Shown] = {item.id: item for item in given.state.root.items}
        self._gone = {gone.id for gone in given.state.not_active}
        self._declared: dict[str, Declaration] = {}
        self._dispositions: list[Disposition] = []
        self._wanted: str | None = None

    def output(self) -> Output:
        for event in self._round.events:
            self._judge(event)
        self._fit()
        notes = tuple(note.id for note in self._round.pending_annotations)
        return Output(tuple(self._dispositions), Batch(tuple(self._declared.values()), notes))

    def _judge(self, event: Heard) -> None:
        if event.feedback is not None:
            self._use(event, "The user answered in the panel.", ())
        elif event.channel == "user":
            self._wanted = self._want(event)
        elif event.channel == "tool":
            self._declare(event, f"failed-{_slug(event.speaker)}", f"Failed: {event.speaker}", "normal", "fyi")
        elif event.channel == "subagent":
            kind: Kind = "done" if "settled: completed" in event.text else "in-progress"
            self._declare(event, f"sub-{_slug(event.speaker)}", f"Subagent: {event.speaker}", "normal", kind)
        elif event.channel == "agent" and self._wanted is not None:
            self._conclude(event, self._wanted)
        elif event.channel == "agent":
            self._dispositions.append(Disposition(event.id, "noise", "It answers a question, and changes nothing."))
        else:
            self._dispositions.append(Disposition(event.id, "deferred", "It changes nothing for the user now."))

    def _want(self, event: Heard) -> str | None:
        """The item that the user's words are about; none where they ask for nothing to be done."""
        if _asks(event.text) or event.text.lower().startswith(("thanks", "thank you")):
            self._dispositions.append(Disposition(event.id, "noise", "It is said to the agent; nothing is to be done."))
            return None
        named = _named(event.text)
        for item in self._round.state.root.items:
            if not item.id.startswith(("failed-", "sub-")) and named & _named(item.words):
                return self._declare(event, item.id, item.title, "high", "in-progress")
        title = _clause(event.text)
        name = _slug(title)
        while name in self._gone or name in self._items or name in self._declared:
            name = f"{name}-next"
        return self._declare(event, name, title, "high", "in-progress")

    def _use(self, event: Heard, why: str, related: tuple[str, ...]) -> None:
        self._dispositions.append(Disposition(event.id, "used", why, related))

    def _cite(self, event: Heard) -> Source:
        quote = event.text.strip()[:QUOTE].strip() or None
        return Source(event.channel, f"event:{event.id}", quote)

    def _declare(self, event: Heard, name: str, title: str, weight: Weight, kind: Kind) -> str:
        """The item as the event leaves it: new, restored or patched, with one source more."""
        known, old = self._declared.get(name), self._items.get(name)
        held = known.sources if known else old.sources if old else ()
        there = old is not None or name in self._gone
        self._declared[name] = Declaration(
            name,
            known.relation if known else f"supersedes:{name}" if there else "new",
            _short(title, TITLE),
            _last_line(event.text),
            weight,
            kind,
            "The newest known of it.",
            (*held, self._cite(event))[-16:],
        )
        self._use(event, f"It is what {name} rests on.", (name,))
        return name

    def _conclude(self, event: Heard, wanted: str) -> None:
        """The agent's last words of a turn say how what the user wanted stands."""
        item = self._declared[wanted]
        item.summary, item.kind = _last_line(event.text), "needs-you" if _asks(event.text) else "done"
        item.sources = (*item.sources, self._cite(event))[-16:]
        self._use(event, f"The agent says how {wanted} stands.", (wanted,))

    def _fit(self) -> None:
        """Keep the root layer within its budget: what is new shrinks first, then what ranks last goes."""
        for name, item in self._declared.items():
            if (old := self._items.get(name)) is not None and old.weight in SHARES:
                item.weight = "high" if old.weight == "high" else item.weight
        leaving = [item for item in self._round.state.root.items if item.id not in self._declared]
        while self._load() > BUDGET and leaving:
            gone = leaving.pop()
            self._declared[gone.id] = Declaration(gone.id, "withdraw", reason="Its place is needed for what is newer.")
        for item in self._declared.values():
            while self._load() > BUDGET and item.weight not in (None, "trace"):
                item.weight = "trace" if item.weight == "low" else "low"
                item.reason = "The layer is full."

    def _load(self) -> int:
        stays = sum(item.share for item in self._items.values() if item.id not in self._declared)
        return stays + sum(SHARES[item.weight] for item in self._declared.values() if item.weight is not None)


def _last_line(text: str) -> str:
    """What a text says last, but for the marks that a shell's results end with."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[")]
    return _short(lines[-1] if lines else "no words", SUMMARY)
