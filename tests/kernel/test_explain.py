"""B9: each fault in a sentence that an editor can act on."""

from __future__ import annotations

import string
from typing import get_args

import pytest

from foldstate.kernel.explain import explain, fault_view
from foldstate.kernel.state import State
from foldstate.kernel.values import CODES, DEFECTS, Json, Language
from foldstate.kernel.verdict import Fault
from foldstate.kernel.words import PROBLEMS, SENTENCES
from tests.kernel.batches import LATER, after, family, faults, leave, merge, new, patch, source
from tests.kernel.rounds import BILL, NEWS, answer, disposed, round_of, wrong

LANGUAGES: tuple[Language, ...] = get_args(Language)


def every_kind_of_fault() -> list[Fault]:
    """Faults as the kernel makes them, of as many kinds as a few bad batches have."""
    merged = after(after(family(), new("a"), new("b")), merge("m", "a", "b"))
    gone = after(family(), leave("trip"))
    deep = new(
        "p", summary="s", children=[new("q", summary="s", children=[new("r", summary="s", children=[new("t")])])]
    )
    many_sources: list[Json] = [source(str(n)) for n in range(17)]
    state = after(State(), new("x", weight="high"))
    return [
        *faults(merged, new("a"), patch("nobody"), patch("m", title=""), leave("a")),
        *faults(family(), patch("trip", children=[patch("errand")]), merge("m2", "flight", "errand")),
        *faults(family(), merge("m2", "trip", "errand"), new("twice"), new("twice")),
        *faults(gone, patch("flight"), new("p", children=[new("c")])),
        *faults(
            State(),
            new("root"),
            new("Bad"),
            new("t", title="t" * 30, note=1),
            new("c", title="\x00"),
            "text",
            acknowledges=("a-1",),
        ),
        *faults(
            State(),
            new("k", kind="todo", due_at="soon", share=0, sources=many_sources),
            {"id": "w", "relation": "withdraw", "kind": 1},
        ),
        *faults(
            State(),
            {"id": "o"},
            new("r", relation="detail-of:x"),
            new("s", relation="supersedes:t"),
            merge("u", "v"),
            new("n", title=None),
        ),
        *faults(
            State(),
            new("q", sources=[]),
            new("v", sources={}),
            new("y", title=4),
            new("z", summary="s", children=[merge("i", "j", "k")]),
        ),
        *faults(
            State(), *(new(f"big-{n}", weight="critical") for n in range(3)), new("x", children=[deep], summary="s")
        ),
        *faults(after(state, patch("x", title="B", weight="high")), patch("x", title="C", weight="low"), base=1),
        *wrong(
            state,
            round_of(BILL, NEWS, base=1),
            answer(
                [disposed("e-1", "noise"), disposed("e-1"), disposed("e-7", "used", "who")],
                new("y", sources=[source("e-1", "chat", quote="nope")]),
                new("z", sources=[source("e-5")]),
                new("bare"),
            ),
        ),
        *wrong(state, round_of(BILL, base=1), answer([disposed("e-1", "noise", "x")])),
        *wrong(state, round_of(BILL, base=1), answer([])),
        *wrong(state, round_of(), "none"),
        *wrong(state, round_of(), "{} {}"),
        *wrong(state, round_of(), '{"a'),
        *faults(State(), new("x", reason="x" * 300_000)),
        Fault("batch_conflict", "batch_id", {"batch_id": "b-1", "at": LATER}),
    ]


def test_every_code_and_every_defect_has_its_sentence() -> None:
    assert set(SENTENCES) == set(CODES)
    assert set(PROBLEMS) == set(DEFECTS)


def test_the_kernel_makes_every_code_and_every_defect() -> None:
    made = every_kind_of_fault()
    assert {fault.code for fault in made} == set(CODES)
    assert {fault.fields["problem"] for fault in made if "problem" in fault.fields} == set(DEFECTS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_whole_and_in_its_language(language: Language) -> None:
    for fault in every_kind_of_fault():
        said = explain(fault, language)
        assert "–" not in said, fault
        assert said.endswith("。" if language == "zh" else "."), fault
        assert any("\u4e00" <= one <= "\u9fff" for one in said) == (language == "zh"), fault


def test_the_sentences_of_both_languages_tell_the_same_figures() -> None:
    def names(sentence: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}

    for sentence in (*SENTENCES.values(), *PROBLEMS.values()):
        assert names(sentence.zh) == names(sentence.en), sentence


def test_a_figure_that_is_missing_leaves_a_gap_and_fails_nothing() -> None:
    assert explain(Fault("layer_budget", "batch"), "en").startswith("Layer –")


def test_a_text_in_a_fault_is_never_a_template() -> None:
    fault = Fault("item_not_found", "batch", {"item": "{path.__class__}"})
    assert "{path.__class__}" in explain(fault, "en")


def test_the_wires_shape_is_flat() -> None:
    fault = faults(State(), patch("nobody"))[0]
    assert fault_view(fault, "en") == {
        "code": "item_not_found",
        "message": "There is no item nobody; check the id against the state, or declare it as new.",
        "path": "batch.declarations[0].id",
        "item": "nobody",
    }


def test_a_budget_fault_tells_who_pays() -> None:
    over = faults(State(), *(new(f"big-{n}", weight="critical") for n in range(3)))[0]
    assert "big-0 24, big-1 24, big-2 24" in explain(over, "en")
    assert "8" in explain(over, "zh")
