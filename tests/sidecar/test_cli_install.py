"""`foldstate install` and `uninstall` without pnpm, on a profile's folder: what they write, what they spare."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.host import Run, Running, command
from tests.support.release import Release, bare_env, path_without_pnpm, release

FOUND = b"""{
    "name": "dsh-profile-web",   "private": true,
  "dependencies": {"other": "1.0.0"},
  "dsh": {"profile": {"bundles": ["@deepseek-ai/dsh-base", "other"], "kept": [1, {"a": null}]}, "more": "\xe5\x90\x8d"},
  "unknown": {"z": 1, "a": 2}
}"""


class Place:
    """A home whose profile web was made by hand, with other fields, another plugin, and a formatting of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.profile = self.home / "profiles" / "web"
        self.profile.mkdir(parents=True)
        self.manifest = self.profile / "package.json"
        self.manifest.write_bytes(FOUND)
        self.manifest.chmod(0o640)
        self.plugin = self.profile / "node_modules" / "dsh-foldstate"
        self.data = self.home / "foldstate"
        self.env = bare_env(self.home, path_without_pnpm())

    def run(self, *words: str, env: dict[str, str] | None = None) -> Run:
        return Running((str(command("foldstate")), *words), self.home, {**self.env, **(env or {})}).finish()

    def install(self) -> Run:
        run = self.run("install", "--profile", "web")
        assert run.code == 0, run.stderr
        return run

    def fields(self) -> dict[str, object]:
        return msgspec.json.decode(self.manifest.read_bytes(), type=dict[str, object])

    def everything(self) -> dict[str, bytes]:
        """All files of the profile by name."""
        return {
            str(path.relative_to(self.profile)): path.read_bytes() for path in self.profile.rglob("*") if path.is_file()
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_installation_adds_its_two_entries_and_keeps_all_others(place: Place) -> None:
    place.install()
    expected = json.loads(FOUND)
    version = msgspec.json.decode((place.plugin / "package.json").read_bytes(), type=dict[str, object])["version"]
    expected["dependencies"]["dsh-foldstate"] = f"file:{place.data / 'bundle' / str(version)}"
    expected["dsh"]["profile"]["bundles"].append("dsh-foldstate")
    assert place.manifest.read_text(encoding="utf-8") == json.dumps(expected, indent=2, ensure_ascii=False) + "\n"
    assert place.manifest.stat().st_mode & 0o777 == 0o640
    assert (place.profile / "package.json.before-foldstate").read_bytes() == FOUND
    assert files(place.plugin) == files(place.data / "bundle" / str(version))


def test_what_is_installed_is_what_the_plugin_names(place: Place) -> None:
    place.install()
    manifest = msgspec.json.decode((place.plugin / "package.json").read_bytes(), type=dict[str, object])
    exports = manifest["exports"]
    assert isinstance(exports, dict)
    assert {path.removeprefix("./") for path in exports.values()} <= set(files(place.plugin))
    assert not [name for name in files(place.plugin) if name.endswith(".d.ts")]


def test_the_sidecar_is_named_by_the_interpreter_that_installed_it(place: Place) -> None:
    place.install()
    runtime = msgspec.json.decode((place.data / "runtime.json").read_bytes(), type=dict[str, object])
    interpreter = runtime["interpreter"]
    assert isinstance(interpreter, str) and Path(interpreter).is_absolute()
    assert Path(interpreter).parent == Path(sys.executable).parent
    assert runtime["args"] == ["-m", "foldstate.sidecar"]
    assert (place.data / "runtime.json").stat().st_mode & 0o777 == 0o600
    assert place.data.stat().st_mode & 0o777 == 0o700


def test_installing_again_changes_nothing(place: Place) -> None:
    place.install()
    before = place.everything()
    assert "already installed" in place.install().stdout
    assert place.everything() == before


def test_removing_leaves_the_profile_byte_for_byte_as_it_was_found(place: Place) -> None:
    before = place.everything()
    place.install()
    assert place.run("uninstall").code == 0
    assert place.everything() == before
    assert place.manifest.stat().st_mode & 0o777 == 0o640
    assert not (place.profile / "node_modules").exists()
    assert not (place.data / "bundle").exists()
    assert not (place.data / "runtime.json").exists()


def test_an_upgrade_that_was_cut_short_still_lets_the_profile_be_left_as_it_was_found(place: Place) -> None:
    place.install()
    fields = json.loads(FOUND)
    place.manifest.write_bytes(msgspec.json.encode(fields))
    shutil.rmtree(place.plugin)
    place.install()
    assert place.run("uninstall").code == 0
    assert place.everything() == {"package.json": FOUND}


def test_removing_spares_what_others_changed_meanwhile(place: Place) -> None:
    place.install()
    fields = place.fields()
    place.manifest.write_bytes(msgspec.json.encode({**fields, "later": True}))
    assert place.run("uninstall", "--profile", "web").code == 0
    assert place.fields() == {**json.loads(FOUND), "later": True}
    assert not place.plugin.exists()


def test_removing_spares_the_sessions_and_says_where_they_lie(place: Place) -> None:
    place.install()
    kept = place.data / "sessions" / "a.sqlite"
    kept.parent.mkdir()
    kept.write_bytes(b"state")
    run = place.run("uninstall")
    assert str(kept.parent) in run.stdout
    assert kept.read_bytes() == b"state"


def test_removing_what_is_not_there_says_so_and_changes_nothing(place: Place) -> None:
    before = place.everything()
    run = place.run("uninstall", "--profile", "web")
    assert run.code == 0 and "isn't installed" in run.stdout
    assert place.everything() == before


def test_a_plugin_that_was_taken_out_by_other_means_leaves_no_copies_behind(place: Place) -> None:
    place.install()
    place.manifest.write_bytes(FOUND)
    shutil.rmtree(place.plugin)
    assert place.run("uninstall").code == 0
    assert place.everything() == {"package.json": FOUND}
    assert not (place.data / "bundle").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"name": "dsh-', "can't be read as JSON"),
        (b"\xff\xfe", "can't be read as JSON"),
        (b"[" * 100_000, "can't be read as JSON"),
        (b"[]", "package.json isn't what DSH expects"),
        (b'{"dependencies": []}', "dependencies isn't what DSH expects"),
        (b'{"dsh": {"profile": {"bundles": "x"}}}', "dsh.profile.bundles isn't what DSH expects"),
    ],
)
def test_a_damaged_profile_is_left_alone_with_one_sentence(place: Place, content: bytes, said: str) -> None:
    place.manifest.write_bytes(content)
    run = place.run("install", "--profile", "web")
    assert run.code == 1
    assert said in run.stderr and str(place.manifest) in run.stderr and "try again" in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert place.everything() == {"package.json": content}


def test_a_byte_order_mark_is_tolerated_and_comes_back_when_we_leave(place: Place) -> None:
    marked = b"\xef\xbb\xbf" + FOUND
    place.manifest.write_bytes(marked)
    place.install()
    assert not place.manifest.read_bytes().startswith(b"\xef\xbb\xbf")
    assert place.run("uninstall").code == 0
    assert place.manifest.read_bytes() == marked


@pytest.mark.parametrize("name", ["desktop", "Desktop"])
def test_the_desktop_profile_is_refused(place: Place, name: str) -> None:
    run = place.run("install", "--profile", "web", "--profile", name)
    assert run.code == 1 and "isn't supported" in run.stderr
    assert not place.data.exists()


def test_an_unknown_profile_is_refused_with_the_names_of_the_known(place: Place) -> None:
    run = place.run("install", "--profile", "../web")
    assert run.code == 1 and "web, headless or sdk" in run.stderr
    assert not place.data.exists()


def test_a_dsh_that_cannot_be_run_is_named(place: Place) -> None:
    run = place.run("install", "--profile", "web", "--dsh", str(place.manifest))
    assert run.code == 1 and f"{place.manifest} isn't a program" in run.stderr
    assert place.manifest.read_bytes() == FOUND


def test_a_home_that_is_no_folder_is_said(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = place.run("install", "--profile", "web", "--home", str(tmp_path / "file"))
    assert run.code == 1 and str(tmp_path / "file") in run.stderr and len(run.stderr.splitlines()) == 1


def test_installations_at_the_same_time_come_to_one(place: Place) -> None:
    headless = place.home / "profiles" / "headless"
    headless.mkdir()
    (headless / "package.json").write_bytes(FOUND)
    words = [("install", "--profile", name) for name in ("web", "headless")] * 3
    running = [Running((str(command("foldstate")), *each), place.home, place.env) for each in words]
    assert [each.finish().code for each in running] == [0] * len(words)
    for profile in (place.profile, headless):
        fields = msgspec.json.decode((profile / "package.json").read_bytes(), type=dict[str, object])
        assert json.dumps(fields).count("dsh-foldstate") == 2
        assert (profile / "package.json.before-foldstate").read_bytes() == FOUND
    assert [path.name for path in (place.profile / "node_modules").iterdir()] == ["dsh-foldstate"]


def test_a_crash_at_any_instant_leaves_a_profile_that_loads_all_or_nothing(place: Place, tmp_path: Path) -> None:
    releases = [release(tmp_path / "one", "1.0.0"), release(tmp_path / "two", "2.0.0")]
    whole = {each.version: files_shipped(each) for each in releases}
    for step in range(16):
        chosen = releases[step % 2]
        running = chosen.start(("install", "--profile", "web"), place.env)
        try:
            running.process.wait(0.1 + step * 0.02)
        except subprocess.TimeoutExpired:
            running.process.send_signal(signal.SIGKILL)
        running.finish()
        if "dsh-foldstate" in json.dumps(place.fields()):
            version = msgspec.json.decode((place.plugin / "package.json").read_bytes(), type=dict[str, object])[
                "version"
            ]
            assert files(place.plugin) == whole[str(version)]
    assert releases[0].run(("install", "--profile", "web"), place.env).code == 0
    assert files(place.plugin) == whole["1.0.0"]
    assert [path.name for path in (place.profile / "node_modules").iterdir()] == ["dsh-foldstate"]


def files_shipped(shipped: Release) -> dict[str, bytes]:
    bridge = shipped.folder / "foldstate" / "bridge"
    return {
        path.name: path.read_bytes()
        for path in bridge.iterdir()
        if path.suffix == ".js" or path.name in ("package.json", "cordis.patch.yml")
    }


def test_a_package_that_lacks_a_file_installs_nothing(place: Place, tmp_path: Path) -> None:
    broken = release(tmp_path / "broken", "3.0.0")
    (broken.folder / "foldstate" / "bridge" / "cordis.patch.yml").unlink()
    run = broken.run(("install", "--profile", "web"), place.env)
    assert run.code == 1 and "lack cordis.patch.yml" in run.stderr
    assert place.everything() == {"package.json": FOUND} and not place.data.exists()


def test_an_older_version_stays_while_another_profile_uses_it(place: Place, tmp_path: Path) -> None:
    sdk = place.home / "profiles" / "sdk"
    sdk.mkdir()
    (sdk / "package.json").write_bytes(FOUND)
    old, new = release(tmp_path / "old", "1.0.0"), release(tmp_path / "new", "2.0.0")
    assert old.run(("install", "--profile", "web", "--profile", "sdk"), place.env).code == 0
    run = new.run(("install", "--profile", "web"), place.env)
    assert "Profile sdk has version 1.0.0" in run.stdout
    assert sorted(path.name for path in (place.data / "bundle").iterdir()) == ["1.0.0", "2.0.0"]
    assert new.run(("install", "--profile", "sdk"), place.env).code == 0
    assert sorted(path.name for path in (place.data / "bundle").iterdir()) == ["2.0.0"]
    assert files(sdk / "node_modules" / "dsh-foldstate") == files_shipped(new)


def test_the_lock_of_a_host_that_is_gone_is_taken_over(place: Place) -> None:
    gone = subprocess.Popen((sys.executable, "-c", ""))
    gone.wait()
    lock = place.profile / "package.json.lock"
    lock.write_text(f"{gone.pid}\n")
    place.install()
    assert not lock.exists() and place.plugin.is_dir()


def test_failures_are_said_in_the_readers_language(place: Place) -> None:
    run = place.run("install", "--profile", "desktop", env={"LC_ALL": "zh_CN.UTF-8"})
    assert run.code == 1 and "不受支持" in run.stderr
