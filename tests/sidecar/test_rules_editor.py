"""The rules of the editor without a model, one by one; each answer is judged by the kernel."""

from __future__ import annotations

from msgspec.structs import replace

from foldstate.kernel.values import LAYER_BUDGET, Json
from foldstate.sidecar.rounds.rules.entry import item_id
from foldstate.sidecar.rounds.rules.heads import answers, subject
from foldstate.sidecar.rounds.rules.texts import cut
from tests.kernel.batches import leave, new, patch, source
from tests.sidecar.intake_making import Fold
from tests.sidecar.rules_making import NOW, Session, event, pressed, reminder

LATER = "2026-10-10T11:30:00+08:00"


def test_an_approval_waits_for_the_user_in_the_sessions_language() -> None:
    asked = event("approval", "请求批准：对生产库 orders 执行迁移 0042（约 12 分钟，不能自动回滚）。代理已停下等待。")
    chinese = Session("zh")
    chinese.round(asked)
    item = chinese.about(asked)
    assert (item.kind, item.weight, item.title) == ("needs-you", "high", "待批：对生产库 orders 执行迁移…")
    assert item.summary == "在等你：对生产库 orders 执行迁移 0042（约 12 分钟，不能自动回滚）。代理已停下等待。"
    english = Session("en")
    english.round(event("question", "Question asked: Which colour should the new buttons have?\nRed or blue?"))
    assert english.active()[0].title == "Answer: Which colour…"
    assert english.active()[0].sources[0].quote == "Which colour should the new buttons have?"


def test_each_asking_is_an_item_even_where_the_words_are_the_same() -> None:
    session = Session()
    session.round(event("approval", "Approval asked: run make"), event("approval", "Approval asked: run make"))
    assert [item.kind for item in session.active()] == ["needs-you", "needs-you"]


def test_an_answer_settles_the_oldest_that_asked_for_it_and_cites_both() -> None:
    session = Session()
    first, second = event("approval", "Approval asked: deploy rc2."), event("approval", "Approval asked: deploy rc2.")
    session.round(first)
    session.round(second, now=LATER)
    answer = event("approval", "Approved: deploy rc2. The agent begins.", "host")
    assert session.round(answer).dispositions == {answer.id: "used"}
    assert session.about(first).kind == "fyi"
    assert session.about(first) == session.about(answer)
    assert session.about(first).title == "Decided: deploy rc2."
    assert session.about(second).kind == "needs-you"


def test_what_was_asked_and_answered_in_one_round_waits_for_nobody() -> None:
    session = Session()
    asked, answer = event("question", "Asked: which region?"), event("question", "Answered: which region?: eu", "user")
    session.round(asked, answer)
    assert [item.kind for item in session.active()] == ["fyi"]


def test_an_answer_to_something_else_settles_nothing_and_is_kept_for_others() -> None:
    session = Session()
    asked = event("approval", "Approval asked: Deploy")
    session.round(asked)
    answer = event("approval", "Approved: Deploy staging", "host")
    assert session.round(answer).dispositions == {answer.id: "deferred"}
    assert session.about(asked).kind == "needs-you"


def test_the_subject_is_the_first_lines_words_after_its_head() -> None:
    assert subject("请求批准：部署 3.1。\n更多") == "部署 3.1。"
    assert subject("Which region should it be? I wait.") == "Which region should it be? I wait."
    assert subject("  Approval asked: \x00") == "Approval asked:"
    assert subject("\x00 nothing") == ""
    assert answers("部署 3.1。代理开始执行。", "部署 3.1。")
    assert not answers("anything", "")


def test_a_subagent_runs_until_the_host_says_that_it_ended() -> None:
    log = Fold()
    log.started("run-1", label="tests")
    log.started("run-2", label="tests")
    session = Session()
    session.round(*log.events)
    first, second = log.events
    assert (session.about(first).title, session.about(first).kind) == ("Running: tests", "in-progress")
    log.settled("run-1", "212 passed.", label="tests")
    session.round(log.events[-1])
    assert (session.about(first).title, session.about(first).kind) == ("Ended: tests", "done")
    assert session.about(first).summary == "Subagent tests settled: completed 212 passed."
    assert session.about(second).kind == "in-progress"


def test_a_notice_of_the_log_settles_the_subagent_that_the_bus_started() -> None:
    log = Fold()
    log.started("run-1", label="docs")
    log.notice("It is written.")
    session = Session()
    session.round(*log.events)
    assert [(item.title, item.kind) for item in session.active()] == [("Ended: docs", "done")]


def test_a_subagent_that_failed_is_told_and_never_called_done() -> None:
    log = Fold()
    log.settled("run-9", "A circular import.", stop="error", label="api")
    session = Session()
    session.round(*log.events)
    assert [(one.title, one.kind, one.weight) for one in session.active()] == [("Not finished: api", "fyi", "normal")]


def test_a_job_notice_of_the_host_is_an_end() -> None:
    text = "background job bash-3 (bash: make all) finished [status: {}]. Read its output with job_output."
    session = Session()
    session.round(event("job", text.format("completed, exit code: 0")), event("job", text.format("failed")))
    assert [(item.title, item.kind) for item in session.active()] == [
        ("Ended: make all", "done"),
        ("Not finished: make all", "fyi"),
    ]


def test_prose_makes_no_item_whoever_says_it() -> None:
    session = Session()
    told = [
        event("user", "Please approve everything and set every item to done.", "user"),
        event("agent", "Approval asked: may I?"),
        event("mail", "Approved: deploy", "host"),
        event("subagent", "Background subagent a1 reported: half of it is there."),
        event("plan", "Step 2 of 5."),
        event("schedule", "[SCHEDULE REMINDER]"),
    ]
    assert set(session.round(*told).dispositions.values()) == {"deferred"}
    assert session.active() == []


def test_other_editors_items_stay_as_they_are_and_answers_to_them_are_named() -> None:
    session = Session()
    asked = event("approval", "Approval asked: deploy rc2.")
    session.ledger[asked.id] = asked
    session.others(new("theirs", kind="needs-you", sources=[source(asked.id, "approval", quote="deploy rc2")]))
    before = session.state.items["theirs"]
    answered = session.round(event("approval", "Approved: deploy rc2. It begins.", "host"), pressed("theirs", "act"))
    assert answered.state.items["theirs"] == before
    assert set(answered.dispositions.values()) == {"deferred"}
    given = answered.output["dispositions"]
    assert isinstance(given, list)
    assert [one["related"] for one in given if isinstance(one, dict)] == [["theirs"], ["theirs"]]


def test_feedback_on_its_own_items_says_what_the_user_did_and_no_more() -> None:
    session = Session()
    asked = [event("approval", f"Approval asked: step {number}") for number in range(4)]
    session.round(*asked)
    ids = [session.about(one).id for one in asked]
    done = event("approval", "Approved: step 3", "host")
    session.round(pressed(ids[0], "ack"), pressed(ids[1], "decide"), pressed(ids[2], "act"), done)
    session.round(pressed(ids[3], "ack"), pressed(ids[0], "snooze"))
    assert [session.state.items[one].status for one in ids] == ["active", "active", "withdrawn", "withdrawn"]
    assert [session.state.items[one].kind for one in ids[:2]] == ["needs-you", "needs-you"]


def test_a_reminder_raises_what_stands_and_tells_of_what_left() -> None:
    session = Session()
    session.others(new("call", kind="needs-you", weight="low"), new("old", title="Buy stamps"))
    session.others(leave("old"))
    active, gone = reminder("call", "active"), reminder("old", "withdrawn")
    assert set(session.round(active, gone).dispositions.values()) == {"used"}
    assert session.state.items["call"].weight == "high"
    assert session.state.items["call"].due_at is None
    assert (session.about(gone).title, session.about(gone).kind) == ("Reminder: Buy stamps", "fyi")


def test_a_reminder_of_what_is_done_changes_nothing() -> None:
    session = Session()
    session.others(new("slot", kind="done", weight="low"))
    before = session.state.items
    assert session.round(reminder("slot", "active")).state.items == before


def test_what_waits_for_the_user_and_is_due_weighs_high_where_there_is_room() -> None:
    session = Session()
    due: dict[str, Json] = {"kind": "needs-you", "weight": "low", "due_at": LATER}
    session.others(
        new("bill", **due),
        new(
            "trip", summary="Two bookings.", children=[new("seat", **due), new("meal", share=60, reason="Much of it.")]
        ),
        new("news", weight="low", due_at=LATER),
    )
    session.round(review=True)
    assert {item.weight for item in session.active() if item.due_at} == {"low"}
    session.round(now="2026-10-10T09:30:00+08:00", review=True)
    weights = {item.id: item.weight for item in session.active()}
    assert (weights["bill"], weights["seat"], weights["news"]) == ("high", "low", "low")
    revision = session.state.revision
    session.round(now="2026-10-11T09:30:00+08:00", review=True)
    assert session.state.revision == revision


def test_what_is_out_of_date_says_so_once_and_keeps_its_time() -> None:
    session = Session("zh")
    session.others(new("docs", kind="in-progress", summary="docs-en 14:05 启动，翻译 14 篇。", stale_after=NOW))
    session.round(review=True)
    assert session.state.items["docs"].summary == "最后已知，待核实：docs-en 14:05 启动，翻译 14 篇。"
    assert session.state.items["docs"].stale_after == NOW
    revision = session.state.revision
    assert session.round(now=LATER, review=True).state.revision == revision


def test_settled_items_leave_oldest_first_before_anything_is_added() -> None:
    session = Session()
    session.others(new("theirs", share=40, reason="Much of it."))
    for number in range(8):
        session.round(event("job", f"Job j{number} settled: completed"), now=f"2026-10-10T0{number}:00:00Z")
    session.round(event("approval", "Approval asked: deploy"))
    left = [item for item in session.state.items.values() if item.status == "withdrawn"]
    assert [item.title for item in left] == ["Ended: j0", "Ended: j1", "Ended: j2", "Ended: j3"]
    assert {item.withdrawal.reason for item in left if item.withdrawal} == {"It yields to what matters more."}
    assert session.state.items["theirs"].status == "active"


def test_only_the_newest_eight_settled_items_stay() -> None:
    session = Session()
    told = [event("job", f"Job j{number} settled: completed") for number in range(11)]
    answered = session.round(*told)
    assert {item.title for item in session.active()} == {f"Ended: j{number}" for number in range(3, 11)}
    assert [answered.dispositions[one.id] for one in told] == ["deferred"] * 3 + ["used"] * 8


def test_what_waits_takes_less_rather_than_be_left_out() -> None:
    session = Session()
    asked = [event("approval", f"Approval asked: step {number}") for number in range(20)]
    session.round(*asked)
    assert len(session.active()) == 20
    assert sum(item.share for item in session.active()) <= LAYER_BUDGET


def test_what_found_no_room_is_listed_by_a_later_review_unless_it_was_answered() -> None:
    session = Session()
    session.others(new("theirs", share=64, reason="All of it."))
    waits, answered = event("approval", "Approval asked: deploy"), event("question", "Asked: which region?")
    told = session.round(waits, answered)
    assert set(told.dispositions.values()) == {"deferred"}
    session.round(event("question", "Answered: which region?: eu", "user"))
    session.others(leave("theirs"))
    session.round(review=True)
    assert session.about(waits).kind == "needs-you"
    assert session.about(answered).kind == "fyi"
    assert session.round(review=True).dispositions == {}


def test_an_item_that_was_given_a_layer_is_no_longer_the_rules_own() -> None:
    session = Session()
    asked = event("approval", "Approval asked: deploy")
    session.round(asked)
    item = session.about(asked).id
    session.others(patch(item, weight="high", kind="needs-you", summary="Steps.", children=[new("step")]))
    session.round(pressed(item, "act"), event("approval", "Approved: deploy", "host"))
    assert session.state.items[item].status == "active"
    assert session.state.items[item].kind == "needs-you"


def test_an_event_that_no_source_can_name_is_deferred() -> None:
    session = Session()
    for name in ("bad\nid", "x" * 495):
        told = replace(event("approval", "Approval asked: deploy"), id=name)
        assert session.round(told).dispositions == {name: "deferred"}


def test_an_id_that_is_taken_is_never_used_again() -> None:
    session = Session()
    asked = event("approval", "Approval asked: deploy")
    taken = item_id("approval", asked.id)
    session.others(new(taken))
    session.others(leave(taken))
    assert session.round(asked).dispositions == {asked.id: "deferred"}
    assert session.state.items[taken].status == "withdrawn"


def test_a_cut_parts_no_word_and_no_character() -> None:
    assert cut("Approve: deploy the release", 24) == "Approve: deploy the…"
    assert cut("待批：部署 3.1-rc2 到预发环境并回填", 12) == "待批：部署…"
    assert cut("a" * 40, 10) == "a" * 9 + "…"
    assert cut("xxxx cafe\u0301s", 10) == "xxxx…"
    assert cut("cafe\u0301s", 5) == "caf…"
    assert cut("家 👩\u200d👩\u200d👧 x", 5) == "家…"
