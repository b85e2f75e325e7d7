"""D7: what can't be done without a reason."""

from __future__ import annotations

from typing import assert_never

from msgspec import UnsetType

from foldstate.kernel.declaration import Declaration, Merge, New, Supersede, Withdraw
from foldstate.kernel.faults import Finding, Stage, invalid_field
from foldstate.kernel.state import State
from foldstate.kernel.values import SHARES


def unreasoned(state: State, declaration: Declaration) -> list[Finding]:
    """The fault of one declaration that owes a reason and gives none."""
    if "reason" in declaration.faulty:
        return []
    because = _owed(state, declaration)
    if because is None:
        return []
    fields = {"item": declaration.id, "field": "reason", "because": because}
    return [invalid_field(f"{declaration.path}.reason", "reason_needed", fields, Stage.REASON)]


def _owed(state: State, declaration: Declaration) -> str | None:
    match declaration:
        case Withdraw(reason=reason):
            return "withdraw" if reason is None else None
        case New(reason=reason, share=share) | Merge(made=New(reason=reason, share=share)):
            numbered = share is not None or "share" in declaration.faulty
            return "share" if reason is None and numbered else None
        case Supersede():
            return _owed_by_patch(state, declaration) if isinstance(declaration.reason, UnsetType) else None
        case _:
            assert_never(declaration)


def _owed_by_patch(state: State, patch: Supersede) -> str | None:
    item = state.items.get(patch.id)
    if isinstance(patch.share, int) or "share" in patch.faulty:
        return "share"
    if item is None or item.status == "merged":
        return None
    if "weight" not in patch.faulty and SHARES[patch.weight] < SHARES[item.weight]:
        return "lower_weight"
    if patch.share is None and item.share_override is not None:
        return "share_cancelled"
    return None
