"""The host killed at random instants and resumed: nothing its log ends with is missing, doubled or made up."""

from __future__ import annotations

import os
import random
import re
import secrets
import signal
import time
from datetime import datetime

from tests.support.answers import Answer, Call, Reply, Script
from tests.support.driver import final_log
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.ledger import read_ledger
from tests.support.messages import Request
from tests.support.model import ScriptedModel
from tests.support.oracle import facts

KILLS = 20
SEED = "FOLDSTATE_TEST_SEED"
EARLIEST_S = 0.15
"""A host that is killed before it has read its own profile has nothing to lose."""


def task(number: int) -> str:
    return f"Task {number:02}: look into it."


def at_work(request: Request) -> Answer:
    """An agent that takes a failing step, a good one and says so, each after a little thought."""
    number, answered = 0, 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            answered += 1
        elif found := [match for text in message.texts if (match := re.match(r"Task (\d+)", text))]:
            number = int(found[0][1])
            break
    steps = (
        Reply(f"Reading {number:02}.", (Call("read", {"file_path": f"/nowhere/{number:02}.txt"}),), delay_s=0.1),
        Reply("", (Call("bash", {"command": "true", "description": "check"}),), delay_s=0.1),
        Reply(f"Task {number:02} is looked into.", delay_s=0.1),
    )
    return steps[min(answered, 2)]


def milliseconds(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def test_after_20_kills_every_entry_that_the_log_ends_with_became_its_event_once_and_nothing_else_did(
    home: HostHome, model: ScriptedModel
) -> None:
    seed = int(os.environ.get(SEED) or secrets.randbelow(2**32))
    print(f"{SEED}={seed}")
    chance = random.Random(seed)
    model.script = Script(main=at_work, editor=edit)
    first = home.run(task(0))
    first.answer()
    session = model.record.requests("main")[0].session
    assert session is not None

    killed = number = 0
    while killed < KILLS:
        number += 1
        assert number < 3 * KILLS, "the runs end before they can be killed"
        running = home.start(task(number), session)
        time.sleep(chance.uniform(EARLIEST_S, first.seconds))
        run = running.end(signal.SIGKILL)
        killed += run.code == -signal.SIGKILL
        assert run.code in (0, -signal.SIGKILL), f"run {number} after {killed} kills: {run.stderr}"
    home.run(task(number + 1), session).answer()

    log = final_log(home, session)
    ledger = read_ledger(home, session)
    said = facts(log)
    assert said.user, "the log holds what the user said"
    words = ledger.texts("user")
    assert [text for text in said.user if words.count(text) != 1] == [], f"seed {seed}"
    told = [(milliseconds(event.at), event.text) for event in ledger.events if event.channel == "agent"]
    for turn in said.turns:
        assert [text.endswith(turn.words) for at, text in told if at == turn.ended] == [True], f"{turn}, seed {seed}"
    failures = "\n".join(ledger.texts("tool"))
    for path in re.findall(r"/nowhere/\d+\.txt", "\n".join(said.tool)):
        assert path in failures, f"{path} is in no event, seed {seed}"
    assert ledger.doubled() == [], f"seed {seed}"

    lasting = {entry.time for entry in log.events}
    taken = {time for _, time in ledger.entries}
    lost = [event for event in ledger.events if milliseconds(event.at) not in lasting]
    made_up = [event for event in lost if milliseconds(event.at) not in taken]
    assert made_up == [], f"seed {seed}"
    print(f"{number + 2} runs, {killed} kills, {len(ledger.events)} events, {len(lost)} of entries that the host lost")
