"""`foldstate show`: what a person, or another program, is told of a session's state."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from foldstate.kernel.event import Event
from foldstate.kernel.values import Json
from tests.support.host import Run, Running, command
from tests.support.recorded import record
from tests.support.release import bare_env, path_without_pnpm

NOW = datetime.now(UTC).replace(microsecond=0)
QUOTE = "The consulate still needs six months of paper statements, with the bank's own stamp on each page"
WIDE = "银行流水还没有交，截止到十二号请尽快补交材料"


@pytest.fixture(autouse=True)
def _now() -> None:
    """Ages count from each test's own beginning, however long the suite runs."""
    global NOW
    NOW = datetime.now(UTC).replace(microsecond=0)


def at(**ago: float) -> str:
    return (NOW + timedelta(**ago)).isoformat()


def event(name: str, channel: str, when: str, text: str) -> Event:
    return Event(id=name, channel=channel, speaker="someone", at=when, text=text)


def item(name: str, title: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "title": title, "weight": "normal", "kind": "fyi", **more}


class Sessions:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = self.home / "foldstate" / "sessions"
        self.env = {**bare_env(self.home, path_without_pnpm()), "TZ": "UTC", "LC_ALL": "en_US.UTF-8"}

    def show(self, *words: str, **env: str) -> Run:
        self.home.mkdir(exist_ok=True)
        return Running((str(command("foldstate")), "show", *words), self.home, {**self.env, **env}).finish()


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


def trip(sessions: Sessions, session: str = "session-aaa-1") -> None:
    """A state with all that a page can show."""
    cited: list[Json] = [{"channel": "email", "ref": "event:e1", "quote": QUOTE}]
    children: list[Json] = [
        item("appointment", "Appointment fixed", kind="done", summary="On the 12th at nine."),
        item("statements", "Statements missing", kind="needs-you", weight="high", due_at=at(hours=-3, minutes=-5)),
    ]
    first = [
        item("backup", "Nightly backup moved", weight="trace"),
        item("merged", "PR 410 merged", kind="done"),
        item("rehearsal", "Migration rehearsal runs", kind="in-progress", weight="high", stale_after=at(hours=-1)),
        item("gone", "Gone"),
        item(
            "bank",
            "Bank statement missing",
            kind="needs-you",
            weight="critical",
            summary="The agent asks for six months of paper statements by 18:00.",
            due_at=at(days=2),
            sources=cited,
            children=children,
        ),
    ]
    withdrawn: list[dict[str, Json]] = [{"id": "gone", "relation": "withdraw", "reason": "over"}]
    record(
        sessions.folder,
        session,
        [(at(hours=-4), first), (at(minutes=-6), withdrawn)],
        title="visa-trip",
        events=[event("e1", "email", at(days=-2), QUOTE)],
        waiting=[event("w1", "mail", at(minutes=-2), "x"), event("w2", "mail", at(minutes=-1), "y")],
        unheard={"mail": at(days=-3)},
    )


def test_a_page_shows_the_state_by_kind_and_rank(sessions: Sessions) -> None:
    trip(sessions)
    quoted = (NOW - timedelta(days=2)).strftime("%-d %b %H:%M")
    unheard = (NOW - timedelta(days=3)).strftime("%-d %b %H:%M")
    assert sessions.show().stdout.splitlines() == [
        "visa-trip · 43 of 64 · updated 6 min ago",
        "",
        " NEEDS YOU",
        "  1 ████████ Bank statement missing" + "in 2 days".rjust(45),
        "             The agent asks for six months of paper statements by 18:00.",
        f"             “{QUOTE[: 67 - 13 - len(quoted)].rstrip()}…” — email, {quoted}",
        "      1 ████     Statements missing · Needs you" + "3 h late".rjust(33),
        "      2 ██       Appointment fixed · Done",
        "                 On the 12th at nine.",
        " GOING ON",
        "  2 ████     Migration rehearsal runs",
        "             last known 4 h ago, to be checked",
        " DONE",
        "  3 ██       PR 410 merged",
        " FOR YOUR INFORMATION",
        "  4 ▎        Nightly backup moved",
        "",
        " 1 withdrawn or merged",
        " inputs that wait to be judged: 2",
        f" mail hasn't been heard since {unheard}; silence there says nothing",
    ]


def test_no_line_is_wider_than_the_page_and_no_wide_character_is_cut(sessions: Sessions) -> None:
    wide = item(
        "wide",
        WIDE,
        summary=WIDE + WIDE,
        due_at=at(minutes=40, seconds=30),
        weight="critical",
        share=63,
        reason="all",
        sources=[{"channel": "邮件", "ref": "event:e1", "quote": WIDE * 3}],
        children=[item("deep", WIDE, summary=WIDE, children=[item("deeper", WIDE, children=[item("deepest", WIDE)])])],
    )
    deep = wide["children"]
    assert isinstance(deep, list) and isinstance(deep[0], dict)
    record(
        sessions.folder,
        "wide",
        [(at(hours=-4), [{**wide, "children": [{**deep[0], "children": [item("deeper", WIDE)]}]}])],
        title=WIDE * 4,
        events=[event("e1", "邮件", at(days=-2), WIDE * 3)],
    )
    run = sessions.show(LC_ALL="zh_CN.UTF-8")
    lines = run.stdout.splitlines()
    assert max(map(cell_len, lines)) <= 80, run.stdout
    assert "\ufffd" not in run.stdout
    assert " 供了解" in lines
    joined = "".join(line.strip() for line in lines)
    assert WIDE * 4 in joined
    due = next(line for line in lines if "39 分钟后" in line or "40 分钟后" in line)
    assert cell_len(due) == 80


def test_control_characters_of_a_title_never_reach_the_terminal(sessions: Sessions) -> None:
    record(sessions.folder, "odd", [], title="a\x1b[31mred\r\nb\u202ec")
    head = sessions.show().stdout.splitlines()[0]
    assert head.startswith("a\ufffd[31mred b\ufffdc · 0 of 64")


def test_a_state_without_items_says_so(sessions: Sessions) -> None:
    record(sessions.folder, "empty", [])
    assert "Nothing to note yet." in sessions.show("empty").stdout
    gone: list[dict[str, Json]] = [{"id": "one", "relation": "withdraw", "reason": "over"}]
    record(sessions.folder, "over", [(at(hours=-2), [item("one", "One")]), (at(hours=-1), gone)])
    assert "Nothing stands in the state right now." in sessions.show("over").stdout


def test_a_check_that_changed_nothing_is_told_as_a_check(sessions: Sessions) -> None:
    record(sessions.folder, "one", [(at(hours=-5), [item("one", "One")]), (at(hours=-2), [])])
    assert "· checked 2 h ago" in sessions.show().stdout


def test_the_newest_session_that_has_a_state_is_shown(sessions: Sessions) -> None:
    for order, session in enumerate(("older", "newer", "stateless")):
        record(sessions.folder, session, [] if session == "stateless" else [(at(hours=-1), [item("one", session)])])
        for path in sessions.folder.glob(f"{session}-*.sqlite*"):
            os.utime(path, (NOW.timestamp() + order, NOW.timestamp() + order))
    assert sessions.show().stdout.startswith("newer ·")


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(sessions: Sessions) -> None:
    for session in ("Session-AB/1", "Session-AC/2", "Session-A"):
        record(sessions.folder, session, [(at(hours=-1), [item("one", "One")])])
    assert sessions.show("Session-AB").stdout.startswith("Session-AB/1 ·")
    assert sessions.show("Session-A").stdout.startswith("Session-A ·")
    run = sessions.show("Session-A ".strip()[:-1])
    assert run.code == 1
    for session in ("Session-AB/1", "Session-AC/2", "Session-A"):
        assert session in run.stderr


def test_an_unknown_session_is_answered_with_those_there_are(sessions: Sessions) -> None:
    trip(sessions)
    run = sessions.show("nowhere")
    assert run.code == 1 and run.stdout == ""
    assert "begins with “nowhere”" in run.stderr and "session-aaa-1" in run.stderr


def test_a_home_without_sessions_says_so(sessions: Sessions) -> None:
    for words in ((), ("any",)):
        run = sessions.show(*words)
        assert run.code == 1 and "No session" in run.stderr and str(sessions.folder) in run.stderr


def test_a_file_that_is_no_state_is_named_when_it_is_asked_for(sessions: Sessions) -> None:
    trip(sessions)
    path = next(sessions.folder.glob("*.sqlite"))
    path.write_bytes(b"not a database" * 1000)
    run = sessions.show("session-aaa-1")
    assert run.code == 1 and str(path) in run.stderr and len(run.stderr.splitlines()) == 1


def test_a_file_that_was_moved_aside_is_no_session_and_is_said(sessions: Sessions) -> None:
    trip(sessions)
    path = next(sessions.folder.glob("*.sqlite"))
    aside = path.with_name(f"{path.stem}.damaged-20261005T073000Z.sqlite")
    aside.write_bytes(path.read_bytes())
    run = sessions.show("session-aaa")
    joined = " ".join(line.strip() for line in run.stdout.splitlines())
    assert "The state's file was damaged" in joined
    assert aside.name in run.stdout.replace("\n", "").replace(" ", "")


def test_what_the_plugin_met_in_the_host_is_said(sessions: Sessions) -> None:
    trip(sessions)
    said(sessions, os.getpid(), reason="python is gone", errors={"surface": {"count": 3, "last": "no"}})
    shown = sessions.show().stdout
    assert "python is gone" in shown and "errors in the host, surface: 3, the last: no" in shown


def test_a_host_that_runs_well_hides_no_trouble_of_another_and_a_running_ones_comes_first(sessions: Sessions) -> None:
    trip(sessions)
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    said(sessions, int(gone.stdout), reason="the disk was full")
    said(sessions, os.getppid())
    assert "the disk was full" in sessions.show().stdout
    said(sessions, os.getpid(), reason="python is gone")
    shown = sessions.show().stdout
    assert "python is gone" in shown and "the disk was full" not in shown


def test_a_status_that_can_not_be_read_is_said(sessions: Sessions) -> None:
    trip(sessions)
    said(sessions, 1).write_bytes(b"{")
    assert "status/1.json" in sessions.show().stdout.replace("\n ", "").replace(" ", "")


def said(sessions: Sessions, pid: int, reason: str | None = None, errors: Json = None) -> Path:
    """What the plugin says of itself in the host with that process id."""
    path = sessions.home / "foldstate" / "status" / f"{pid}.json"
    path.parent.mkdir(exist_ok=True)
    status: Json = {"pid": pid, "at": at(), "sidecar": "failed", "reason": reason, "errors": errors or {}}
    path.write_bytes(msgspec.json.encode(status))
    return path


def test_json_is_the_state_with_its_session(sessions: Sessions) -> None:
    trip(sessions)
    shown = msgspec.json.decode(sessions.show("--json").stdout, type=dict[str, object])
    assert (shown["session"], shown["title"], shown["waiting"], shown["revision"]) == (
        "session-aaa-1",
        "visa-trip",
        2,
        2,
    )
    assert list(shown)[3:] == [
        "revision",
        "now",
        "last_checked_at",
        "last_seen_at",
        "since_seen",
        "root",
        "not_active",
        "not_active_omitted",
    ]
    root = shown["root"]
    assert isinstance(root, dict)
    assert [each["id"] for each in root["items"]] == ["bank", "rehearsal", "merged", "backup"]


def test_a_session_is_shown_while_another_process_owns_it(sessions: Sessions) -> None:
    from foldstate.sidecar.store.session_store import SessionStore

    trip(sessions)
    with SessionStore.open(sessions.folder, "session-aaa-1", lock_wait_s=1) as owner, owner.transaction():
        assert "visa-trip" in sessions.show("session-aaa-1").stdout


def in_terminal(sessions: Sessions, **env: str) -> str:
    """What a person's terminal is sent."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        (str(command("foldstate")), "show"),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**sessions.env, "TERM": "xterm-256color", "COLUMNS": "100", **env},
    ) as process:
        os.close(theirs)
        sent = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed: that is how a terminal tells it
                break
            if not piece:
                break
            sent += piece
    os.close(ours)
    assert process.returncode == 0
    return sent.decode()


def test_a_terminal_is_sent_styles_and_a_pipe_or_no_color_none(sessions: Sessions) -> None:
    trip(sessions)
    styled, plain = in_terminal(sessions), in_terminal(sessions, NO_COLOR="1")
    assert "\x1b[1;35m NEEDS YOU\x1b[0m" in styled
    assert "\x1b" not in plain
    assert plain.replace("\r\n", "\n") == sessions.show().stdout
    assert "\x1b" not in sessions.show(FORCE_COLOR="1").stdout


def test_an_output_that_lacks_the_characters_is_no_failure(sessions: Sessions) -> None:
    trip(sessions)
    run = sessions.show(PYTHONIOENCODING="ascii")
    assert run.code == 0 and "visa-trip ? 43 of 64" in run.stdout


def test_a_reader_that_has_seen_enough_is_no_failure(sessions: Sessions) -> None:
    trip(sessions)
    ours, theirs = os.pipe()
    os.close(ours)
    run = subprocess.run(
        (str(command("foldstate")), "show"),
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=sessions.env,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    assert run.stderr == b""
