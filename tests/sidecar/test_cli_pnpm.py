"""`foldstate install` through a pnpm that fails, hangs or is ended: what is put back, and what is left to others.

The host and its pnpm are small programs here, so that each is at the instant that a test is about.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.support.host import Run, Running, command
from tests.support.processes import left_after
from tests.support.release import Release, bare_env, path_without_pnpm, release

FOUND = b'{"dependencies": {"kept": "1.0.0"}, "dsh": {"profile": {"bundles": ["kept"]}}}'
LOCK = """lockfileVersion: '9.0'

settings:
  autoInstallPeers: false

importers:

  .:
    dependencies:
{importers}
packages:

{packages}
snapshots:

{snapshots}
"""
PNPM = "#!/bin/sh\necho 10.34.8\n"
DSH = """
import json, os, shutil, subprocess, sys, time
from pathlib import Path

HOME = Path(os.environ["DSH_HOME"])
FOLDER = HOME / "profiles" / sys.argv[3]
MANIFEST, LOCK = FOLDER / "package.json", FOLDER / "pnpm-lock.yaml"


def put(name):
    fields = json.loads(MANIFEST.read_bytes())
    fields.setdefault("dependencies", {})[name] = "file:/somewhere/" + name
    fields["dsh"]["profile"]["bundles"].append(name)
    MANIFEST.write_text(json.dumps(fields))


def remove(name):
    fields = json.loads(MANIFEST.read_bytes())
    del fields["dependencies"][name]
    fields["dsh"]["profile"]["bundles"].remove(name)
    MANIFEST.write_text(json.dumps(fields))
    shutil.rmtree(FOLDER / "node_modules" / name)


def fail():
    print("ERR_PNPM_NO_SPACE")
    sys.exit(1)


def hang():
    subprocess.Popen((sys.executable, "-c", "import time; time.sleep(600)"))
    (HOME / "hanging").touch()
    time.sleep(600)


"""


def lock(*names: str) -> str:
    """pnpm's lock of a profile with these plugins."""
    return LOCK.format(
        importers="".join(f"      {name}:\n        specifier: 1.0.0\n        version: 1.0.0\n" for name in names),
        packages="".join(f"  {name}@1.0.0:\n    resolution: {{directory: x}}\n\n" for name in names),
        snapshots="".join(f"  {name}@1.0.0: {{}}\n\n" for name in names),
    )


class Place:
    """A home with a profile, a pnpm on PATH, and a dsh whose plugin command does what a test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.profile = self.home / "profiles" / "web"
        self.profile.mkdir(parents=True)
        self.manifest = self.profile / "package.json"
        self.manifest.write_bytes(FOUND)
        self.lock = self.profile / "pnpm-lock.yaml"
        self.plugin = self.profile / "node_modules" / "dsh-foldstate"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._program("pnpm", PNPM)
        self.env = bare_env(self.home, f"{self.bin}:{path_without_pnpm()}")

    def start(self, does: str, *words: str, by: Release | None = None) -> Running:
        dsh = self._program("dsh", f"#!{sys.executable}\n{DSH}{does}\n")
        words = (*(words or ("install", "--profile", "web")), "--dsh", str(dsh))
        if by is not None:
            return by.start(words, self.env)
        return Running((str(command("foldstate")), *words), self.home, self.env)

    def hanging(self, *words: str, after: str = "") -> Running:
        """A command that is under way while its pnpm hangs."""
        running = self.start(f"{after}\nhang()", *words)
        deadline = time.monotonic() + 30
        while not (self.home / "hanging").exists() and running.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return running

    def install(self, does: str, by: Release | None = None) -> Run:
        return self.start(does, by=by).finish()

    def install_without_pnpm(self, by: Release) -> None:
        run = by.run(("install", "--profile", "web"), bare_env(self.home, path_without_pnpm()))
        assert run.code == 0, run.stderr

    def fields(self) -> dict[str, object]:
        return msgspec.json.decode(self.manifest.read_bytes(), type=dict[str, object])

    def everything(self) -> dict[str, bytes]:
        """All files of the profile by name."""
        return {
            str(path.relative_to(self.profile)): path.read_bytes() for path in self.profile.rglob("*") if path.is_file()
        }

    def _program(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_pnpm_that_fails_leaves_another_plugin_that_came_meanwhile(place: Place) -> None:
    place.lock.write_text(lock("kept"))
    now = lock("another", "dsh-foldstate", "kept")
    run = place.install(f"put('another'); put('dsh-foldstate'); LOCK.write_text({now!r}); fail()")
    assert run.code == 1 and "ERR_PNPM_NO_SPACE" in run.stderr and len(run.stderr.splitlines()) == 1
    assert place.fields() == {
        "dependencies": {"kept": "1.0.0", "another": "file:/somewhere/another"},
        "dsh": {"profile": {"bundles": ["kept", "another"]}},
    }
    assert "another@1.0.0" in place.lock.read_text()
    assert sorted(place.everything()) == ["package.json", "pnpm-lock.yaml"]


def test_a_pnpm_that_fails_alone_leaves_every_byte_as_it_was(place: Place) -> None:
    place.lock.write_text(lock("kept"))
    before = place.everything()
    now = lock("dsh-foldstate", "kept")
    assert place.install(f"put('dsh-foldstate'); LOCK.write_text({now!r}); fail()").code == 1
    assert place.everything() == before


def test_a_lock_that_only_our_failure_has_made_goes(place: Place) -> None:
    assert place.install(f"LOCK.write_text({lock('dsh-foldstate')!r}); fail()").code == 1
    assert place.everything() == {"package.json": FOUND}


def test_a_lock_in_which_others_were_brought_up_to_date_stays(place: Place) -> None:
    place.lock.write_text(lock("kept"))
    newer = lock("kept").replace("version: 1.0.0", "version: 1.0.1")
    assert place.install(f"LOCK.write_text({newer!r}); fail()").code == 1
    assert place.lock.read_text() == newer and place.manifest.read_bytes() == FOUND


def test_an_upgrade_that_fails_gives_back_the_old_version(place: Place) -> None:
    place.install_without_pnpm(release(place.folder / "one", "1.0.0"))
    before = place.everything()
    does = "remove('dsh-foldstate') if sys.argv[4] == 'remove' else fail()"
    assert place.install(does, release(place.folder / "two", "2.0.0")).code == 1
    assert place.everything() == before
    assert [path.name.split("-")[0] for path in (place.home / "foldstate" / "bundle").iterdir()] == ["1.0.0"]


def test_an_upgrade_that_fails_gives_back_the_old_version_beside_what_came_meanwhile(place: Place) -> None:
    place.install_without_pnpm(release(place.folder / "one", "1.0.0"))
    before = json.loads(place.manifest.read_bytes())
    does = "remove('dsh-foldstate') if sys.argv[4] == 'remove' else (put('another'), fail())"
    assert place.install(does, release(place.folder / "two", "2.0.0")).code == 1
    before["dependencies"]["another"] = "file:/somewhere/another"
    before["dsh"]["profile"]["bundles"] = ["kept", "another", "dsh-foldstate"]
    assert place.fields() == before
    assert b"1.0.0" in (place.plugin / "package.json").read_bytes()


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=lambda each: str(each)
)
def test_a_signal_ends_pnpm_too_and_puts_back_what_it_has_done(place: Place, how: signal.Signals, code: int) -> None:
    before = place.everything()
    run = place.hanging(after="put('dsh-foldstate')").end(how)
    assert (place.home / "hanging").exists() and run.code == code, run.stderr
    assert place.everything() == before
    assert left_after(str(place.folder), 3.0) == []


def test_a_removal_that_is_cut_short_is_brought_to_its_end(place: Place) -> None:
    place.install_without_pnpm(release(place.folder / "one", "1.0.0"))
    place.lock.write_text(lock("dsh-foldstate", "kept"))
    run = place.hanging("uninstall").end(signal.SIGTERM)
    assert (place.home / "hanging").exists() and run.code == 143, run.stderr
    assert place.manifest.read_bytes() == FOUND and not place.plugin.exists()
    assert left_after(str(place.folder), 3.0) == []
