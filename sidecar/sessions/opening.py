"""The command of `session/open`: what the host says of the session now, and where its log goes on."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldstate.sidecar.intake.lineage import forked
from foldstate.sidecar.sessions.actor import Command, Moment
from foldstate.sidecar.sessions.desk import Desk
from foldstate.sidecar.sessions.taking import keep
from foldstate.sidecar.store.head import Head


class Opened(Struct, frozen=True):
    cursor: int
    resend_from: int


def opened(said: Head, log_head: tuple[int, int] | None) -> Command[Opened]:
    """Takes up what a `session/open` says, and puts the cursor where both sides' logs agree.

    The cursor goes back to that place, so that what the host sends next is no gap; entries that were taken are known by
    their keys and skipped. A new session with a parent is a fork, and begins with the event that says so.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, Opened]:
        store = moment.store
        head = merged(desk.head, said)
        if head != desk.head:
            store.save_head(head)
        is_new = desk.cursor < 0 and desk.state.revision == 0
        if is_new and head.parent is not None:
            told = forked(desk.intake, head.session, head.parent, moment.now)
            keep(moment, told.events, told.digests)
        resend_from = store.resend_from(log_head)
        cursor = resend_from - 1
        if cursor != desk.cursor:
            row = store.load_intake()
            store.save_intake(cursor, row.cursor_time if row else None, msgspec.json.encode(desk.intake))
        after = replace(desk, head=head, cursor=cursor, waiting=store.waiting_summary())
        return after, Opened(cursor, resend_from)

    return command


def merged(known: Head, said: Head) -> Head:
    """What is known of the session with what is said now; what that leaves out stays, and a parent stays the first."""
    return replace(
        known,
        title=said.title if said.title is not None else known.title,
        cwd=said.cwd if said.cwd is not None else known.cwd,
        parent=known.parent if known.parent is not None else said.parent,
        locale=said.locale if said.locale is not None else known.locale,
        profile=said.profile if said.profile is not None else known.profile,
    )
