"""Why a command couldn't do what it was asked: one sentence that says what to do about it."""

from __future__ import annotations

from foldstate.sidecar.cli.words import Words


class CommandError(Exception):
    """Carries the sentence as the user reads it. The command ends with exit code 1, and nothing is half-done."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def sentence_of(error: CommandError | OSError, words: Words) -> str:
    """What the user is told of it."""
    if isinstance(error, CommandError):
        return error.sentence
    return words.file_trouble.format(path=error.filename, detail=error.strerror or error)
