from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from foldstate.sidecar.store.names import session_stem


def test_a_hosts_session_id_gives_a_readable_name_that_never_changes() -> None:
    assert session_stem("session-3c4d8c65-f294-4213-830e-9a562136683b") == (
        "session-3c4d8c65-f294-4213-830e-9a562136-2a46dd6b56ff7987"
    )


def test_an_id_without_a_letter_or_digit_of_ascii_still_has_a_name() -> None:
    assert session_stem("会话").startswith("session-")
    assert session_stem("").startswith("session-")


def test_ids_that_a_slug_cannot_tell_apart_have_different_names() -> None:
    alike = ["a-b", "a/b", "a b", "A-B", "a--b", " a b ", "a-b-", "ａ-b", "a\x00b"]
    assert len({session_stem(one) for one in alike}) == len(alike)


@given(st.text())
def test_every_id_gives_a_name_that_any_file_system_takes(session: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}-[0-9a-f]{16}", session_stem(session))
