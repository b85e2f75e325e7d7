"""Reading a session's state from its file, beside whoever writes it, for a person or for another program."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from foldstate.kernel.instant import later
from foldstate.kernel.projection import state_view
from foldstate.kernel.signal import Coverage
from foldstate.kernel.view import ItemView, LayerView, StateView
from foldstate.sidecar.cli.bridge_status import BridgeStatus, bridge_status
from foldstate.sidecar.cli.failure import CommandError
from foldstate.sidecar.cli.home import Home
from foldstate.sidecar.cli.sessions import choose
from foldstate.sidecar.cli.words import Words
from foldstate.sidecar.store.errors import StoreError, StoreNewer
from foldstate.sidecar.store.names import database_path
from foldstate.sidecar.store.session_store import open_reader


class Shown(Struct, frozen=True):
    """All that is shown of a session, read at one commit. `quoted_at` is when the cited events happened, by ref."""

    session: str
    title: str | None
    waiting: int
    recorded_at: str | None
    view: StateView
    coverage: Mapping[str, Coverage]
    quoted_at: Mapping[str, str]
    damaged: tuple[Path, ...]
    bridge: BridgeStatus | None

    def encode(self) -> bytes:
        """As JSON: the state (the contract, section 4) with the session, its title and how many inputs wait."""
        head = {"session": self.session, "title": self.title, "waiting": self.waiting}
        return msgspec.json.format(msgspec.json.encode({**head, **msgspec.structs.asdict(self.view)}), indent=2)


def read(home: Home, wanted: str | None, words: Words) -> Shown:
    """Reads the session that `wanted` names, by its id or the beginning of it; without it, the newest.

    :raises CommandError: there is no such session, or its file can't be read now.
    """
    folder = home.sessions
    session = choose(folder, wanted, words)
    path = database_path(folder, session)
    try:
        with open_reader(folder, session) as store, store.transaction():
            head = store.load_head()
            state = store.load_state()
            now = later(datetime.now(UTC).isoformat(timespec="seconds"), state.recorded_at)
            view = state_view(state, now)
            cited = {ref.removeprefix("event:") for ref in _refs(view.root) if ref.startswith("event:")}
            return Shown(
                session=session,
                title=head.title,
                recorded_at=state.recorded_at,
                waiting=store.waiting_summary().count,
                view=view,
                coverage=store.coverage(),
                quoted_at={f"event:{event.id}": event.at for event in store.events(cited).values()},
                damaged=tuple(sorted(folder.glob(f"{path.stem}.damaged-*.sqlite"))),
                bridge=bridge_status(home),
            )
    except StoreNewer as error:
        raise CommandError(words.store_newer.format(path=path)) from error
    except StoreError as error:
        raise CommandError(words.store_unavailable.format(path=path, detail=error)) from error


def items_of(layer: LayerView) -> list[ItemView]:
    """The items of a layer and of those below it."""
    return [each for item in layer.items for each in (item, *(items_of(item.children) if item.children else []))]


def _refs(layer: LayerView) -> set[str]:
    return {source.ref for item in items_of(layer) for source in item.sources}
