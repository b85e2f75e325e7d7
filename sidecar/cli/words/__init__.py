"""What the command line says, in the reader's language: one table for each, with the same words in both."""

from __future__ import annotations

from collections.abc import Mapping

from foldstate.kernel.values import Language
from foldstate.sidecar.cli.words.table import Words

__all__ = ["Words", "language", "words"]


def language(environment: Mapping[str, str]) -> Language:
    """The reader's language, by `LC_ALL`, `LC_MESSAGES` and `LANG`; the first that is set decides."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def words(chosen: Language) -> Words:
    """The table of a language."""
    if chosen == "zh":
        from foldstate.sidecar.cli.words.zh import ZH

        return ZH
    from foldstate.sidecar.cli.words.en import EN

    return EN
