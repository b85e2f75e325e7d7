"""The host's own lock on a profile's file, as the installer takes it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
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


KILLED = """
import os, signal, sys
from pathlib import Path
from foldstate.sidecar.cli.host_lock import host_lock

file = Path(sys.argv[1])
lock = file.with_name(f"{file.name}.lock")


def kill(event, arguments):
    if event != "os.kill" and os.path.lexists(lock):
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(kill)
with host_lock(file):
    pass
"""


def test_a_process_that_is_killed_the_instant_it_has_the_lock_leaves_one_that_is_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    run = subprocess.run((sys.executable, "-c", KILLED, str(file)), timeout=30, check=False)
    assert run.returncode == -signal.SIGKILL
    assert (tmp_path / "package.json.lock").exists()
    with host_lock(file, wait_s=0.1):
        pass


def test_a_file_system_without_links_has_the_lock_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(source))

    monkeypatch.setattr(os, "link", refused)
    with host_lock(tmp_path / "package.json"):
        assert (tmp_path / "package.json.lock").read_text() == f"{os.getpid()}\n"
        with pytest.raises(LockHeldError), host_lock(tmp_path / "package.json", wait_s=0.1):
            pass
    assert not list(tmp_path.iterdir())
