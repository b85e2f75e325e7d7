"""The block before the agent, where the host makes it hard."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.support.block import blocks
from tests.support.host import HostHome
from tests.support.ledger import read_surface
from tests.support.model import ScriptedModel

BUSY = Path(__file__).with_name("plugin") / "busy.js"


def patch(folder: Path, plugin: Path) -> Path:
    """A patch file that puts a plugin of the tests into whatever profile is run with it."""
    file = folder / f"{plugin.stem}.patch.yml"
    file.write_bytes(msgspec.json.encode(({"insert": [{"id": f"foldstate-test-{plugin.stem}", "name": str(plugin)}]},)))
    return file


def test_a_host_that_is_busy_while_a_session_begins_still_has_the_state_before_its_first_turn(
    home: HostHome, model: ScriptedModel
) -> None:
    home.run("Keep an eye on the deployment.").answer()
    session = model.record.requests("main")[0].session
    assert session is not None
    expected = read_surface(home, session).text
    before = len(model.record.requests("main"))

    home.headless("--patch", str(patch(home.folder, BUSY)), "--session-id", session, "And now?").answer()

    assert blocks(model.record.requests("main", session)[before]) == [expected]
