"""What holds for the rules editor whatever comes: found by generating rounds and states."""

from __future__ import annotations

from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from foldstate.kernel.event import Event, Feedback, Reminder
from foldstate.kernel.evidence import stands_in
from foldstate.kernel.state import State
from foldstate.kernel.values import MAX_SUMMARY, MAX_TITLE, Language, Meaning, Status
from foldstate.sidecar.rounds.rules.texts import cut, one_line
from tests.kernel.batches import new
from tests.kernel.test_properties import careful
from tests.sidecar.rules_making import Session, event

EXAMPLES = settings(max_examples=150, deadline=None)
NOWS = [f"2026-10-{10 + day}T09:00:00+08:00" for day in range(9)]

words = st.text(st.characters() | st.sampled_from("：:。…… \n\t字é👩\u200d"), max_size=60)
subjects = (
    st.sampled_from(["Deploy", "Deploy staging", "部署预发环境。", "Which colour?", "x" * 400, "", "\x00"]) | words
)
heads = st.sampled_from(["请求批准：", "已批准：", "Approval asked: ", "Decided: ", ""])
runs = st.sampled_from(
    [
        "Subagent {} started",
        "Subagent {} settled: completed\nAll done.",
        "Subagent {} settled: error\nIt broke.",
        "Background subagent {} failed before it finished.",
        "Job {} started",
        "background job b-1 (bash: {}) finished [status: completed, exit code: 0].",
    ]
)
names = st.sampled_from(["tests", "docs", "a b", "子代理"]) | words
texts = st.builds(str.__add__, heads, subjects) | st.builds(lambda run, name: run.replace("{}", name), runs, names)
channels = st.sampled_from(["approval", "question", "subagent", "job", "user", "mail", "reminder", "feedback"]) | words
ids = st.text(min_size=1, max_size=20) | st.text(st.characters(), min_size=490, max_size=510)


@st.composite
def events(draw: st.DrawFn, state: State, taken: set[str]) -> list[Event]:
    targets = st.sampled_from([*state.items, "no-such-item"])
    found: list[Event] = []
    for _ in range(draw(st.integers(0, 12))):
        event_id = draw(ids.filter(lambda one: one not in taken))
        taken.add(event_id)
        kind = draw(st.sampled_from(["plain", "plain", "plain", "feedback", "reminder"]))
        meaning: Meaning = draw(st.sampled_from(get_args(Meaning)))
        status: Status = draw(st.sampled_from(get_args(Status)))
        target = draw(targets)
        found.append(
            Event(
                id=event_id,
                channel=draw(channels),
                speaker=draw(st.sampled_from(["agent", "host", "user", "tests"])),
                at=NOWS[0],
                text=draw(texts),
                feedback=Feedback(target, "press", meaning, "button") if kind == "feedback" else None,
                reminder=Reminder("f", target, status, draw(targets), NOWS[0], NOWS[0], 0)
                if kind == "reminder"
                else None,
            )
        )
    return found


@EXAMPLES
@given(st.data(), st.sampled_from(get_args(Language)))
def test_its_answer_is_accepted_whatever_came_and_whoever_else_edits(data: st.DataObject, language: Language) -> None:
    session = Session(language)
    taken: set[str] = set()
    for now in NOWS[: data.draw(st.integers(1, 6))]:
        if data.draw(st.booleans()):
            try_others(session, data, now)
        before = session.state
        told = data.draw(events(before, taken))
        answered = session.round(*told, now=now, review=data.draw(st.booleans()))
        for one in told:
            assert answered.dispositions[one.id] in ("used", "deferred")
        made = [item for item in answered.state.items.values() if item.id not in before.items]
        assert len({item.id for item in made}) == len(made)
        for item in answered.state.items.values():
            assert len(item.title) <= MAX_TITLE
            assert len(item.summary or "") <= MAX_SUMMARY
            for source in item.sources if item in made else ():
                assert source.quote is None or stands_in(source.quote, session.ledger[source.ref[6:]].text)


def try_others(session: Session, data: st.DataObject, now: str) -> None:
    """A batch of somebody else's, if the kernel takes it; and some of it with times that come."""
    try:
        session.others(*data.draw(careful(session.state)), now=now)
    except AssertionError:
        return
    due, stale = data.draw(st.sampled_from(NOWS)), data.draw(st.sampled_from(NOWS))
    name = f"due-{len(session.state.items)}"
    patch = new(name, kind="needs-you", weight="low", due_at=due, stale_after=stale)
    try:
        session.others(patch, now=now)
    except AssertionError:
        return


crowded = st.builds(
    lambda channel, head, name: (channel, f"{head} {name}"),
    st.sampled_from(["approval", "approval", "question", "subagent", "job"]),
    st.sampled_from(["Approval asked:", "Subagent", "Job"]),
    st.sampled_from(["a", "b started", "c started", "b settled: completed", "c settled: error"]),
)


@EXAMPLES
@given(st.lists(st.lists(crowded, max_size=40), min_size=1, max_size=4), st.integers(0, 64), st.booleans())
def test_a_crowd_never_goes_over_the_budget_and_never_hides_what_waits_in_the_state(
    crowds: list[list[tuple[str, str]]], taken: int, review: bool
) -> None:
    session = Session()
    if taken:
        session.others(new("theirs", share=taken, reason="It takes what it takes."))
    theirs = session.state.items.get("theirs")
    for crowd in crowds:
        waited = {item.id for item in session.active() if item.kind == "needs-you"}
        answered = session.round(*(event(channel, text) for channel, text in crowd), review=review)
        assert waited <= {item.id for item in session.active() if item.kind == "needs-you"}
        assert answered.state.items.get("theirs") == theirs
        refused = [one for one, how in answered.dispositions.items() if how == "deferred"]
        if any(session.ledger[one].channel in ("approval", "question") for one in refused):
            kinds = {item.kind for item in session.active() if item.id != "theirs"}
            assert kinds <= {"needs-you"}, "what waits for the user is the last to be left out"
            assert all(item.weight == "trace" for item in session.active() if item.id != "theirs")


@EXAMPLES
@given(st.text(), st.integers(1, 80))
def test_a_cut_text_fits_and_is_the_beginning_of_the_whole(text: str, limit: int) -> None:
    line = one_line(text)
    shown = cut(line, limit)
    assert len(shown) <= limit
    assert shown == line or line.startswith(shown.removesuffix("…"))
