"""The command that leaves the user's note on an item."""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel.annotations import annotate, annotation_faults
from foldstate.kernel.explain import explain
from foldstate.kernel.state import Annotation
from foldstate.sidecar.desk.actor import Command, Moment
from foldstate.sidecar.desk.desk import Desk
from foldstate.sidecar.wire.errors import EventConflict, InvalidParams, ItemNotFound

_KEY_DIGITS: Final = 16


class Noted(Struct, frozen=True):
    """The note's id, and whether it was there before."""

    annotation: str
    duplicate: bool


def add_note(item: str, text: str, *, key: str | None, at: str | None) -> Command[Noted]:
    """Leaves a note on an item, whatever became of that item. It waits for an editor to acknowledge it.

    The same `key` with the same item and text is the same note, also after a restart, and keeps its first time.

    :raises InvalidParams: where the text is none of 1 to 500 code points.
    :raises ItemNotFound: where the session never had the item.
    :raises EventConflict: where the key stands for another note.
    """
    name = f"a-{uuid4().hex}" if key is None else keyed_id(key)

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Noted]:
        for fault in annotation_faults(desk.state, item, text):
            if fault.code == "invalid_field":
                raise InvalidParams(explain(fault, "en"), path=f"params.{fault.path}")
        if item not in desk.state.items:
            raise ItemNotFound(f"no item {item!r} in this session; state/get lists those there are")
        note = Annotation(name, item, text, moment.now if at is None else at)
        known = desk.state.annotations.get(name)
        if known is not None:
            if (known.item, known.text) != (item, text):
                raise EventConflict(f"key {key!r} stands for another note; send this one under a key of its own")
            return desk, Noted(name, duplicate=True)
        added = moment.store.add_annotation(note)
        assert added, f"annotation {name} is in the file and not in memory"
        return replace(desk, state=annotate(desk.state, note)), Noted(name, duplicate=False)

    return command


def keyed_id(key: str) -> str:
    """The id of the note with this key: the same for ever, and short enough for an editor to copy."""
    return f"a-{sha256(key.encode(errors='surrogatepass')).hexdigest()[:_KEY_DIGITS]}"
