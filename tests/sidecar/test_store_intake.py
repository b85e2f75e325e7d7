from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldstate.sidecar.store.intake_rows import KEPT_ENTRIES, IntakeRow
from foldstate.sidecar.store.session_store import SessionStore
from tests.sidecar.store_making import SESSION

T = 1_796_069_829_000
KIND = "user/message"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0) as opened:
        yield opened


def take(store: SessionStore, *keys: tuple[int, int], cursor: int | None = None) -> None:
    """Takes entries of one type; the cursor stands at the last one unless it went on over others."""
    with store.transaction():
        store.take_entries([(seq, time, KIND) for seq, time in keys])
        last = keys[-1] if keys else None
        stands = last[0] if cursor is None and last else cursor
        assert stands is not None
        store.save_intake(stands, last[1] if last and last[0] == stands else None, b"{}")


def test_intake_comes_back_as_it_was_saved(store: SessionStore) -> None:
    assert store.load_intake() is None
    with store.transaction():
        store.save_intake(7, T, b'{"a":1}')
        store.save_intake(9, None, b'{"a":2}')
    assert store.load_intake() == IntakeRow(9, None, b'{"a":2}')


def test_an_entry_is_the_same_only_if_seq_time_and_type_are(store: SessionStore) -> None:
    take(store, (4, T))
    assert store.entry_taken(4, T, KIND)
    assert not store.entry_taken(4, T + 1, KIND)
    assert not store.entry_taken(5, T, KIND)
    assert not store.entry_taken(4, T, "turn/end")


def test_only_the_newest_entries_are_remembered_and_older_ones_still_count_as_taken(store: SessionStore) -> None:
    last = KEPT_ENTRIES + 50
    take(store, *((seq, T + seq * 10) for seq in range(last)))
    assert all(store.entry_taken(seq, T + seq * 10, KIND) for seq in (0, 3, 49, 50, 51, last - 1))
    # A number that the host used again, as soon as it lies where both logs are remembered.
    assert not store.entry_taken(60, T + 600 + 1, KIND)
    assert not store.entry_taken(last, T + last * 10, KIND)


def test_a_new_session_is_sent_from_its_logs_start(store: SessionStore) -> None:
    assert store.resend_from((100, T)) == 0
    assert store.resend_from(None) == 0


def test_a_head_that_was_taken_is_followed_by_what_comes_after_it(store: SessionStore) -> None:
    take(store, (3, T), (5, T + 20), (8, T + 30))
    assert store.resend_from((8, T + 30)) == 9
    assert store.resend_from((5, T + 20)) == 6


def test_a_host_that_went_on_sends_again_what_it_may_have_lost_and_all_after(store: SessionStore) -> None:
    take(store, (3, T), (5, T + 50_000), (8, T + 55_000), (9, T + 60_000))
    assert store.resend_from((400, T + 90_000)) == 4
    assert store.resend_from(None) == 4


def test_an_entry_of_a_log_that_a_kill_cut_off_is_no_common_ground(store: SessionStore) -> None:
    take(store, (3, T), (40, T + 50_000))
    take(store, (20, T + 70_000), (21, T + 99_000))
    assert store.resend_from((400, T + 120_000)) == 21
    take(store, (22, T + 75_000))
    assert store.resend_from((400, T + 120_000)) == 4


def test_nothing_beyond_the_hosts_own_log_is_asked_for(store: SessionStore) -> None:
    take(store, (30, T), (50, T + 50_000))
    assert store.resend_from((60, T + 90_000)) == 31
    assert store.resend_from((10, T + 1000)) == 11
    assert store.resend_from((-1, 0)) == 0


def test_a_cursor_that_passed_over_unread_entries_does_not_hide_numbers_used_again(store: SessionStore) -> None:
    take(store, (1, T - 60_000), (3, T))
    with store.transaction():
        store.save_intake(60, None, b"{}")
    assert store.resend_from((70, T + 90_000)) == 2


def test_a_log_of_which_nothing_was_wanted_yet_is_sent_from_its_start(store: SessionStore) -> None:
    with store.transaction():
        store.save_intake(60, None, b"{}")
    assert store.resend_from((70, T)) == 0


def test_what_the_host_no_longer_has_is_counted_once_and_stays_taken(store: SessionStore) -> None:
    take(store, (3, T), (8, T + 10), (9, T + 20), (12, T + 30))
    with store.transaction():
        assert store.lose_entries(3, 9, [(8, T + 10, KIND), (9, T + 21, KIND)]) == 1
        assert store.lose_entries(3, 9, [(8, T + 10, KIND)]) == 0
    assert store.entry_taken(9, T + 20, KIND)
    assert store.resend_from((9, T + 20)) == 0
    assert store.resend_from((8, T + 10)) == 9


class Host:
    """A host's log: each entry has a time, and a kill loses those of the last 200 ms before it."""

    def __init__(self) -> None:
        self.now = T
        self.log: list[tuple[int, int, str, int]] = []
        self.facts = itertools.count()

    def append(self, gap: int, kind: str) -> None:
        self.now += gap
        self.log.append((len(self.log), self.now, kind, next(self.facts)))

    def kill(self, lost: int) -> None:
        self.log = [one for one in self.log if one[1] <= self.now - lost]

    @property
    def head(self) -> tuple[int, int]:
        return self.log[-1][:2] if self.log else (-1, 0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from([1, 5, 90, 400, 15_000]), st.sampled_from(["wanted", "other"])),
        st.tuples(st.just("kill"), st.integers(0, 200), st.booleans()),
        st.tuples(st.just("deafen"), st.just(0), st.booleans()),
        st.tuples(st.just("reconnect"), st.just(0), st.booleans()),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_whatever_is_killed_and_whenever_every_wanted_entry_that_the_host_still_has_is_taken_once(
    steps: list[tuple[str, int, str | bool]],
) -> None:
    """The bridge forwards each entry at once while connected; after a reconnect it sends from where it is told."""
    with tempfile.TemporaryDirectory() as folder, SessionStore.open(Path(folder), SESSION, lock_wait_s=0) as store:
        host = Host()
        got: list[int] = []
        connected = True

        def forward(entries: list[tuple[int, int, str, int]]) -> None:
            for seq, time, kind, fact in entries:
                with store.transaction():
                    wanted = kind == "wanted"
                    store.lose_entries(seq - 1, seq, [(seq, time, kind)] if wanted else [])
                    if wanted and not store.entry_taken(seq, time, kind):
                        got.append(fact)
                        store.take_entries([(seq, time, kind)])
                    store.save_intake(seq, time if wanted else None, b"{}")

        def reconnect() -> None:
            forward(host.log[store.resend_from(host.head) :])

        for step, amount, detail in [*steps, ("reconnect", 0, True)]:
            if step == "append":
                host.append(amount, str(detail))
                if connected:
                    forward(host.log[-1:])
            elif step == "kill":
                host.kill(amount)
                connected = bool(detail)
                if connected:
                    reconnect()
            elif step == "deafen":
                connected = False
            else:
                connected = True
                reconnect()
        wanted = {fact for _, _, kind, fact in host.log if kind == "wanted"}
        assert wanted <= set(got)
        assert len(got) == len(set(got))
