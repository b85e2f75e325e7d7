"""A session's file with a state in it, made by the kernel and the store as the sidecar makes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from foldstate.kernel.batch import submit
from foldstate.kernel.event import Event
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Accepted
from foldstate.sidecar.store.session_store import SessionStore


def record(
    folder: Path,
    session: str,
    batches: Sequence[tuple[str, Sequence[Mapping[str, Json]]]],
    *,
    title: str | None = None,
    events: Sequence[Event] = (),
    waiting: Sequence[Event] = (),
    unheard: Mapping[str, str] | None = None,
) -> None:
    """Writes one session. `batches` are its declarations with the time of each; `unheard` are channels, since when.

    :raises AssertionError: the kernel refused a batch.
    """
    with SessionStore.open(folder, session, lock_wait_s=1) as store, store.transaction():
        store.save_head(replace(store.load_head(), title=title))
        for event in (*events, *waiting):
            digest = hashlib.sha256(event.text.encode()).hexdigest()
            store.add_event(event, digest=digest, heard_at=event.at)
        for at, declarations in batches:
            state = store.load_state()
            batch: Json = {"declarations": [dict(one) for one in declarations], "acknowledges": []}
            verdict = submit(state, batch_id=f"{session}-{at}", now=at, batch=batch)
            assert isinstance(verdict, Accepted) and verdict.record is not None, verdict
            store.save_batch(verdict.record, verdict.state, verdict.changed)
        store.judge_events([event.id for event in events], f"{session}-{batches[-1][0]}" if batches else "none")
        for channel, since in (unheard or {}).items():
            store.set_coverage(channel, "disconnected", since)
