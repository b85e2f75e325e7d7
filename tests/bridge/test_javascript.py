"""The bridge's own tests, which Node runs: one test here for each file of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.node import node

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(__file__).parent.glob("*.test.mjs"))
FILE_S = 120


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.mjs"))
def test_the_bridges_own_tests_pass_in(file: Path) -> None:
    words = (node(), "--test", "--test-reporter=spec", str(file))
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=FILE_S, check=False)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"


def test_the_bridge_has_tests_of_its_own() -> None:
    assert FILES
