"""The log: one JSON object a line, which nobody has to wait for."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldstate.sidecar.log import MAX_TEXT, WAITING, JsonLines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def logger_to(lines: JsonLines) -> logging.Logger:
    logger = logging.Logger("test")
    logger.addHandler(lines)
    return logger


def test_each_line_is_one_object_whatever_the_message_holds(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        lines = JsonLines(file.fileno())
        logger = logger_to(lines)
        logger.warning("two\nlines, 中文 and a lone \ud800")
        try:
            raise KeyError("gone")
        except KeyError:
            logger.exception("it failed", extra={"reference": "ab12"})
        logger.info("x" * (MAX_TEXT + 5))
        lines.wait(5)
    first, second, third = [json.loads(line) for line in path.read_text().splitlines()]
    assert first["message"] == "two\nlines, 中文 and a lone ?"
    assert first["level"] == "warning"
    assert second["reference"] == "ab12"
    assert "KeyError: 'gone'" in second["traceback"]
    assert len(third["message"]) == MAX_TEXT


def test_a_reader_that_hangs_holds_up_nobody_and_is_told_what_it_missed(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = JsonLines(writing)
    logger = logger_to(lines)
    for number in range(WAITING * 3):
        logger.warning("%s", str(number) * 40)
    lines.wait(0.01)
    text = b""
    while text.count(b"\n") < WAITING // 2:
        text += os.read(reading, 65536)
    logger.warning("the last")
    while b"the last" not in text or not text.endswith(b"\n"):
        text += os.read(reading, 65536)
    written = [json.loads(line) for line in text.splitlines()]
    dropped = sum(line.get("dropped", 0) for line in written)
    assert dropped > 0
    assert dropped + len(written) == WAITING * 3 + 1
