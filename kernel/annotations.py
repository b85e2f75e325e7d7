"""The user's notes on items: `saved` until an editor acknowledges them, whatever becomes of the item (section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from foldstate.kernel import instant
from foldstate.kernel.faults import Finding, Stage, finding, invalid_field
from foldstate.kernel.fields import text_problem
from foldstate.kernel.lineage import last_successor
from foldstate.kernel.state import Annotation, State
from foldstate.kernel.values import MAX_ANNOTATION
from foldstate.kernel.verdict import Fault


def annotation_faults(state: State, item: str, text: str) -> tuple[Fault, ...]:
    """What keeps a note from being left on an item: it is unknown, or the text isn't 1 to 500 code points."""
    found: list[Finding] = []
    if item not in state.items:
        found.append(finding(Stage.IDENTITY, "item_not_found", "item", {"item": item}))
    problem = text_problem(text, MAX_ANNOTATION, allowed="\n")
    if problem is not None:
        found.append(invalid_field("text", problem.name, {"field": "text", **problem.figures}))
    return tuple(one.fault for one in found)


def annotate(state: State, annotation: Annotation) -> State:
    """The state with one more note. Notes are no revision and no update of the item.

    Raises ValueError for a note that `annotation_faults` would refuse, or one whose id is taken.
    """
    faults = annotation_faults(state, annotation.item, annotation.text)
    if faults or annotation.id in state.annotations:
        raise ValueError(
            f"annotation {annotation.id} can't be added: {faults[0].code if faults else 'its id is taken'}"
        )
    return replace(state, annotations={**state.annotations, annotation.id: annotation})


def acknowledge(annotations: Mapping[str, Annotation], ids: Iterable[str]) -> Mapping[str, Annotation]:
    """B3: these notes are acknowledged."""
    return {**annotations, **{one: replace(annotations[one], status="acknowledged") for one in ids}}


def pending(state: State) -> tuple[Annotation, ...]:
    """The notes that no editor acknowledged yet, oldest first."""
    return in_order(one for one in state.annotations.values() if one.status == "saved")


def by_item(state: State) -> dict[str, tuple[Annotation, ...]]:
    """The notes by the item that shows them: the last successor of the one that they were left on."""
    shown: dict[str, list[Annotation]] = {}
    for one in state.annotations.values():
        shown.setdefault(last_successor(state.items, one.item), []).append(one)
    return {item: in_order(notes) for item, notes in shown.items()}


def in_order(notes: Iterable[Annotation]) -> tuple[Annotation, ...]:
    """Notes as they came."""
    return tuple(sorted(notes, key=lambda one: (instant.known(one.created_at), one.id)))
