"""The real host, run in a home of its own against a scripted model: new runs, resumed ones, killed ones."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tests.support.processes import Left, left_after

RUN_S = 60.0
"""No run of the host takes longer; one that does is ended, and the test fails."""
REAL_RUN_S = 600.0
MEND = "run `make setup`: it installs the agent host into .venv"


class HostMissingError(RuntimeError):
    """The agent host isn't installed beside this interpreter. It says how to mend it."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"the agent host is missing at {path}: {MEND}")


def command(name: str) -> Path:
    """A command of this interpreter's own environment.

    :raises HostMissingError: it isn't there.
    """
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        raise HostMissingError(path)
    return path


class Run(Struct, frozen=True):
    """One run of the host that has ended."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    def answer(self) -> str:
        """What it printed for its user.

        :raises AssertionError: the run failed; the message holds what it said.
        """
        assert self.code == 0, f"the host's run ended with {self.code}:\n{self.stdout}\n{self.stderr}"
        return self.stdout.strip()


class Running:
    """One run of the host that is under way, in a process group of its own."""

    def __init__(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], *, stdin: int = subprocess.DEVNULL
    ) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            words,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, timeout_s: float = RUN_S) -> Run:
        """Wait for its end; past `timeout_s` it is killed, and its code says so."""
        try:
            stdout, stderr = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            stdout, stderr = self.process.communicate()
        return Run(self.process.returncode, stdout, stderr, time.monotonic() - self.started)

    def end(self, how: signal.Signals) -> Run:
        """Signal the host alone, as a terminal or a supervisor would, and wait for its end."""
        self.process.send_signal(how)
        return self.finish()


class HostHome:
    """A DSH_HOME with its workspace, both under one folder whose path is the mark of every process that it starts."""

    def __init__(self, folder: Path, base_url: str, api_key: str = "none") -> None:
        self.folder = folder
        self.home = folder / "home"
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self._base_url = base_url
        self._api_key = api_key

    def copy(self, folder: Path, base_url: str) -> HostHome:
        """A home of its own with all that this one holds."""
        shutil.copytree(self.home, folder / "home", symlinks=True)
        return HostHome(folder, base_url)

    @property
    def env(self) -> dict[str, str]:
        """What a run is given: nothing of the caller's but the path, its own HOME and the offline settings."""
        return {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath)),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
            "DSH_HOME": str(self.home),
            "DSH_TELEMETRY_DISABLED": "1",
            "DSH_PERMISSION_MODE": "danger-full-access",
            "DEEPSEEK_API_KEY": self._api_key,
            "DEEPSEEK_BASE_URL": self._base_url,
        }

    def start(self, task: str, session: str | None = None, env: Mapping[str, str] | None = None) -> Running:
        """Begin a headless run of `task`, in a new session or in one that was there before."""
        resume = () if session is None else ("--session-id", session)
        words = (str(command("dsh")), "headless", *resume, task)
        return Running(words, self.workspace, {**self.env, **(env or {})})

    def run(self, task: str, session: str | None = None, env: Mapping[str, str] | None = None) -> Run:
        return self.start(task, session, env).finish()

    def headless(self, *words: str) -> Run:
        """The host's headless program with these arguments; a real model may take its time over them."""
        return Running((str(command("dsh")), "headless", *words), self.workspace, self.env).finish(REAL_RUN_S)

    def foldstate(self, *words: str) -> Run:
        """Our own command line, as a user of this home would call it."""
        return Running((str(command("foldstate")), *words), self.workspace, self.env).finish()

    def install(self, profile: str) -> None:
        """Put the plugin into a profile, by the command that users have.

        :raises AssertionError: the installer failed; the message holds what it said.
        """
        self.foldstate("install", "--profile", profile, "--dsh", str(command("dsh"))).answer()

    def left(self, within_s: float = 3.0) -> list[Left]:
        """The processes of this home that are still there after a while."""
        return left_after(str(self.folder), within_s)
