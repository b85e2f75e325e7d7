"""After a compaction the block is back, once."""

from __future__ import annotations

from tests.support.block import blocks
from tests.support.host import HostHome
from tests.support.ledger import read_surface
from tests.support.model import ScriptedModel
from tests.support.sdk import SdkHost


def test_after_a_compaction_the_block_is_back_once(home: HostHome, model: ScriptedModel) -> None:
    home.run("Prepare the release of version 2.4.").answer()
    session = model.record.requests("main")[0].session
    assert session is not None
    expected = read_surface(home, session).text

    with SdkHost(home) as host:
        host.resume(session)
        host.say(session, "Go on with the release.")
        assert blocks(model.record.requests("main", session)[-1]) == [expected]

        compacted = host.driver.command(session, "/compact")
        assert compacted.kind == "success", compacted.text
        assert model.record.requests("compaction", session)

        host.say(session, "And go on.")
        first = model.record.requests("main", session)[-1]
        assert "Go on with the release." not in first.user_texts, "nothing was compacted"
        assert len(blocks(first)) == 1

        host.say(session, "Further.")
        assert len(blocks(model.record.requests("main", session)[-1])) == 1
