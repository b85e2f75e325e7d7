"""The demo tells its story to the end, or says why not; a scripted model stands in for the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.answers import Failure, Script, say
from tests.support.demo.scene import SCRIPT
from tests.support.model import ScriptedModel

ROOT = Path(__file__).parents[2]
DEMO_S = 120


def demo(folder: Path, model: ScriptedModel) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DEEPSEEK_API_KEY": "some", "DEEPSEEK_BASE_URL": model.base_url}
    words = (sys.executable, "-m", "tests.support.demo")
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=DEMO_S, check=False)


def test_the_demo_shows_what_ran_the_state_the_block_and_the_cost(model: ScriptedModel, tmp_path: Path) -> None:
    model.script = SCRIPT
    run = demo(tmp_path, model)
    assert run.returncode == 0, run.stdout + run.stderr
    for heading in ("1  What ran", "2  The state", "3  The block", "4  What it cost"):
        assert heading in run.stdout
    assert max(len(line) for line in run.stdout.splitlines()) <= 80
    assert "Release 2.4 is due today" in run.stdout
    assert "<foldstate>" in run.stdout


def test_the_demo_ends_with_the_reason_where_a_step_fails(model: ScriptedModel, tmp_path: Path) -> None:
    model.script = Script(main=lambda _request: Failure(400, "the key was refused"), editor=say("{}"))
    run = demo(tmp_path, model)
    assert run.returncode == 1
    assert "the key was refused" in run.stderr
