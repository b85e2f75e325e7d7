"""Working through a round's events, one after the other, on the rules' own items."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel import instant
from foldstate.kernel.event import Event, Feedback, Reminder
from foldstate.kernel.evidence import EVENT_REF
from foldstate.kernel.values import MAX_REF, MAX_SOURCES, MAX_SUMMARY, MAX_TITLE, Disposed, Kind, Weight
from foldstate.kernel.view import ItemView, RoundInput
from foldstate.sidecar.rounds.rules.entry import Entry, Rule, cite, item_id, own
from foldstate.sidecar.rounds.rules.heads import ANSWERERS, Asking, Began, Ended, answers, began, run, subject
from foldstate.sidecar.rounds.rules.texts import cut, one_line, sayable
from foldstate.sidecar.rounds.rules.tree import walk
from foldstate.sidecar.rounds.rules.words import Words

_QUOTE: Final = 160
"""Code points of a quote: evidence enough, and a batch of many stays within its size."""


class Judged(Struct, frozen=True):
    """What became of one event. `entry` is the rules' own item that it went into, if it did."""

    event: str
    disposition: Disposed
    why: str
    related: tuple[str, ...] = ()
    entry: str | None = None


class Board:
    """The own items of a round, oldest change first, and every id that is known to be taken."""

    def __init__(self, given: RoundInput, words: Words) -> None:
        self._words = words
        items = [item for item, _ in walk(given.state.root)]
        mine = [(item, entry) for item in given.state.root.items if (entry := own(item)) is not None]
        mine.sort(key=lambda pair: (instant.known(pair[0].updated_at), pair[0].id))
        self._entries = {entry.id: entry for _, entry in mine}
        self._active: dict[str, ItemView] = {item.id: item for item in items}
        self._left = {one.id: one for one in given.state.not_active}

    @property
    def entries(self) -> list[Entry]:
        return [*self._entries.values()]

    def judge(self, event: Event) -> Judged:
        """Takes one event in, after those that came before it."""
        words = self._words
        if event.feedback is not None:
            return self._heard(event, event.feedback)
        if event.reminder is not None:
            return self._reminded(event, event.reminder)
        match event.channel:
            case "approval" | "question" as asking:
                return self._answered(event, asking) if event.speaker in ANSWERERS else self._asked(event, asking)
            case "subagent" | "job" as rule:
                match run(event):
                    case Began(name, head):
                        return self._began(event, rule, name, head)
                    case Ended() as ended:
                        return self._ended(event, rule, ended)
                    case None:
                        return _deferred(event, words.not_structured)
            case _:
                return _deferred(event, words.not_structured)

    def _asked(self, event: Event, asking: Asking) -> Judged:
        words = self._words
        asked = subject(event.text)
        said = one_line(asked) or words.unnamed
        title = {"approval": words.approve, "question": words.answer}[asking]
        return self._make(
            event, asking, "needs-you", "high", title.format(said), words.asked_fully.format(said), asked, words.waits
        )

    def _answered(self, event: Event, asking: Asking) -> Judged:
        """An answer settles the oldest of what it answers; of two that it begins with, the longer one."""
        words = self._words
        answer = subject(event.text)
        waiting = [one for one in self._present(asking) if one.kind == "needs-you" and answers(answer, one.quote)]
        if waiting:
            title = {"approval": words.decided, "question": words.answered}[asking]
            entry = max(waiting, key=lambda one: len(one.quote))
            said = one_line(entry.quote)
            return self._settle(event, entry, "fyi", "trace", title.format(said), one_line(event.text), words.settles)
        theirs = [
            item.id
            for item in self._active.values()
            if item.id not in self._entries
            and any(one.channel == asking and one.quote and answers(answer, one.quote) for one in item.sources)
        ]
        return _deferred(event, words.others_item if theirs else words.nothing_open, *theirs)

    def _began(self, event: Event, rule: Rule, name: str, head: str) -> Judged:
        words = self._words
        title = words.running.format(one_line(name) or words.unnamed)
        return self._make(event, rule, "in-progress", "low", title, one_line(event.text), sayable(head), words.starts)

    def _ended(self, event: Event, rule: Rule, ended: Ended) -> Judged:
        """An end settles the oldest start of that name; one whose start isn't known is an item of its own."""
        words = self._words
        kind: Kind = "done" if ended.well else "fyi"
        weight: Weight = "low" if ended.well else "normal"
        name = one_line(ended.name) or words.unnamed
        title = (words.ended_well if ended.well else words.ended_otherwise).format(name)
        names = {ended.name, event.speaker}
        running = [one for one in self._present(rule) if one.kind == "in-progress" and began(one.quote, names)]
        if running:
            return self._settle(event, running[0], kind, weight, title, one_line(event.text), words.ends)
        return self._make(event, rule, kind, weight, title, one_line(event.text), sayable(ended.words), words.ends)

    def _reminded(self, event: Event, reminder: Reminder) -> Judged:
        """A reminder of what left the state is an item; what stands in it needs none, but may get more weight."""
        words = self._words
        if reminder.target_now in self._active:
            return Judged(event.id, "used", words.reminds, (reminder.target_now,))
        left = self._left.get(reminder.target_now)
        if left is None:
            return _deferred(event, words.not_structured)
        title = words.reminder.format(one_line(left.title))
        made = self._make(
            event, "reminder", "fyi", "normal", title, words.gone_target, subject(event.text), words.reminds
        )
        return replace(made, related=(*made.related, left.id))

    def _heard(self, event: Event, feedback: Feedback) -> Judged:
        """Feedback on an own item. What was decided or put in is settled by the host's own word, not by a press."""
        words = self._words
        target = feedback.target
        entry = self._entries.get(target)
        if entry is None or entry.fresh or entry.gone is not None:
            known = target in self._active or target in self._left
            return _deferred(event, words.others_item if known else words.not_structured, *([target] if known else []))
        if feedback.meaning == "act":
            self._put(replace(entry, gone=words.because_act))
        elif feedback.meaning == "ack" and entry.settled:
            self._put(replace(entry, gone=words.because_ack))
        return Judged(event.id, "used", words.heard, (target,))

    def _make(
        self,
        event: Event,
        rule: Rule,
        kind: Kind,
        weight: Weight,
        title: str,
        summary: str,
        quote: str,
        why: str,
    ) -> Judged:
        made = item_id(rule, event.id)
        if not _citable(event) or made in self._active or made in self._left or made in self._entries:
            return _deferred(event, self._words.not_structured)
        self._put(
            Entry(
                id=made,
                rule=rule,
                kind=kind,
                weight=weight,
                title=cut(title, MAX_TITLE),
                summary=cut(summary, MAX_SUMMARY),
                sources=(cite(event, quote[:_QUOTE].strip()),),
                fresh=True,
            )
        )
        return Judged(event.id, "used", why, (made,), made)

    def _settle(
        self, event: Event, entry: Entry, kind: Kind, weight: Weight, title: str, summary: str, why: str
    ) -> Judged:
        words = self._words
        told = cut(sayable(event.text.lstrip()), _QUOTE).removesuffix("…").strip()
        more = (cite(event, told),) if _citable(event) and len(entry.sources) < MAX_SOURCES else ()
        self._put(
            replace(
                entry,
                kind=kind,
                weight=weight,
                title=cut(title, MAX_TITLE),
                summary=cut(summary, MAX_SUMMARY) or None,
                sources=(*entry.sources, *more),
                reason=words.because_settled,
            )
        )
        return Judged(event.id, "used", why, (entry.id,), entry.id)

    def _present(self, rule: Rule) -> list[Entry]:
        return [one for one in self._entries.values() if one.rule == rule and one.gone is None]

    def _put(self, entry: Entry) -> None:
        """An entry that changes counts as the newest."""
        self._entries.pop(entry.id, None)
        self._entries[entry.id] = replace(entry, changed=True)


def _citable(event: Event) -> bool:
    """Whether a source can name the event: its id is anybody's text."""
    ref = EVENT_REF + event.id
    return len(ref) <= MAX_REF and sayable(ref) == ref


def _deferred(event: Event, why: str, *related: str) -> Judged:
    return Judged(event.id, "deferred", why, related)
