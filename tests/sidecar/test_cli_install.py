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

    def other(self, name: str, content: bytes) -> Path:
        """Another profile's package.json."""
        manifest = self.home / "profiles" / name / "package.json"
        manifest.parent.mkdir()
        manifest.write_bytes(content)
        return manifest

    def versions(self) -> list[str]:
        """Of the copies that profiles refer to, each a folder that is named after its version and its content."""
        return sorted(path.name.split("-")[0] for path in (self.data / "bundle").iterdir())

    def bundle(self) -> Path:
        """The one copy there is."""
        (folder,) = (self.data / "bundle").iterdir()
        return folder

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
    expected["dependencies"]["dsh-foldstate"] = f"file:{place.bundle()}"
    expected["dsh"]["profile"]["bundles"].append("dsh-foldstate")
    assert place.manifest.read_text(encoding="utf-8") == json.dumps(expected, indent=2, ensure_ascii=False) + "\n"
    assert place.manifest.stat().st_mode & 0o777 == 0o640
    assert (place.profile / "package.json.before-foldstate").read_bytes() == FOUND
    assert files(place.plugin) == files(place.bundle())


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
    assert runtime["args"] == ["-P", "-m", "foldstate.sidecar"]
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
    loaded = 0
    for step in range(16):
        chosen = releases[step % 2]
        running = chosen.start(("install", "--profile", "web"), place.env)
        try:
            running.process.wait(0.1 + step * 0.02)
        except subprocess.TimeoutExpired:
            running.process.send_signal(signal.SIGKILL)
        running.finish()
        if "dsh-foldstate" in json.dumps(place.fields()):
            spec = place.fields()["dependencies"]
            assert isinstance(spec, dict)
            assert files(Path(spec["dsh-foldstate"].removeprefix("file:"))) in whole.values()
            if place.plugin.exists():
                assert files(place.plugin) in whole.values()
                loaded += 1
    assert loaded
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
    assert place.versions() == ["1.0.0", "2.0.0"]
    assert new.run(("install", "--profile", "sdk"), place.env).code == 0
    assert place.versions() == ["2.0.0"]
    assert files(sdk / "node_modules" / "dsh-foldstate") == files_shipped(new)


def test_the_lock_of_a_host_that_is_gone_is_taken_over(place: Place) -> None:
    gone = subprocess.Popen((sys.executable, "-c", ""))
    gone.wait()
    lock = place.profile / "package.json.lock"
    lock.write_text(f"{gone.pid}\n")
    place.install()
    assert not lock.exists() and place.plugin.is_dir()


def test_a_broken_profile_keeps_no_other_from_being_changed(place: Place) -> None:
    broken = place.other("sdk", b'{"x":')
    run = place.install()
    assert "is installed in profile web" in run.stdout
    again = place.install()
    assert "already installed" in again.stdout
    asked = place.run("install", "--profile", "sdk", "--profile", "headless", "--profile", "web", "--dsh", "/bin/false")
    assert asked.code == 1 and "already installed in profile web" in asked.stdout
    assert str(broken) in asked.stderr and "couldn't make profile headless" in asked.stderr
    removed = place.run("uninstall")
    assert removed.code == 0 and "removed from profile web" in removed.stdout and str(broken) in removed.stderr
    assert place.everything() == {"package.json": FOUND}
    assert broken.read_bytes() == b'{"x":'


def test_a_profile_that_has_the_plugin_and_is_broken_since_is_said_and_passed_by(place: Place) -> None:
    broken = place.other("sdk", FOUND)
    assert place.run("install", "--profile", "sdk").code == 0
    broken.write_bytes(b'{"x":')
    for words in ("is installed in", "already installed in"):
        run = place.install()
        assert f"{words} profile web" in run.stdout and str(broken) in run.stderr
    removed = place.run("uninstall")
    assert removed.code == 1 and "removed from profile web" in removed.stdout and str(broken) in removed.stderr
    assert place.everything() == {"package.json": FOUND}


def test_a_profile_that_was_to_be_left_and_cannot_be_read_is_a_failure(place: Place) -> None:
    broken = place.other("sdk", b'{"dependencies": {"dsh-foldstate": ')
    place.install()
    for words in (("uninstall",), ("uninstall", "--profile", "sdk")):
        run = place.run(*words)
        assert run.code == 1 and str(broken) in run.stderr
    assert place.everything() == {"package.json": FOUND}


def test_removing_works_when_the_data_have_been_removed_first(place: Place) -> None:
    place.install()
    shutil.rmtree(place.data)
    assert "removed from profile web" in place.run("uninstall").stdout
    assert place.everything() == {"package.json": FOUND}


def test_a_package_json_that_is_a_link_stays_one_and_its_file_is_what_is_changed(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "profile.json"
    real.parent.mkdir()
    place.manifest.rename(real)
    place.manifest.symlink_to(real)
    place.install()
    assert place.manifest.is_symlink() and real.read_bytes().count(b'"dsh-foldstate"') == 2
    assert place.run("uninstall").code == 0
    assert place.manifest.is_symlink() and real.read_bytes() == FOUND
    assert [path.name for path in real.parent.iterdir()] == ["profile.json"]


def test_the_folder_that_profiles_refer_to_is_mended_in_its_place(place: Place) -> None:
    """A profile whose plugin's folder is missing, however briefly, can have no plugin added by pnpm."""
    place.install()
    bundle = place.bundle()
    whole, inode = files(bundle), bundle.stat().st_ino
    (bundle / "index.js").write_bytes(b"damaged")
    (bundle / "runtime.js").unlink()
    (bundle / "stray.js").write_bytes(b"")
    place.install()
    assert (files(place.bundle()), place.bundle().stat().st_ino) == (whole, inode)


def test_other_files_of_the_same_version_have_a_folder_of_their_own(place: Place, tmp_path: Path) -> None:
    first, second = release(tmp_path / "one", "1.0.0"), release(tmp_path / "two", "1.0.0", note=", changed")
    sdk = place.other("sdk", FOUND).parent
    assert first.run(("install", "--profile", "web", "--profile", "sdk"), place.env).code == 0
    assert second.run(("install", "--profile", "web"), place.env).code == 0
    assert place.versions() == ["1.0.0", "1.0.0"]
    assert files(place.plugin) == files_shipped(second)
    assert files(sdk / "node_modules" / "dsh-foldstate") == files_shipped(first)


def test_the_sidecar_imports_nothing_that_lies_in_the_data_folder(place: Place) -> None:
    place.install()
    for name in ("anyio", "msgspec", "foldstate", "signal"):
        (place.data / f"{name}.py").write_text("raise SystemExit('a stray file was imported')")
    runtime = msgspec.json.decode((place.data / "runtime.json").read_bytes(), type=dict[str, object])
    words = [str(runtime["interpreter"]), *msgspec.convert(runtime["args"], list[str])]
    run = Running(words, place.data, {"PATH": "/nowhere"}, stdin=subprocess.PIPE).finish()
    assert run.code == 0, run.stderr
    assert '"sidecar/starting"' in run.stdout


def test_failures_are_said_in_the_readers_language(place: Place) -> None:
    run = place.run("install", "--profile", "desktop", env={"LC_ALL": "zh_CN.UTF-8"})
    assert run.code == 1 and "不受支持" in run.stderr
