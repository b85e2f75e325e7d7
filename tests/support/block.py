"""Our block as it stands in what the model receives."""

from __future__ import annotations

from foldstate.kernel.surface import OPENING
from tests.support.messages import Request


def blocks(request: Request) -> list[str]:
    """The blocks of ours that a request carries, oldest first."""
    return [text for text in request.user_texts if text.startswith(OPENING)]
