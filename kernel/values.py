"""The contract's closed sets and limits: the tables that everything else, the editor's prompt too, is held against.

Owns no state and decides nothing. Lengths are Unicode code points, shares are whole parts of a layer's budget.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Weight: TypeAlias = Literal["critical", "high", "normal", "low", "trace"]
Kind: TypeAlias = Literal["needs-you", "in-progress", "done", "fyi"]
Status: TypeAlias = Literal["active", "withdrawn", "merged"]
Disposed: TypeAlias = Literal["noise", "duplicate", "used", "deferred"]
Result: TypeAlias = Literal["commit", "acknowledge", "checked"]
Change: TypeAlias = Literal["created", "updated", "restored", "withdrawn", "merged"]
Meaning: TypeAlias = Literal["ack", "decide", "act", "input", "snooze"]
Via: TypeAlias = Literal["button", "reply"]
Language: TypeAlias = Literal["zh", "en"]

SHARES: Final[dict[Weight, int]] = {"critical": 24, "high": 12, "normal": 6, "low": 3, "trace": 1}
"""What each weight takes of its layer's budget, heaviest first."""

KINDS: Final[tuple[Kind, ...]] = ("needs-you", "in-progress", "done", "fyi")
"""The kinds in the order that breaks ties of rank."""

DISPOSITIONS: Final[tuple[Disposed, ...]] = ("noise", "duplicate", "used", "deferred")

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
MIN_YEAR: Final = 1970
MAX_YEAR: Final = 9998
