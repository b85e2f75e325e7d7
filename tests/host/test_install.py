"""`foldstate install` on the real host, through its pnpm and without any: what the host then loads."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.answers import Script, say
from tests.support.host import HostHome, Run, Running, command
from tests.support.model import ScriptedModel
from tests.support.release import MARK, Release, path_with_pnpm, path_without_pnpm, release

ANSWER = "The answer."
OTHER = {
    "package.json": (
        '{"name": "other", "version": "1.0.0", "type": "module", "exports": {".": "./index.js"},'
        ' "dsh": {"bundle": {"patch": "./cordis.patch.yml"}}}'
    ),
    "index.js": "export const name = 'other'\nexport function apply() {}\n",
    "cordis.patch.yml": "- insert:\n    - id: other\n      name: other\n",
}


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(Script(main=say(ANSWER), editor=say(""))) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release(tmp_path_factory.mktemp("one"), "1.0.0")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release(tmp_path_factory.mktemp("two"), "2.0.0")


class Host(HostHome):
    """A home whose profile headless is looked at from outside."""

    @property
    def profile(self) -> Path:
        return self.home / "profiles" / "headless"

    @property
    def manifest(self) -> bytes:
        return (self.profile / "package.json").read_bytes()

    @property
    def lock(self) -> str:
        path = self.profile / "pnpm-lock.yaml"
        return path.read_text() if path.exists() else ""

    def setting(self, path: str) -> dict[str, str]:
        folder = str(command("dsh").parent)
        return {**self.env, "PATH": f"{folder}:{path}", MARK: str(self.folder / "loaded")}

    def program(self, name: str, text: str) -> Path:
        """A program of a test's own."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def plugin(self, *words: str) -> Run:
        """The host's own plugin command, which runs pnpm."""
        run = Running(
            (str(command("dsh")), "plugin", "--profile", "headless", *words),
            self.workspace,
            self.setting(path_with_pnpm()),
        )
        return run.finish()

    def loaded(self) -> str:
        """What the plugin says that a headless run loaded; empty where it loaded none."""
        mark = self.folder / "loaded"
        mark.unlink(missing_ok=True)
        assert self.run("Say something.", env={MARK: str(mark)}).answer() == ANSWER
        return mark.read_text() if mark.exists() else ""


@pytest.fixture
def host(tmp_path: Path, model: ScriptedModel) -> Host:
    return Host(tmp_path, model.base_url)


@pytest.fixture(params=["with pnpm", "without pnpm"])
def path(request: pytest.FixtureRequest) -> str:
    return path_with_pnpm() if request.param == "with pnpm" else path_without_pnpm()


INSTALL = ("install", "--profile", "headless")


def test_the_host_loads_what_was_installed_and_no_more_once_it_is_removed(host: Host, one: Release, path: str) -> None:
    """The profile doesn't exist before: it is made the host's own way, and left as the host made it."""
    run = one.run(INSTALL, host.setting(path))
    assert ("through pnpm" if path == path_with_pnpm() else "without pnpm") in run.answer()
    assert ("dsh-foldstate" in host.lock) == (path == path_with_pnpm())
    assert host.loaded() == "1.0.0"
    found = (host.profile / "package.json.before-foldstate").read_bytes()
    assert one.run(("uninstall",), host.setting(path)).code == 0
    assert host.manifest == found
    assert "dsh-foldstate" not in host.lock
    assert host.loaded() == ""


def test_what_was_installed_runs_its_sidecar_and_its_state_can_be_shown(host: Host, path: str) -> None:
    words = (str(command("foldstate")), *INSTALL)
    Running(words, host.workspace, host.setting(path)).finish().answer()
    assert host.run("Say something.").answer() == ANSWER
    assert not list((host.home / "foldstate" / "status").glob("*"))
    shown = msgspec.json.decode(host.foldstate("show", "--json").answer(), type=dict[str, object])
    assert isinstance(shown["session"], str) and shown["session"]
    assert list((host.home / "foldstate" / "sessions").glob("*.sqlite"))


def test_an_upgrade_leaves_nothing_of_the_old_copy(host: Host, one: Release, two: Release, path: str) -> None:
    one.run(INSTALL, host.setting(path)).answer()
    two.run(INSTALL, host.setting(path)).answer()
    assert host.loaded() == "2.0.0"
    assert [folder.name.split("-")[0] for folder in (host.home / "foldstate" / "bundle").iterdir()] == ["2.0.0"]
    assert host.manifest.count(b"dsh-foldstate") == 2


def test_other_files_of_the_same_version_replace_the_old(host: Host, one: Release, path: str, tmp_path: Path) -> None:
    one.run(INSTALL, host.setting(path)).answer()
    changed = release(tmp_path / "changed", "1.0.0", note=", changed")
    changed.run(INSTALL, host.setting(path)).answer()
    assert host.loaded() == "1.0.0, changed"


def test_pnpm_takes_over_what_was_installed_without_it(host: Host, one: Release, two: Release) -> None:
    one.run(INSTALL, host.setting(path_without_pnpm())).answer()
    host.plugin("add", f"file:{other(host)}").answer()
    assert "dsh-foldstate" in host.lock
    assert host.loaded() == "1.0.0"
    two.run(INSTALL, host.setting(path_with_pnpm())).answer()
    assert host.loaded() == "2.0.0"
    assert host.plugin("remove", "dsh-foldstate").code == 0
    assert host.loaded() == ""
    assert b'"other"' in host.manifest


def test_pnpm_runs_on_after_a_removal_without_it(host: Host, one: Release) -> None:
    one.run(INSTALL, host.setting(path_with_pnpm())).answer()
    one.run(("uninstall",), host.setting(path_without_pnpm())).answer()
    assert not (host.home / "foldstate" / "bundle").exists()
    host.plugin("add", f"file:{other(host)}").answer()
    assert "dsh-foldstate" not in host.lock and b"dsh-foldstate" not in host.manifest


def test_pnpm_runs_on_after_an_upgrade_without_it(host: Host, one: Release, two: Release) -> None:
    one.run(INSTALL, host.setting(path_with_pnpm())).answer()
    two.run(INSTALL, host.setting(path_without_pnpm())).answer()
    host.plugin("add", f"file:{other(host)}").answer()
    assert host.loaded() == "2.0.0"


def test_a_failing_pnpm_leaves_the_profile_as_it_was(host: Host, one: Release, two: Release) -> None:
    one.run(INSTALL, host.setting(path_with_pnpm())).answer()
    folder = other(host)
    host.plugin("add", f"file:{folder}").answer()
    shutil.rmtree(folder)
    manifest, lock = host.manifest, host.lock
    run = two.run(INSTALL, host.setting(path_with_pnpm()))
    assert run.code == 1
    assert "ERR_PNPM_LINKED_PKG_DIR_NOT_FOUND" in run.stderr and "the profile is as it was" in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert (host.manifest, host.lock) == (manifest, lock)
    assert host.loaded() == "1.0.0"


def test_a_failing_pnpm_leaves_another_plugin_that_came_meanwhile(host: Host, one: Release) -> None:
    """Ours comes to its failure after somebody else's went through: both through the host's own command."""
    host.plugin("version-exemptions").answer()
    dsh = host.program(
        "dsh",
        f"""#!/bin/sh
        [ "$4" = add ] || exec {command("dsh")} "$@"
        {command("dsh")} plugin --profile headless add file:{other(host)} || exit 2
        echo ERR_PNPM_NO_SPACE; exit 1
        """,
    )
    run = one.run((*INSTALL, "--dsh", str(dsh)), host.setting(path_with_pnpm()))
    assert run.code == 1 and "ERR_PNPM_NO_SPACE" in run.stderr
    assert host.manifest.count(b'"other"') == 2 and b"dsh-foldstate" not in host.manifest
    assert "other@file:" in host.lock
    assert (host.profile / "node_modules" / "other" / "index.js").is_file()


def test_an_upgrade_that_is_ended_by_a_signal_leaves_the_old_version_and_no_process(
    host: Host, one: Release, two: Release
) -> None:
    """pnpm is at its work, the old copy removed, when the signal comes; another installation can follow at once."""
    one.run(INSTALL, host.setting(path_with_pnpm())).answer()
    manifest, lock = host.manifest, host.lock
    pnpm = host.program(
        "pnpm",
        f"""#!/bin/sh
        [ "$1" = add ] || exec {path_with_pnpm().split(":")[0]}/pnpm "$@"
        touch {host.folder}/adding
        sleep 600; exit 1
        """,
    )
    running = two.start(INSTALL, host.setting(f"{pnpm.parent}:{path_with_pnpm()}"))
    deadline = time.monotonic() + 30
    while not (host.folder / "adding").exists() and running.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert b"dsh-foldstate" not in host.manifest
    assert running.end(signal.SIGTERM).code == 128 + signal.SIGTERM
    assert host.left() == []
    assert (host.manifest, host.lock) == (manifest, lock)
    host.plugin("add", f"file:{other(host)}").answer()
    assert host.loaded() == "1.0.0"


@pytest.mark.parametrize("pnpm", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho 9.15.0\n", "#!/nowhere/node\n"])
def test_a_pnpm_that_does_not_run_or_is_another_is_passed_by(host: Host, one: Release, pnpm: str) -> None:
    program = host.program("pnpm", pnpm)
    run = one.run(INSTALL, host.setting(f"{program.parent}:{path_without_pnpm()}"))
    assert "without pnpm" in run.answer()


def test_a_host_that_installs_at_the_same_time_loses_nothing(host: Host, one: Release) -> None:
    folder = other(host)
    adding = Running(
        (str(command("dsh")), "plugin", "--profile", "headless", "add", f"file:{folder}"),
        host.workspace,
        host.setting(path_with_pnpm()),
    )
    installing = one.start(INSTALL, host.setting(path_without_pnpm()))
    added, installed = adding.finish(), installing.finish()
    assert (added.code, installed.code) == (0, 0), added.stderr + installed.stderr
    assert host.loaded() == "1.0.0"
    assert host.manifest.count(b'"other"') == host.manifest.count(b'"dsh-foldstate"') == 2


def other(host: Host) -> Path:
    """Another plugin's folder."""
    folder = host.folder / "other"
    folder.mkdir()
    for name, content in OTHER.items():
        (folder / name).write_text(content)
    return folder
