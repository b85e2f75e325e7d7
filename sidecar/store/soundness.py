"""Whether a file's content can be relied on."""

from __future__ import annotations

from typing import Final

from foldstate.kernel.event import Event
from foldstate.kernel.verdict import Record
from foldstate.sidecar.store.coverage_rows import coverage
from foldstate.sidecar.store.database import Database
from foldstate.sidecar.store.errors import StoreDamaged
from foldstate.sidecar.store.events import waiting_summary
from foldstate.sidecar.store.head import load_head
from foldstate.sidecar.store.intake_rows import load_intake, skips
from foldstate.sidecar.store.state_rows import load_state

_READ_AT_OPENING: Final = ("head", "items", "annotations", "intake", "coverage")
"""Tables whose size does not grow with the session's length; the others are checked when there is a reason to."""


def check(database: Database, *, whole: bool, empty: bool) -> None:
    """Checks what an opening reads, or with `whole` everything to the last stored value.

    Of intake's state only that it is a JSON object can be told here; intake judges the rest of it (`decode`).

    :param empty: the file has no format yet, so it must have no tables either.
    :raises StoreDamaged: where something is not sound.
    """
    tables = {name for (name,) in database.all(tuple[str], "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if empty:
        if tables:
            raise StoreDamaged(database.path, "it is a database of another program")
        return
    if missing := set(_READ_AT_OPENING) - tables:
        raise StoreDamaged(database.path, f"table {min(missing)} is gone")
    for pragma in ("quick_check",) if whole else (f"quick_check({table})" for table in _READ_AT_OPENING):
        verdict = database.one(tuple[str], f"PRAGMA {pragma}")
        if verdict != ("ok",):
            raise StoreDamaged(database.path, "nothing was found" if verdict is None else verdict[0])
    load_head(database)
    load_state(database)
    coverage(database)
    if (intake := load_intake(database)) is not None:
        database.decode(intake.state, dict[str, object])
    if whole:
        waiting_summary(database)
        skips(database)
        for (body,) in database.all(tuple[bytes], "SELECT body FROM events"):
            database.decode(body, Event)
        for (body,) in database.all(tuple[bytes], "SELECT body FROM batches"):
            database.decode(body, Record)
