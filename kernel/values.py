"""The contract's closed sets and limits: the tables that everything else, the editor's prompt too, is held against.

Owns no state and decides nothing. Lengths are Unicode code points, shares are whole parts of a layer's budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    # msgspec decodes no alias that names itself; what it decodes where anything may stand is just that.
    Json = Any

Weight: TypeAlias = Literal["critical", "high", "normal", "low", "trace"]
Kind: TypeAlias = Literal["needs-you", "in-progress", "done", "fyi"]
Status: TypeAlias = Literal["active", "withdrawn", "merged"]
Disposed: TypeAlias = Literal["noise", "duplicate", "used", "deferred"]
Result: TypeAlias = Literal["commit", "acknowledge", "checked"]
Change: TypeAlias = Literal["created", "updated", "restored", "withdrawn", "merged"]
Meaning: TypeAlias = Literal["ack", "decide", "act", "input", "snooze"]
Via: TypeAlias = Literal["button", "reply"]
Language: TypeAlias = Literal["zh", "en"]
Code: TypeAlias = Literal[
    "invalid_output",
    "batch_conflict",
    "invalid_field",
    "duplicate_declaration",
    "item_exists",
    "item_not_found",
    "item_merged",
    "unsupported_move",
    "inactive_parent",
    "explicit_withdraw_required",
    "unsupported_merge_structure",
    "merge_layer_mismatch",
    "disposition_missing",
    "disposition_duplicate",
    "disposition_unknown_event",
    "related_not_found",
    "source_required",
    "event_not_found",
    "channel_mismatch",
    "quote_not_found",
    "cited_not_used",
    "annotation_not_found",
    "stale_base",
    "layer_budget",
]
Defect: TypeAlias = Literal[
    "no_object",
    "several_objects",
    "broken_json",
    "missing",
    "null",
    "unknown_field",
    "withdraw_only",
    "not_object",
    "not_list",
    "not_text",
    "too_large",
    "too_many",
    "too_deep",
    "empty",
    "id",
    "reserved",
    "blank",
    "too_long",
    "character",
    "choice",
    "time",
    "share",
    "relation",
    "relation_other_id",
    "relation_nested",
    "merges_fewer",
    "summary_needed",
    "reason_needed",
    "noise_related",
]

SHARES: Final[dict[Weight, int]] = {"critical": 24, "high": 12, "normal": 6, "low": 3, "trace": 1}
"""What each weight takes of its layer's budget, heaviest first."""

KINDS: Final[tuple[Kind, ...]] = ("needs-you", "in-progress", "done", "fyi")
"""The kinds in the order that breaks ties of rank."""

DISPOSITIONS: Final[tuple[Disposed, ...]] = ("noise", "duplicate", "used", "deferred")

CODES: Final[tuple[Code, ...]] = get_args(Code)
"""Every way in which an answer can be refused."""

DEFECTS: Final[tuple[Defect, ...]] = get_args(Defect)
"""What can be wrong with a single field or with the output as a whole: the `problem` of a fault."""

ROOT: Final = "root"
"""The root layer's name in receipts and faults; reserved as an item id."""

LAYER_BUDGET: Final = 64
MAX_DEPTH: Final = 4
"""The root layer and three below it."""
MAX_DECLARATIONS: Final = 200
MAX_BATCH_BYTES: Final = 256 * 1024
MAX_SOURCES: Final = 16
MAX_FAULTS: Final = 20
MAX_ID: Final = 64
MAX_TITLE: Final = 24
MAX_SUMMARY: Final = 60
MAX_REASON: Final = 500
MAX_REF: Final = 500
MAX_QUOTE: Final = 1000
MAX_ANNOTATION: Final = 500
MAX_SHOWN: Final = 4000
"""Code points of an event's text that the editor is shown."""
MAX_NOT_ACTIVE: Final = 100
"""Entries of `not_active` that a round carries, besides those that the round names."""
MAX_SURFACE_TOKENS: Final = 800
MIN_YEAR: Final = 1970
MAX_YEAR: Final = 9998
