from __future__ import annotations

import json

import pytest

from foldstate.kernel.answer import read_answer
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import Fault

OBJECT: dict[str, Json] = {"dispositions": [], "batch": {"declarations": [], "acknowledges": []}}
TEXT = json.dumps(OBJECT)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"  \n{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{json.dumps(OBJECT, indent=2)}\n```",
        f"I looked at {{id}} and {{ both }}. Here it is: {TEXT} Done {{so}}.",
        f"{{{{x}}}} {TEXT}",
    ],
)
def test_one_object_is_found_bare_in_a_fence_or_among_words(text: str) -> None:
    assert read_answer(text) == OBJECT


def test_an_object_is_taken_as_it_is() -> None:
    assert read_answer(OBJECT) is OBJECT


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("", "no_object"),
        ("Nothing to do.", "no_object"),
        ("[1, 2]", "no_object"),
        (7, "no_object"),
        ([], "no_object"),
        (f"{TEXT}\n{TEXT}", "several_objects"),
        (f"```json\n{TEXT}\n```\nor\n```json\n{TEXT}\n```", "several_objects"),
        (TEXT[:-1], "broken_json"),
        ('{"dispositions": [{"event": "e-1"}], "batch": {"declarations": [', "broken_json"),
        ('{"batch": NaN}', "broken_json"),
        ('{"a":' * 30_000, "broken_json"),
    ],
)
def test_two_objects_none_or_a_broken_one_are_invalid_output(output: Json, problem: str) -> None:
    fault = read_answer(output)
    assert isinstance(fault, Fault)
    assert (fault.code, fault.fields["problem"]) == ("invalid_output", problem)


def test_many_braces_that_open_nothing_are_read_once() -> None:
    assert isinstance(read_answer("{" * 200_000), Fault)
