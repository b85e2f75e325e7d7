"""What every test takes for granted."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The sidecar runs on asyncio, since pygls does."""
    return "asyncio"
