"""How times are told to a person."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from foldstate.sidecar.cli.when import Times
from foldstate.sidecar.cli.words import words

ZONE = timezone(timedelta(hours=8))
NOW = datetime(2026, 10, 5, 15, 30, tzinfo=ZONE)


def times(language: str = "en") -> Times:
    return Times(words("zh" if language == "zh" else "en"), NOW, ZONE)


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-10-05T15:30:59+08:00", "due now"),
        ("2026-10-05T15:29:01+08:00", "due now"),
        ("2026-10-05T16:10:00+08:00", "in 40 min"),
        ("2026-10-05T18:00:00+08:00", "today 18:00"),
        ("2026-10-05T12:00:00+02:00", "today 18:00"),
        ("2026-10-06T02:30:00+08:00", "in 11 h"),
        ("2026-10-06T23:59:00+08:00", "in 1 day"),
        ("2026-10-07T09:00:00+08:00", "in 2 days"),
        ("2026-10-12T18:00:00+08:00", "in 7 days"),
        ("2026-10-13T00:10:00+08:00", "13 Oct 00:10"),
        ("2027-10-12T18:00:00+08:00", "12 Oct 2027"),
        ("2026-10-05T15:10:00+08:00", "20 min late"),
        ("2026-10-05T12:30:00+08:00", "3 h late"),
        ("2026-10-04T12:30:00+08:00", "27 h late"),
        ("2026-10-02T12:30:00+08:00", "3 days late"),
    ],
)
def test_a_due_time_is_told_as_near_as_it_is(at: str, told: str) -> None:
    assert times().due(at) == told


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-10-05T15:29:30+08:00", "just now"),
        ("2026-10-05T16:00:00+08:00", "just now"),
        ("2026-10-05T15:24:00+08:00", "6 min ago"),
        ("2026-10-05T06:30:00+00:00", "1 h ago"),
        ("2026-09-28T15:30:00+08:00", "7 days ago"),
    ],
)
def test_a_past_time_is_told_as_a_span(at: str, told: str) -> None:
    assert times().past(at) == told


def test_chinese_puts_the_month_before_the_day() -> None:
    assert times("zh").clock("2026-09-01T08:05:00+08:00") == "9月1日 08:05"
    assert times("zh").due("2026-10-05T12:30:00+08:00") == "已过期 3 小时"
