"""The method by which the user's notes come to items."""

from __future__ import annotations

from foldstate.sidecar.desk.noting import add_note
from foldstate.sidecar.methods.access import writable
from foldstate.sidecar.sessions.registry import Registry
from foldstate.sidecar.wire.frames import AnnotationAddParams, AnnotationAddResult


class NoteMethods:
    """Owns nothing; works on the registry's sessions."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def add(self, params: AnnotationAddParams) -> AnnotationAddResult:
        session = await writable(self._registry, params.session)
        noted = await session.actor.run(add_note(params.item, params.text, key=params.key, at=params.at))
        return AnnotationAddResult(noted.annotation, noted.duplicate)
