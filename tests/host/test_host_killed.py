"""The host killed at random instants and resumed: nothing its log ends with is missing, doubled or made up."""

from __future__ import annotations

import os
import random
import re
import secrets
import signal
import time
from collections import Counter
from datetime import datetime

from tests.support.answers import Answer, Call, Reply, Script
from tests.support.driver import Log, final_log
from tests.support.editor import edit, read_round
from tests.support.host import HostHome
from tests.support.ledger import Ledger, read_ledger, wait_until_heard
from tests.support.messages import Request
from tests.support.model import ScriptedModel
from tests.support.oracle import facts

KILLS = 20
SEED = "FOLDSTATE_TEST_SEED"
EARLIEST_S = 0.15
"""A host that is killed before it has read its own profile has nothing to lose."""
ATTEMPTS = 40
STEPS = 6
THOUGHT_S = 0.07


def task(number: int) -> str:
    return f"Task {number:02}: look into it."


def last_words(number: int) -> str:
    return f"Task {number:02} is looked into."


def at_work(request: Request) -> Answer:
    """An agent that takes failing steps and good ones by turns, each after a little thought, then says so."""
    number, step = 0, 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            step += 1
        elif found := [match for text in message.texts if (match := re.match(r"Task (\d+)", text))]:
            number = int(found[0][1])
            break
    if step >= STEPS:
        return Reply(last_words(number), delay_s=THOUGHT_S)
    if step % 2:
        return Reply("", (Call("bash", {"command": "true", "description": "check"}),), delay_s=THOUGHT_S)
    path = f"/nowhere/{number:02}-{step}.txt"
    return Reply(f"Reading {path}.", (Call("read", {"file_path": path}),), delay_s=THOUGHT_S)


def milliseconds(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def begun(home: HostHome, model: ScriptedModel) -> str:
    """A first run that nothing disturbs; the session's id."""
    home.run(task(0)).answer()
    session = model.record.requests("main")[0].session
    assert session is not None
    return session


def check(log: Log, ledger: Ledger, note: str) -> list[str]:
    """Hold the ledger against the log that the host ended with.

    :returns: the texts of events whose entry the host has lost; the sidecar must know each such entry as taken.
    """
    said = facts(log)
    assert said.user, note
    words = ledger.texts("user")
    assert [text for text in said.user if words.count(text) != 1] == [], note
    told = [(milliseconds(event.at), event.text) for event in ledger.events if event.channel == "agent"]
    for turn in said.turns:
        [text] = [text for at, text in told if at == turn.ended]
        if turn.kind == "completed":
            assert text == turn.words, note
        else:  # an end that the host wrote when it was resumed: what was heard of the turn may be more than it kept
            assert text.startswith(f"Turn ended: {turn.kind}"), f"{turn} became {text!r}, {note}"
    failures = "\n".join(ledger.texts("tool"))
    for path in re.findall(r"/nowhere/[\d-]+\.txt", "\n".join(said.tool)):
        assert path in failures, f"{path} is in no event, {note}"
    assert ledger.doubled() == [], note

    lasting = {entry.time for entry in log.events}
    taken = {time for _, time in ledger.entries}
    gone = [event for event in ledger.events if milliseconds(event.at) not in lasting]
    assert [event for event in gone if milliseconds(event.at) not in taken] == [], f"made up, {note}"
    return [event.text for event in gone]


def test_after_20_kills_every_entry_that_the_log_ends_with_became_its_event_once_and_nothing_else_did(
    home: HostHome, model: ScriptedModel
) -> None:
    seed = int(os.environ.get(SEED) or secrets.randbelow(2**32))
    print(f"{SEED}={seed}")
    chance = random.Random(seed)
    model.script = Script(main=at_work, editor=edit)
    session = begun(home, model)
    usual = home.run(task(1), session)
    usual.answer()

    killed, number = 0, 1
    while killed < KILLS:
        number += 1
        assert number < 3 * KILLS, "the runs end before they can be killed"
        running = home.start(task(number), session)
        time.sleep(chance.uniform(EARLIEST_S, usual.seconds))
        run = running.end(signal.SIGKILL)
        killed += run.code == -signal.SIGKILL
        assert run.code in (0, -signal.SIGKILL), f"run {number} after {killed} kills: {run.stderr}"
    home.run(task(number + 1), session).answer()

    ledger = read_ledger(home, session)
    lost = check(final_log(home, session), ledger, f"seed {seed}")
    print(f"{number + 2} runs, {killed} kills, {len(ledger.events)} events, {len(lost)} of entries that the host lost")


def test_what_was_heard_and_is_gone_from_the_hosts_log_after_a_kill_stays_and_is_accounted_for(
    home: HostHome, model: ScriptedModel
) -> None:
    model.script = Script(main=at_work, editor=edit)
    session = begun(home, model)
    number = 0
    while not forgotten(read_ledger(home, session)):
        number += 1
        assert number <= ATTEMPTS, "no kill fell between the hearing and the writing"
        running = home.start(task(number), session)
        wait_until_heard(home, session, last_words(number))  # the host writes its log a few milliseconds later
        running.end(signal.SIGKILL)
    home.run(task(number + 1), session).answer()

    ledger = read_ledger(home, session)
    lost = check(final_log(home, session), ledger, f"after {number} kills")
    assert lost, f"the host forgot {forgotten(ledger)}, and nothing of it stayed"
    rounds = [read_round(request) for request in model.record.requests("editor")]
    assert "unknown" in {told.signal.coverage["agent"].status for told in rounds}, "the editor wasn't told"


def forgotten(ledger: Ledger) -> set[int]:
    """The numbers that the host gave out twice: what had them first is gone from its log."""
    counts = Counter(seq for seq, _ in ledger.entries)
    return {seq for seq, count in counts.items() if count > 1}
