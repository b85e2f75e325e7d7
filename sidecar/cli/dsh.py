"""The host's own command, and pnpm that its plugin command needs: finding them, and running them within bounds."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from foldstate.sidecar.cli.failure import CommandError
from foldstate.sidecar.cli.words import Words

PNPM_MAJOR = 10
"""The pnpm that DSH's plugin command was proven with; with any other, profiles are written without it."""

PROBE_S = 20.0
PLUGIN_S = 180.0
GONE_S = 5.0
"""For killed programs to be gone; one that nobody reaps seems to be there for ever."""


class Ran(Struct, frozen=True):
    """How a program ended. `said` is its last telling line, for a person."""

    ok: bool
    said: str


class Dsh(Struct, frozen=True):
    """The command `dsh`, for one home."""

    program: Path
    home: Path

    def plugin(self, profile: str, *arguments: str) -> Ran:
        """`dsh plugin --profile X …`; it makes a profile that isn't there yet, and takes the profile's lock itself."""
        return _run(
            [str(self.program), "plugin", "--profile", profile, *arguments],
            {**os.environ, "DSH_HOME": str(self.home)},
            self.home,
            PLUGIN_S,
        )


def find_dsh(given: Path | None, home: Path, words: Words) -> Dsh | None:
    """The command that was named, else the one installed beside this Python, else the one on PATH.

    :raises CommandError: the one that was named can't be run.
    """
    if given is not None:
        program = shutil.which(given.expanduser())
        if program is None:
            raise CommandError(words.dsh_not_found.format(path=given))
        return Dsh(Path(program).absolute(), home)
    beside = shutil.which("dsh", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("dsh")
    return None if found is None else Dsh(Path(found).absolute(), home)


def has_pnpm(folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether the pnpm that DSH needs is on PATH and runs. It is asked in `folder`, not in some project."""
    program = shutil.which("pnpm", path=environment.get("PATH"))
    if program is None:
        return False
    ran = _run([program, "--version"], {**environment, "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0"}, folder, PROBE_S)
    version = re.fullmatch(r"(\d+)\.\S+", ran.said)
    return ran.ok and version is not None and int(version[1]) == PNPM_MAJOR


def _run(command: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_s: float) -> Ran:
    """Runs a program to its end; when it takes too long, or we are ended, it and whatever it started are ended."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(ok=False, said=f"{command[0]}: {error.strerror or error}")
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return Ran(ok=False, said=f"{Path(command[0]).name} didn't end within {timeout_s:.0f} s")
        except BaseException:
            _end(process)
            raise
    return Ran(ok=process.returncode == 0, said=_telling_line(output.decode(errors="replace")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and what it started, and waits until none of them can write any more."""
    if sys.platform == "win32":
        process.kill()
        return
    until = time.monotonic() + GONE_S
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(GONE_S)
        while time.monotonic() < until:
            os.killpg(process.pid, 0)
            time.sleep(0.01)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        return


def _telling_line(output: str) -> str:
    """An error's line where one is marked as such, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if "ERR_" in line or line.lower().startswith(("error", "dsh: error"))]
    return (marked or lines or [""])[-1]
