"""The events that an answer speaks of, whatever it looks like: what a ledger is asked for before it is judged."""

from __future__ import annotations

from foldstate.kernel.evidence import EVENT_REF
from foldstate.kernel.values import Json


def cited_in(batch: Json) -> set[str]:
    """The ids of the events that a batch's declarations cite, nested ones too."""
    found: set[str] = set()
    waiting: list[Json] = [batch.get("declarations")] if isinstance(batch, dict) else []
    while waiting:
        for declaration in _objects(waiting.pop()):
            waiting.append(declaration.get("children"))
            for source in _objects(declaration.get("sources")):
                ref = source.get("ref")
                if isinstance(ref, str) and ref.startswith(EVENT_REF):
                    found.add(ref.removeprefix(EVENT_REF))
    return found


def named_in(dispositions: Json) -> set[str]:
    """The ids of the events that an answer's dispositions name."""
    return {event for one in _objects(dispositions) if isinstance(event := one.get("event"), str)}


def _objects(value: Json) -> list[dict[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
