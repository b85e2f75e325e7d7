from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from foldstate.kernel.state import Item
from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.errors import (
    StoreDamaged,
    StoreMissing,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from foldstate.sidecar.store.head import Head
from foldstate.sidecar.store.migrations import MIGRATIONS, Migration, migrate, version_of
from foldstate.sidecar.store.names import database_path, lock_path
from foldstate.sidecar.store.session_store import SessionStore, open_reader
from tests.sidecar.store_making import SESSION, add, event, item, record, state


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def opened(folder: Path, session: str = SESSION) -> SessionStore:
    return SessionStore.open(folder, session, lock_wait_s=0)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_was_committed_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        add(store, event("e-1"))
    with opened(tmp_path) as store:
        assert store.event("e-1") == event("e-1")
        assert store.load_head().session == SESSION
        assert store.moved_aside is None


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
@pytest.mark.parametrize("bits", [0o000, 0o022, 0o077])
def test_only_the_owner_of_the_machine_account_can_read_a_session_whatever_the_umask(tmp_path: Path, bits: int) -> None:
    folder = tmp_path / "foldstate" / "sessions"
    with umask(bits), opened(folder) as store:
        add(store, event("e-1"))
        files = {path.name: mode(path) for path in folder.iterdir()}
    assert mode(folder) == 0o700
    assert {name.rpartition(".")[2] for name in files} == {"sqlite", "sqlite-wal", "sqlite-shm", "lock"}
    assert set(files.values()) == {0o600}


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_a_file_that_others_could_read_is_closed_to_them_when_it_is_opened(tmp_path: Path) -> None:
    opened(tmp_path).close()
    database_path(tmp_path, SESSION).chmod(0o644)
    with opened(tmp_path) as store:
        assert mode(store.path) == 0o600


def test_a_second_opening_reads_what_the_owner_writes_and_cannot_write(tmp_path: Path) -> None:
    with opened(tmp_path) as owner, opened(tmp_path) as second:
        assert second.read_only
        assert not owner.read_only
        add(owner, event("e-1"))
        assert second.event("e-1") == event("e-1")
        with pytest.raises(StoreReadOnly), second.transaction():
            second.add_event(event("e-2"), digest="d", heard_at="2026-05-01T12:00:00Z")
    with opened(tmp_path) as third:
        assert not third.read_only
        assert third.event("e-2") is None


HOLDER = """
import sys
from pathlib import Path
from foldstate.sidecar.store.session_store import SessionStore
from tests.sidecar.store_making import add, event
store = SessionStore.open(Path(sys.argv[1]), sys.argv[2], lock_wait_s=0)
for number in range(10**6):
    add(store, event(f"e-{number}"))
    print(number, flush=True)
"""


def test_what_an_owner_acknowledged_survives_its_kill_and_its_lock_does_not(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), SESSION], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    acknowledged = [holder.stdout.readline() for _ in range(40)]
    with opened(tmp_path) as second:
        assert second.read_only
    os.kill(holder.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    acknowledged += holder.stdout.readlines()
    holder.wait()
    holder.stdout.close()
    ids = [f"e-{int(line)}" for line in acknowledged if line.endswith("\n")]
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=5) as store:
        assert not store.read_only
        assert store.moved_aside is None
        assert set(store.events(ids)) == set(ids)
        assert store.waiting_summary().count in (len(ids), len(ids) + 1)


def test_a_reader_sees_each_commit_without_taking_the_lock(tmp_path: Path) -> None:
    with opened(tmp_path) as owner, open_reader(tmp_path, SESSION) as reader:
        add(owner, event("e-1"))
        with reader.transaction():
            assert reader.waiting_summary().count == 1
            add(owner, event("e-2"))
            assert reader.waiting_summary().count == 1
        assert reader.waiting_summary().count == 2


def test_a_reader_of_a_session_without_a_file_is_told_so_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        open_reader(tmp_path, SESSION)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_a_later_version_is_refused_and_left_byte_for_byte(tmp_path: Path) -> None:
    opened(tmp_path).close()
    path = database_path(tmp_path, SESSION)
    # A crash of the later version leaves a WAL behind, which belongs to the file.
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    crashed = contents(tmp_path)
    writer.close()
    for name, data in crashed.items():
        (tmp_path / name).write_bytes(data)
    assert path.with_name(path.name + "-wal").stat().st_size > 0
    before = {name: data for name, data in contents(tmp_path).items() if not name.endswith(("-shm", ".lock"))}
    with pytest.raises(StoreNewer, match="upgrade"):
        opened(tmp_path)
    with pytest.raises(StoreNewer, match="upgrade"):
        open_reader(tmp_path, SESSION)
    after = {name: data for name, data in contents(tmp_path).items() if not name.endswith(("-shm", ".lock"))}
    assert after == before


def test_a_file_that_is_no_database_is_set_aside_whole_and_a_fresh_one_made(tmp_path: Path) -> None:
    path = database_path(tmp_path, SESSION)
    path.write_bytes(b"this is no database\n" * 1000)
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(b"nor is this")
    with opened(tmp_path) as store:
        assert store.moved_aside is not None
        assert store.moved_aside.read_bytes() == b"this is no database\n" * 1000
        assert store.moved_aside.with_name(store.moved_aside.name + "-wal").read_bytes() == b"nor is this"
        assert store.moved_aside.name.startswith(f"{path.stem}.damaged-")
        assert store.load_state().revision == 0
        add(store, event("e-1"))
    with opened(tmp_path) as store:
        assert store.moved_aside is None
        assert store.event("e-1") is not None


def test_files_set_aside_in_the_same_second_do_not_overwrite_each_other(tmp_path: Path) -> None:
    kept = {}
    for number in range(4):
        content = f"no database {number}".encode() * 400
        database_path(tmp_path, SESSION).write_bytes(content)
        with opened(tmp_path) as store:
            assert store.moved_aside is not None
            kept[store.moved_aside] = content
    assert len(kept) == 4
    assert all(path.read_bytes() == content for path, content in kept.items())


def full(folder: Path) -> Path:
    """A session with enough in it that every table has pages of its own."""
    with opened(folder) as store:
        add(store, *(event(f"e-{number}", text="x" * 900) for number in range(200)))
        with store.transaction():
            items = [item(f"i-{number}", "t" * 20) for number in range(200)]
            store.save_batch(record("b-1", 1), state(1, *items), frozenset(one.id for one in items))
    return database_path(folder, SESSION)


def corrupt(path: Path, table: str) -> None:
    """Overwrites the table's root page."""
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)


@pytest.mark.parametrize("table", ["head", "items", "sqlite_schema"])
def test_damage_in_what_an_opening_reads_sets_the_file_aside(tmp_path: Path, table: str) -> None:
    path = full(tmp_path)
    if table == "sqlite_schema":
        with path.open("r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 200)
    else:
        corrupt(path, table)
    damaged = path.read_bytes()
    with opened(tmp_path) as store:
        assert store.moved_aside is not None
        assert store.moved_aside.read_bytes() == damaged
        assert store.load_state().items == {}


def test_damage_that_shows_later_is_said_and_sets_the_file_aside_at_the_next_opening(tmp_path: Path) -> None:
    corrupt(full(tmp_path), "events")
    with opened(tmp_path) as store:
        assert store.moved_aside is None
        with pytest.raises(StoreDamaged, match="open the session again"):
            store.waiting(10)
    with opened(tmp_path) as store:
        assert store.moved_aside is not None
        assert store.waiting(10) == []
    with opened(tmp_path) as store:
        assert store.moved_aside is None


def test_a_stored_value_that_cannot_be_read_counts_as_damage(tmp_path: Path) -> None:
    path = full(tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE events SET body = x'7b' WHERE id = 'e-7'")
    with opened(tmp_path) as store, pytest.raises(StoreDamaged):
        store.event("e-7")
    with opened(tmp_path) as store:
        assert store.moved_aside is not None


def rewrite(path: Path, sql: str) -> None:
    """Changes the file's rows as no program of ours would."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE head SET body = x'7b'",
        "UPDATE head SET body = CAST('[]' AS BLOB)",
        "UPDATE head SET revision = 'many'",
        "INSERT INTO intake (only_one, cursor, state) VALUES (1, 3, x'7b7d7d')",
        "INSERT INTO intake (only_one, cursor, state) VALUES (1, 3, CAST('\"text\"' AS BLOB))",
        "INSERT INTO intake (only_one, cursor, state) VALUES (1, 3, x'7b22ff223a317d')",
        "INSERT INTO intake (only_one, cursor, state) VALUES (1, 3, CAST('{\"a\":' || "
        "replace(hex(zeroblob(9999)), '0', '[') AS BLOB))",
        "INSERT INTO coverage (channel, status, since) VALUES ('user', 'perhaps', 'now')",
    ],
)
def test_rows_that_every_opening_reads_are_looked_at_before_they_lock_anyone_out(tmp_path: Path, sql: str) -> None:
    path = full(tmp_path)
    rewrite(path, sql)
    with opened(tmp_path) as store:
        assert store.moved_aside is not None
        assert (store.load_head(), store.load_intake(), store.coverage()) == (Head(SESSION), None, {})
    with opened(tmp_path) as store:
        assert store.moved_aside is None


def test_a_value_that_only_its_owner_can_judge_is_decoded_as_damage_too(tmp_path: Path) -> None:
    with opened(tmp_path) as store, store.transaction():
        store.save_intake(3, None, b'{"turn":"the third"}')
    with opened(tmp_path) as store:
        row = store.load_intake()
        assert row is not None
        assert store.decode(row.state, dict) == {"turn": "the third"}
        sound = store.damaged
        with pytest.raises(StoreDamaged, match="Item"):
            store.decode(row.state, Item)
        assert (sound, store.damaged) == (False, True)
        mark = store.path.with_suffix(".suspect")
        assert not mark.exists()
    assert mark.exists()


def test_a_condemned_file_is_set_aside_whole_and_a_fresh_one_made(tmp_path: Path) -> None:
    path = full(tmp_path)
    before = path.read_bytes()
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0, condemned=True) as store:
        assert store.moved_aside is not None
        assert store.moved_aside.read_bytes() == before
        assert (store.load_state().items, store.waiting(10)) == ({}, [])
        add(store, event("e-1"))
    with opened(tmp_path) as store:
        assert store.moved_aside is None
        assert store.event("e-1") == event("e-1")


def test_to_condemn_a_session_that_has_no_file_yet_sets_nothing_aside(tmp_path: Path) -> None:
    with SessionStore.open(tmp_path, SESSION, lock_wait_s=0, condemned=True) as store:
        assert store.moved_aside is None
        assert not store.read_only


def test_no_one_but_its_owner_can_condemn_a_file_and_no_one_a_later_versions_or_another_sessions(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as owner:
        add(owner, event("e-1"))
        with SessionStore.open(tmp_path, SESSION, lock_wait_s=0, condemned=True) as second:
            assert (second.read_only, second.moved_aside) == (True, None)
            assert second.event("e-1") == event("e-1")
    path = database_path(tmp_path, SESSION)
    rewrite(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreNewer):
        SessionStore.open(tmp_path, SESSION, lock_wait_s=0, condemned=True)
    opened(tmp_path, "session-two").close()
    database_path(tmp_path, "session-two").replace(path)
    with pytest.raises(StoreUnavailable, match="session-two"):
        SessionStore.open(tmp_path, SESSION, lock_wait_s=0, condemned=True)
    assert list(tmp_path.glob("*.damaged-*")) == []


def held(folder: Path) -> list[str]:
    """The files of the folder, removed ones too, that this process has open."""
    links = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]  # noqa: PTH115
    return [link for link in links if link.startswith(str(folder))]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files there")
@pytest.mark.parametrize("damaged", [False, True])
def test_a_session_whose_folder_was_removed_while_it_was_open_lets_go_of_everything(
    tmp_path: Path, damaged: bool
) -> None:
    folder = tmp_path / "sessions"
    store = opened(folder)
    add(store, event("e-1"))
    assert held(folder) != []
    if damaged:
        with pytest.raises(StoreDamaged):
            store.decode(b"{", Item)
    shutil.rmtree(folder)
    if damaged:
        with pytest.raises(StoreUnavailable, match="suspect"):
            store.close()
    else:
        store.close()
    assert held(folder) == []
    with opened(folder) as again:
        assert not again.read_only


def test_a_mark_of_damage_that_cannot_be_made_is_said_once_the_lock_is_free(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.path.with_suffix(".suspect").symlink_to(tmp_path / "nowhere" / "file")
    with pytest.raises(StoreDamaged):
        store.decode(b"{", Item)
    with pytest.raises(StoreUnavailable, match="suspect"):
        store.close()
    with opened(tmp_path) as again:
        assert not again.read_only


def test_a_mark_of_damage_that_cannot_be_removed_is_said_and_the_next_opening_succeeds(tmp_path: Path) -> None:
    opened(tmp_path).close()
    mark = database_path(tmp_path, SESSION).with_suffix(".suspect")
    mark.mkdir()
    with pytest.raises(StoreUnavailable, match="suspect"):
        opened(tmp_path)
    mark.rmdir()
    with opened(tmp_path) as store:
        assert not store.read_only


def test_a_damaged_file_that_cannot_be_set_aside_is_said_and_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database_path(tmp_path, SESSION)
    path.write_bytes(b"no database" * 1000)

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refuse)
        with pytest.raises(StoreUnavailable, match=os.strerror(errno.EROFS)):
            opened(tmp_path)
    assert path.read_bytes() == b"no database" * 1000
    with opened(tmp_path) as store:
        assert not store.read_only
        assert store.moved_aside is not None


def test_a_database_of_another_program_is_set_aside_not_written_to(tmp_path: Path) -> None:
    path = database_path(tmp_path, SESSION)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with opened(tmp_path) as store:
        assert store.moved_aside is not None
        assert store.moved_aside.read_bytes() == before


def test_another_sessions_file_under_this_name_is_refused(tmp_path: Path) -> None:
    opened(tmp_path, "session-two").close()
    database_path(tmp_path, "session-two").rename(database_path(tmp_path, SESSION))
    with pytest.raises(StoreUnavailable, match="session-two"):
        opened(tmp_path)
    with pytest.raises(StoreUnavailable, match="session-two"):
        open_reader(tmp_path, SESSION)
    assert not lock_is_held(tmp_path)


def lock_is_held(folder: Path) -> bool:
    """A refused opening must not keep the lock."""
    database_path(folder, SESSION).unlink()
    with opened(folder) as store:
        return store.read_only


def test_a_kill_between_making_the_file_and_its_first_commit_leaves_a_session_that_opens(tmp_path: Path) -> None:
    database_path(tmp_path, SESSION).touch()
    with opened(tmp_path) as store:
        assert store.moved_aside is None
        add(store, event("e-1"))


def test_a_migration_that_fails_leaves_the_older_format_whole(tmp_path: Path) -> None:
    opened(tmp_path).close()
    first = len(MIGRATIONS)
    good = Migration("a column", ("ALTER TABLE skips ADD COLUMN note TEXT",))
    bad = Migration("half done", ("CREATE TABLE extra (a)", "CREATE TABLE extra (a)"))
    with closing(Database(database_path(tmp_path, SESSION), read_only=False)) as database:
        with pytest.raises(StoreUnavailable, match="extra"):
            migrate(database, (*MIGRATIONS, good, bad))
        assert version_of(database) == first + 1
        names = [name for (name,) in database.all(tuple[str], "SELECT name FROM migrations ORDER BY version")]
        assert names == [*(one.name for one in MIGRATIONS), "a column"]
        assert database.one(tuple[int], "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == (0,)
        migrate(database, (*MIGRATIONS, good))
        assert version_of(database) == first + 1


def test_a_folder_that_cannot_be_made_is_said_by_name(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file in the way")
    with pytest.raises(StoreUnavailable, match="sessions"):
        opened(tmp_path / "sessions")


def test_a_lock_file_alone_blocks_nobody(tmp_path: Path) -> None:
    lock_path(tmp_path, SESSION).write_text("left by a process that is gone")
    with opened(tmp_path) as store:
        assert not store.read_only


DISK_FULL = """
import resource, signal, sys
from pathlib import Path
from foldstate.sidecar.store.errors import StoreUnavailable
from foldstate.sidecar.store.session_store import SessionStore
from tests.sidecar.store_making import SESSION, add, event
store = SessionStore.open(Path(sys.argv[1]), SESSION, lock_wait_s=0)
add(store, event("before"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
try:
    add(store, *(event(f"e-{number}", text="x" * 60_000) for number in range(40)))
except StoreUnavailable:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert store.event("e-0") is None
    add(store, event("after"))
    print(sorted(one.id for one in store.waiting(100)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files there")
def test_a_full_disk_is_said_and_keeps_nothing_of_the_transaction(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", DISK_FULL, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (ran.stdout.strip(), ran.returncode) == ("['after', 'before']", 0), ran.stderr
    with opened(tmp_path) as store:
        assert [one.id for one in store.waiting(100)] == ["before", "after"]
