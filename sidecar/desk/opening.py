"""The command of `session/open`: what the host says of the session now, and where its log goes on."""

from __future__ import annotations

from msgspec.structs import replace

from foldstate.sidecar.desk.actor import Command, Moment
from foldstate.sidecar.desk.desk import Desk
from foldstate.sidecar.desk.taking import keep
from foldstate.sidecar.intake.lineage import forked
from foldstate.sidecar.store.head import Head


def opened(said: Head, log_head: tuple[int, int] | None) -> Command[int]:
    """Takes up what a `session/open` says, and tells from where on the host is to send its log again.

    What it sends from there on and was taken is known by its keys, and skipped. A new session with a parent is a fork,
    and begins with the event that says so.
    """

    def command(desk: Desk, moment: Moment) -> tuple[Desk, int]:
        head = merged(desk.head, said)
        if head != desk.head:
            moment.store.save_head(head)
        begins = desk.cursor < 0 and desk.state.revision == 0 and desk.head.parent is None
        if begins and head.parent is not None:
            keep(moment, forked(desk.intake, head.session, head.parent, moment.now))
        after = replace(desk, head=head, waiting=moment.store.waiting_summary())
        return after, moment.store.resend_from(log_head)

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
