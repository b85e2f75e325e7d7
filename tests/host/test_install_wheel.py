"""The wheel, installed in a fresh environment away from this folder: what it holds, and that it installs and starts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import msgspec
import pytest

from tests.support.host import Run, Running, command
from tests.support.release import bare_env, path_without_pnpm

ROOT = Path(__file__).parents[2]
COMMAND = "from foldstate.sidecar.cli import main; main()"


class Installed:
    """An environment with nothing but the wheel; what it depends on is this environment's."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(folder)), check=True, timeout=60)
        self.python = folder / "bin" / "python"
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        zipfile.ZipFile(wheel).extractall(packages)
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, home: Path, *words: str) -> Run:
        env = {**bare_env(home, path_without_pnpm()), "PATH": path_without_pnpm()}
        return Running((str(self.python), "-c", COMMAND, *words), self.folder, env, stdin=subprocess.PIPE).finish()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert importlib.util.find_spec("hatchling"), "building the wheel needs hatchling: run `make setup`"
    folder = tmp_path_factory.mktemp("wheel")
    words = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("fresh") / "venv", wheel)


def test_the_wheel_holds_all_of_one_package_and_nothing_beside_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"foldstate", "dsh_foldstate"}
    for folder, pattern in (("kernel", "*.py"), ("sidecar", "*.py"), ("sidecar", "*.md"), ("bridge", "*.js")):
        here = {f"foldstate/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / folder).rglob(pattern)}
        assert here and here <= set(names)
    assert {"foldstate/bridge/package.json", "foldstate/bridge/cordis.patch.yml", "foldstate/py.typed"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]


def test_the_wheel_installs_its_plugin_and_the_sidecar_that_it_names_starts(
    installed: Installed, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    run = installed.run(home, "install", "--profile", "headless", "--dsh", str(command("dsh")))
    assert run.code == 0, run.stderr
    runtime = msgspec.json.decode((home / "foldstate" / "runtime.json").read_bytes(), type=dict[str, object])
    assert Path(str(runtime["interpreter"])).parent == installed.python.parent
    words = msgspec.convert([runtime["interpreter"], *msgspec.convert(runtime["args"], list[str])], list[str])
    sidecar = Running(words, tmp_path, {"PATH": "/nowhere"}, stdin=subprocess.PIPE).finish()
    assert sidecar.code == 0, sidecar.stderr
    assert '"sidecar/starting"' in sidecar.stdout


def test_without_dsh_a_profile_that_is_missing_is_answered_with_what_to_run(
    installed: Installed, tmp_path: Path
) -> None:
    run = installed.run(tmp_path / "home", "install", "--profile", "sdk")
    assert run.code == 1
    assert "Profile sdk doesn't exist yet" in run.stderr and "run `dsh sdk` once" in run.stderr
    assert not (tmp_path / "home" / "profiles").exists()
