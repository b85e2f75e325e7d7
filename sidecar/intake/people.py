"""Messages to the agent: the user's own words are events; what the host or a plugin put in is counted by its kind."""

from __future__ import annotations

from foldstate.kernel.event import Origin
from foldstate.sidecar.intake.reading import member, others, string, texts
from foldstate.sidecar.intake.state import IntakeState
from foldstate.sidecar.intake.subagent import NOTICES, notice
from foldstate.sidecar.intake.taken import Entry, Taken, entry_id, instant, taken, tell
from foldstate.sidecar.intake.words import keep


def take_message(state: IntakeState, session: str, entry: Entry) -> Taken:
    kind = source_kind(entry)
    if kind in NOTICES:
        return notice(state, session, entry, kind)
    if kind != "user":
        return taken(state, skipped=(f"user/message:{kind}",))
    content = member(entry.data, "content")
    text = "\n".join([*texts(content), *(f"[{one}]" for one in others(content))])
    if not text:
        return taken(state, skipped=("user/message:empty",))
    event_id = entry_id(session, entry.seq, entry.time, entry.type)
    origin = Origin(session, entry.seq)
    return taken(state, (tell(event_id, "user", "user", instant(entry.time), keep(text), origin),))


def source_kind(entry: Entry) -> str:
    """The message's source kind. Older logs name a plugin in a member of its own, newer ones write `plugin:NAME`."""
    kind = string(member(entry.data, "source", "kind"))
    if kind == "plugin":
        return f"plugin:{string(member(entry.data, 'source', 'plugin')) or '?'}"
    return kind or "?"
