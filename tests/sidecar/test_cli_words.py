"""The command line's two tables of words, and how it chooses between them."""

from __future__ import annotations

from string import Formatter

import msgspec
import pytest

from foldstate.sidecar.cli.words import language, words
from foldstate.sidecar.cli.words.table import Words


def names(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


@pytest.mark.parametrize("word", [field.name for field in msgspec.structs.fields(Words)])
def test_both_languages_say_the_same_with_the_same_facts(word: str) -> None:
    english, chinese = getattr(words("en"), word), getattr(words("zh"), word)
    if word == "months":
        assert len(english) == len(chinese) == 12
    else:
        assert english.strip() and chinese.strip()
        missing = names(english) ^ names(chinese)
        assert not missing, f"only one language fills in {missing}"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "zh_TW"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_first_setting_that_is_made_chooses_the_language(environment: dict[str, str], expected: str) -> None:
    assert language(environment) == expected
