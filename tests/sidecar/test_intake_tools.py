from __future__ import annotations

import pytest

from foldstate.kernel.event import Event, Origin
from tests.sidecar.intake_making import SESSION, Fold, assistant, call, captured, end, result

MISSING = "[stderr]\ncat: docs/setup.md: No such file or directory\n[exit code: 1]"


class Turn(Fold):
    """An open turn in which tools are called."""

    def __init__(self) -> None:
        super().__init__()
        self.say("turn/start", {"turn": 1})

    def run(self, tool: str, text: str, *, is_error: bool = False, code: str | None = None) -> list[Event]:
        call_id = f"call_{self.last}"
        self.say("tool/call", call(tool, call_id))
        return self.say("tool/result", result(call_id, text, is_error=is_error, code=code))

    def end(self) -> list[str]:
        return [one.text for one in self.say("turn/end", end())]


def test_a_run_of_the_same_failure_is_one_event_that_counts_it() -> None:
    turn = Turn()
    assert [turn.run("bash", MISSING) for _ in range(3)] == [[], [], []]
    assert turn.end() == [f"bash failed (3 times)\n{MISSING}"]
    (event,) = turn.events
    assert (event.channel, event.speaker) == ("tool", "bash")
    assert event.origin == Origin(SESSION, 6)
    assert event.at == "2026-11-30T20:17:09.060Z"


def test_a_run_ends_when_its_tool_succeeds_or_fails_otherwise() -> None:
    turn = Turn()
    turn.run("bash", MISSING)
    assert [one.text for one in turn.run("bash", "fine\n")] == [f"bash failed\n{MISSING}"]
    turn.run("bash", MISSING)
    assert [one.text for one in turn.run("bash", "(no output)\n[exit code: 2]")] == [f"bash failed\n{MISSING}"]
    assert turn.end() == ["bash failed\n(no output)\n[exit code: 2]"]
    assert len({one.id for one in turn.events}) == 3


def test_other_tools_between_do_not_end_a_run() -> None:
    turn = Turn()
    for number in range(3):
        turn.run("bash", MISSING)
        turn.run("edit", f"edited {number}")
        turn.run("read", 'Error: cannot read "x": not found', is_error=True)
    assert turn.end() == [
        f"bash failed (3 times)\n{MISSING}",
        'read failed (3 times)\nError: cannot read "x": not found',
    ]


def test_a_run_does_not_go_on_over_the_end_of_its_turn() -> None:
    turn = Turn()
    turn.run("bash", MISSING)
    turn.end()
    turn.say("turn/start", {"turn": 2})
    turn.say("tool/call", call("bash", "later", turn=2))
    turn.say("tool/result", result("later", MISSING, turn=2))
    assert [one.text for one in turn.say("turn/end", end(turn=2))] == [f"bash failed\n{MISSING}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Error: timed out at 12:00:01.5 after 1.25s", "Error: timed out at 12:03:59.1 after 9.75s"),
        ("Error: 2026-05-01T12:00:00Z refused", "Error: 2026-05-02T13:10:00+08:00 refused"),
        ("Error: job 9ac69d76-e856-4ee3-8b49-6c0bac2ea33d", "Error: job 180769a9-efe3-4e35-ba82-c4945bf0d980"),
        ("Error: at 0x7ffee4", "Error:  at 0x7ffabc\n"),
    ],
)
def test_what_differs_without_a_meaning_is_the_same_failure_and_told_in_the_last_words(first: str, second: str) -> None:
    turn = Turn()
    turn.run("fetch", first, is_error=True)
    turn.run("fetch", second, is_error=True)
    assert turn.end() == [f"fetch failed (2 times)\n{second}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Error: status 403", "Error: status 500"),
        ("Error: line 12", "Error: line 13"),
        ("Error: a.md not found", "Error: b.md not found"),
    ],
)
def test_what_may_mean_something_is_another_failure(first: str, second: str) -> None:
    turn = Turn()
    turn.run("fetch", first, is_error=True)
    turn.run("fetch", second, is_error=True)
    assert [one.text for one in turn.events] == [f"fetch failed\n{first}"]
    assert turn.end() == [f"fetch failed\n{second}"]


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("out\n[exit code: 137]", "bash failed"),
        ("(no output)\n[killed by signal: SIGKILL]", "bash failed"),
        ("begun\n[timed out after 300ms]\n[killed by signal: SIGTERM]", "bash timed out"),
        ("x\n[sandbox: file access denied under read-only mode]\n[exit code: 1]", "bash was denied"),
        ("x\n[stopped: output limit]", "bash failed"),
    ],
)
def test_a_shell_command_failed_if_its_last_lines_say_so(text: str, head: str) -> None:
    turn = Turn()
    turn.run("bash", text)
    assert turn.end() == [f"{head}\n{text}"]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("bash", "fine\n"),
        ("bash", "[exit code: 1]\nis what it printed\n"),
        ("bash", "[exit code: 1]"),
        ("bash", "begun\n[still running after 300ms; moved to background job bash-1]\nThe command keeps running."),
        ("read", "a log\n[exit code: 1]"),
    ],
)
def test_a_result_that_only_looks_like_a_failure_is_none(tool: str, text: str) -> None:
    turn = Turn()
    turn.run(tool, text)
    assert turn.end() == []
    assert turn.skipped["tool/result:success"] == 1


@pytest.mark.parametrize(
    ("text", "code", "verb"),
    [
        ('Error: the user rejected tool "write"', None, "was denied"),
        ('Error: approval for tool "write" was cancelled', None, "was denied"),
        ('Error: tool "write" requires approval, but no approval channel is available', None, "was denied"),
        ("Error: not permitted here", "FS_SANDBOX_DENIED", "was denied"),
        ("Error: too slow", "TOOL_TIMEOUT", "timed out"),
        ("Error: too slow", "PERSISTENT_BASH_TIMEOUT", "timed out"),
        ("Error: tool call aborted before dispatch", "TOOL_ABORTED_BEFORE_DISPATCH", "was aborted"),
        ("The tool call was interrupted.", "TOOL_OUTCOME_UNKNOWN", "was interrupted"),
        ("Error: anything else", "FS_NOT_FOUND", "failed"),
    ],
)
def test_the_head_says_how_a_call_went_wrong(text: str, code: str | None, verb: str) -> None:
    turn = Turn()
    turn.run("write", text, is_error=True, code=code)
    assert turn.end() == [f"write {verb}\n{text}"]


def test_a_failure_without_its_call_is_still_told() -> None:
    log = Fold()
    log.say("tool/result", result("call_9", "Error: gone", is_error=True))
    (event,) = log.say("turn/end", end())
    assert (event.speaker, event.text) == ("tool", "tool failed\nError: gone")


def test_a_shortened_copy_that_a_compaction_logs_is_no_second_failure() -> None:
    turn = Turn()
    turn.say("tool/call", call("bash", "c-1"))
    turn.say("tool/result", result("c-1", MISSING))
    turn.say("tool/result", result("c-1", "[pruned]\n[exit code: 1]"))
    assert turn.end() == [f"bash failed\n{MISSING}"]
    turn.say("tool/result", result("c-1", "[pruned]\n[exit code: 1]"))
    turn.say("turn/start", {"turn": 2})
    turn.say("tool/result", result("c-1", "[pruned]\n[exit code: 1]"))
    assert turn.say("turn/end", end(turn=2)) == []
    assert turn.skipped["tool/result:copy"] == 3


def test_a_turn_number_that_the_host_uses_again_after_a_kill_does_not_make_its_failures_copies() -> None:
    log = Fold()

    def failing_turn(number: int, call_id: str, text: str) -> list[str]:
        log.say("turn/start", {"turn": number})
        log.say("tool/call", call("bash", call_id, turn=number))
        log.say("tool/result", result(call_id, text, turn=number))
        return [one.text for one in log.say("turn/end", end(turn=number))]

    assert failing_turn(1, "c-1", MISSING) == [f"bash failed\n{MISSING}"]
    assert failing_turn(2, "c-2", "lost\n[exit code: 2]") == ["bash failed\nlost\n[exit code: 2]"]
    # The host wrote none of the two turns, was killed, and begins to count anew.
    assert failing_turn(1, "c-1", MISSING) == [f"bash failed\n{MISSING}"]
    assert len({one.id for one in log.events}) == 3
    log.say("turn/start", {"turn": 2})
    log.say("tool/result", result("c-1", "[pruned]\n[exit code: 1]"))
    assert log.say("turn/end", end(turn=2)) == []
    assert log.skipped["tool/result:copy"] == 1


def test_failures_come_before_the_words_of_the_turn_that_met_them() -> None:
    turn = Turn()
    turn.run("bash", MISSING)
    turn.say("assistant/message", assistant("It does not exist."))
    assert turn.end() == [f"bash failed\n{MISSING}", "It does not exist."]


def test_what_a_real_host_logged_of_failing_tools_becomes_one_event_a_run() -> None:
    log = Fold().take(captured("failing-tools-and-subagent"))
    assert [(one.speaker, one.text) for one in log.events if one.channel == "tool"] == [
        ("bash", f"bash failed (3 times)\n{MISSING}"),
        ("read", 'read failed\nError: cannot read "/nonexistent/nothing.txt": not found'),
        ("nosuch", 'nosuch failed\nError: unknown tool "nosuch"'),
        ("bash", "bash failed\n(no output)\n[killed by signal: SIGKILL]"),
    ]


def test_what_a_real_host_denied_is_told_as_denied() -> None:
    log = Fold().take(captured("denied"))
    assert [one.text.partition("\n")[0] for one in log.events if one.channel == "tool"] == [
        "write was denied",
        "bash failed",
        "write was denied",
    ]
