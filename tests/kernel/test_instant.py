from __future__ import annotations

import pytest

from foldstate.kernel import instant


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-16T16:00:00+08:00",
        "2026-10-16T16:00:00Z",
        "2026-10-16t16:00:00.5z",
        "1970-01-01T00:00:00+14:00",
        "9998-12-31T23:59:59-23:59",
        "2028-02-29T00:00:00-00:00",
    ],
)
def test_a_time_with_an_offset_is_an_instant(text: str) -> None:
    assert instant.parse(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-16T16:00:00",
        "2026-10-16",
        "2026-10-16 16:00:00Z",
        "2026-10-16T16:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-10-16T24:00:00Z",
        "2026-12-31T23:59:60Z",
        "2026-10-16T16:00:00+08",
        "2026-10-16T16:00:00+24:00",
        "2026-10-16T16:00:00+08:60",
        "1969-12-31T23:59:59Z",
        "9999-01-01T00:00:00Z",
        "2026-10-16T16:00:00Z\n",
        "２０２６-10-16T16:00:00Z",
        "",
    ],
)
def test_a_naive_or_impossible_time_is_none(text: str) -> None:
    assert instant.parse(text) is None


def test_the_same_instant_may_be_written_differently() -> None:
    assert instant.same("2026-10-16T16:00:00+08:00", "2026-10-16T08:00:00Z")
    assert not instant.same("2026-10-16T16:00:00+08:00", "2026-10-16T16:00:00Z")
    assert not instant.same(None, "2026-10-16T16:00:00Z")


def test_a_fraction_never_rounds_into_the_next_second() -> None:
    assert instant.seconds_between("2026-10-16T00:00:00Z", "2026-10-16T00:00:00.9999999Z") == 0


def test_seconds_are_negative_as_soon_as_the_time_is_past() -> None:
    assert instant.seconds_between("2026-10-16T00:00:00.5Z", "2026-10-16T00:00:00Z") == -1


def test_the_later_of_two_times_keeps_its_writing() -> None:
    assert instant.later("2026-10-16T16:00:00+08:00", "2026-10-16T08:00:01Z") == "2026-10-16T08:00:01Z"
    assert instant.later("2026-10-16T16:00:00+08:00", "2026-10-16T08:00:00Z") == "2026-10-16T16:00:00+08:00"
    assert instant.later("2026-10-16T16:00:00+08:00", None) == "2026-10-16T16:00:00+08:00"


def test_adding_seconds_keeps_the_offset() -> None:
    assert instant.plus_seconds("2026-10-16T23:59:58+08:00", 3) == "2026-10-17T00:00:01+08:00"
