"""The host's own lock on a profile's file, as the installer takes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foldstate.sidecar.cli.host_lock import LockHeldError, host_lock


def test_the_lock_names_its_holder_and_goes_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "package.json.lock"
    with host_lock(tmp_path / "package.json"):
        assert lock.read_text() == f"{os.getpid()}\n"
    assert not lock.exists()


def test_the_lock_goes_when_its_holder_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), host_lock(tmp_path / "package.json"):
        raise RuntimeError
    assert not (tmp_path / "package.json.lock").exists()


@pytest.mark.parametrize("record", [f"{os.getpid()}\n", "", "not a number\n", "0\n", "9" * 12 + "\n"])
def test_a_lock_whose_holder_may_live_is_waited_for_and_left_alone(tmp_path: Path, record: str) -> None:
    lock = tmp_path / "package.json.lock"
    lock.write_text(record)
    with pytest.raises(LockHeldError) as held, host_lock(tmp_path / "package.json", wait_s=0.1):
        pass
    assert held.value.path == lock
    assert lock.read_text() == record
