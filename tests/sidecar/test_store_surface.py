from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from foldstate.sidecar.store.errors import StoreUnavailable
from foldstate.sidecar.store.names import surface_path
from foldstate.sidecar.store.surface_file import SurfaceFile, write_surface


def read(path: Path) -> SurfaceFile:
    return msgspec.json.decode(path.read_bytes(), type=SurfaceFile)


def test_the_surface_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = surface_path(tmp_path, "session-one")
    write_surface(path, "session-one", 1, "first 标题", 9)
    write_surface(path, "session-one", 2, "second", 4)
    assert read(path) == SurfaceFile("session-one", 2, "second", 4)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_only_its_owner_can_read_the_surface_whatever_the_umask(tmp_path: Path) -> None:
    path = surface_path(tmp_path, "session-one")
    before = os.umask(0)
    try:
        write_surface(path, "session-one", 1, "text", 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_half_written_file_left_by_a_kill_is_no_obstacle_and_never_read(tmp_path: Path) -> None:
    path = surface_path(tmp_path, "session-one")
    path.with_name(f"{path.name}.new").write_bytes(b'{"session": "ses' * 1000)
    write_surface(path, "session-one", 1, "text", 1)
    assert read(path).text == "text"


def test_a_surface_that_cannot_be_written_is_said_and_the_old_one_stays(tmp_path: Path) -> None:
    path = surface_path(tmp_path, "session-one")
    write_surface(path, "session-one", 1, "old", 1)
    path.with_name(f"{path.name}.new").mkdir()
    with pytest.raises(StoreUnavailable, match="surface"):
        write_surface(path, "session-one", 2, "new", 1)
    assert read(path).text == "old"
