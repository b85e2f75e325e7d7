"""One home with the plugin, installed once by the public command and copied for each test, and one without it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import Script, say
from tests.support.editor import edit
from tests.support.host import HostHome
from tests.support.model import ScriptedModel

PROFILES = ("headless", "sdk", "web")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> HostHome:
    """The home that is copied: the plugin in each profile that can have it, and no session."""
    home = HostHome(tmp_path_factory.mktemp("template"), NOWHERE)
    for profile in PROFILES:
        home.install(profile)
    return home


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model that answers everything with one word; a test puts its own script into it."""
    with ScriptedModel(Script(main=say("Done."), editor=edit)) as server:
        yield server


@pytest.fixture
def home(template: HostHome, model: ScriptedModel, tmp_path: Path) -> Iterator[HostHome]:
    """A home with the plugin. Whatever the test did, no process of it may be left."""
    yield from _swept(template.copy(tmp_path / "with", model.base_url))


@pytest.fixture
def bare(model: ScriptedModel, tmp_path: Path) -> Iterator[HostHome]:
    """A home without the plugin."""
    yield from _swept(HostHome(tmp_path / "without", model.base_url))


def _swept(home: HostHome) -> Iterator[HostHome]:
    yield home
    left = home.left()
    for process in left:
        os.kill(process.pid, signal.SIGKILL)
    assert not left, f"processes were left behind: {left}"
