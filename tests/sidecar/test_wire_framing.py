"""Cutting a stream of bytes into bodies, however it arrives."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldstate.sidecar.wire.reader import MAX_BODY, FrameParser, StreamBroken


@given(bodies=st.lists(st.binary(max_size=60), max_size=6), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_bodies_come_out_the_same_however_the_stream_is_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    parser = FrameParser()
    found = [body for start, end in pairwise(places) for body in parser.feed(stream[start:end])]
    assert found == bodies
    assert not parser.midway


@pytest.mark.parametrize(
    "part", [b"C", b"Content-Length: 3\r\n", b"Content-Length: 3\r\n\r\n", b"Content-Length: 3\r\n\r\nab"]
)
def test_a_frame_that_has_begun_is_known_to_be_midway(part: bytes) -> None:
    parser = FrameParser()
    assert list(parser.feed(part)) == []
    assert parser.midway


def test_what_came_before_the_break_still_comes_out() -> None:
    parser = FrameParser()
    bodies = parser.feed(b"Content-Length: 2\r\n\r\n{}Content-Length: -5\r\n\r\n")
    assert next(bodies) == b"{}"
    with pytest.raises(StreamBroken, match="whole number"):
        next(bodies)


def test_a_body_that_is_too_long_is_refused_before_any_of_it_is_kept() -> None:
    with pytest.raises(StreamBroken, match=str(MAX_BODY)):
        list(FrameParser().feed(b"Content-Length: %d\r\n" % (MAX_BODY + 1)))
