"""What holds for every batch, however it comes: found by generating them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import get_args

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from foldstate.kernel.batch import submit
from foldstate.kernel.evidence import stands_in
from foldstate.kernel.explain import explain
from foldstate.kernel.layer import used
from foldstate.kernel.lineage import ancestors
from foldstate.kernel.projection import state_view
from foldstate.kernel.round import cited_ids, decide
from foldstate.kernel.state import State, active_layers, newest_gone_first
from foldstate.kernel.surface import Note, surface
from foldstate.kernel.values import KINDS, LAYER_BUDGET, SHARES, Json, Language
from foldstate.kernel.verdict import Accepted, Record, Refused, Verdict
from tests.kernel.batches import LATER, batch_of, patch
from tests.kernel.rounds import BILL, round_of

EXAMPLES = settings(max_examples=80, deadline=None)

ids = st.sampled_from([f"i{n}" for n in range(7)])
texts = st.text(st.characters(exclude_categories=["C"]) | st.sampled_from("{}<>/…. 字"), min_size=1, max_size=30)
times = st.sampled_from(["2026-10-10T08:00:00Z", "2026-10-10T16:00:00+08:00", "2026-10-11T09:30:00.25-05:00"])
nothing = st.none()
sources = st.lists(
    st.builds(
        lambda n, q: {"channel": "mail", "ref": f"event:e-{n}", **q},
        st.integers(0, 2),
        st.sampled_from([{}, {"quote": "w"}]),
    ),
    max_size=3,
)


def optional(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional=fields)


def described(below: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, Json]]:
    """A declaration that is mostly well formed, with a relation that mostly fits its id."""
    base = st.fixed_dictionaries({"id": ids, "weight": st.sampled_from(sorted(SHARES)), "kind": st.sampled_from(KINDS)})
    rest = optional(
        title=texts,
        summary=texts | nothing,
        share=st.integers(1, 30) | nothing,
        reason=texts,
        due_at=times | nothing,
        stale_after=times | nothing,
        sources=sources,
        children=st.lists(below, max_size=3) | nothing,
    )
    how = st.sampled_from(["new", "new", "supersedes", "supersedes", "merges", "withdraw"])
    return st.builds(_declared, base, rest, how, ids, ids)


def _declared(base: dict[str, Json], rest: dict[str, Json], how: str, one: str, other: str) -> dict[str, Json]:
    if how == "withdraw":
        return {"id": base["id"], "relation": "withdraw", "reason": "It is over."}
    relation = {"new": "new", "supersedes": f"supersedes:{base['id']}", "merges": f"merges:[{one}, {other}]"}[how]
    filled: dict[str, Json] = (
        {"reason": "Because.", "title": "A title", **rest} if how != "supersedes" else {"reason": "r", **rest}
    )
    return {**base, **filled, "relation": relation}


declarations: st.SearchStrategy[dict[str, Json]] = st.deferred(lambda: described(declarations))
careless = st.lists(declarations, max_size=5)


@st.composite
def careful(draw: st.DrawFn, state: State) -> list[dict[str, Json]]:
    """Declarations by someone who reads the state: fresh ids for new items, each id once, target sets complete."""
    free = [one for one in (f"i{n}" for n in range(40)) if one not in state.items]
    open_to = sorted(state.items)
    weights = st.sampled_from(["trace", "trace", "low", "normal", "high"])
    said: list[dict[str, Json]] = []

    def some(item_id: str, relation: str, **more: Json) -> dict[str, Json]:
        fields: dict[str, Json] = {"title": draw(texts)[:24], "summary": draw(texts), "reason": "Because.", **more}
        return {
            "id": item_id,
            "relation": relation,
            "weight": draw(weights),
            "kind": draw(st.sampled_from(KINDS)),
            **fields,
        }

    def take(item_id: str) -> bool:
        if item_id not in open_to:
            return False
        open_to.remove(item_id)
        return True

    for move in draw(st.lists(st.sampled_from(["new", "family", "patch", "withdraw", "merge", "layer"]), max_size=4)):
        if move == "new":
            said.append(some(free.pop(0), "new"))
        elif move == "family":
            below: list[Json] = [some(free.pop(0), "new") for _ in range(draw(st.integers(1, 3)))]
            said.append(some(free.pop(0), "new", children=below))
        elif open_to:
            chosen = draw(st.sampled_from(open_to))
            beside = [
                one for one in state.layers.get(state.items[chosen].layer, ()) if one in open_to and one != chosen
            ]
            if move == "merge" and beside and take(chosen) and take(beside[0]):
                said.append(some(free.pop(0), f"merges:[{chosen}, {beside[0]}]"))
            elif move == "withdraw" and take(chosen):
                said.append({"id": chosen, "relation": "withdraw", "reason": "It is over."})
            elif move == "layer" and take(chosen):
                present = state.layers.get(chosen, ())
                kept: list[Json] = [some(one, f"supersedes:{one}") for one in present if take(one)]
                said.append(some(chosen, f"supersedes:{chosen}", children=[*kept, some(free.pop(0), "new")]))
            elif move == "patch" and take(chosen):
                said.append(some(chosen, f"supersedes:{chosen}"))
    return said


def batches_on(state: State) -> st.SearchStrategy[dict[str, Json]]:
    return (careful(state) | careful(state) | careless).map(lambda several: batch_of(*several))


@st.composite
def lives(draw: st.DrawFn) -> list[Json]:
    """Batches that were each written with an eye on the state that the ones before left."""
    state = State()
    sent: list[Json] = []
    for number in range(draw(st.integers(1, 9))):
        sent.append(draw(batches_on(state)))
        verdict = send(state, number, sent[-1])
        if isinstance(verdict, Accepted):
            state = verdict.state
    return sent


@st.composite
def moments(draw: st.DrawFn) -> tuple[State, dict[str, Json]]:
    """A state, and a batch that may come to it."""
    state, _, _ = run(draw(lives()))
    return state, draw(batches_on(state))


anything: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["declarations", "acknowledges", "id", "relation", "children", "sources", "dispositions", "batch", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def send(state: State, number: int, batch: Json, prior: Record | None = None) -> Verdict:
    return submit(state, batch_id=f"b-{number}", now=f"2026-10-10T{9 + number:02}:00:00Z", batch=batch, prior=prior)


def run(history: Iterable[Json]) -> tuple[State, list[Record], list[Refused]]:
    state, records, refusals = State(), [], []
    for number, batch in enumerate(history):
        verdict = send(state, number, batch)
        if isinstance(verdict, Refused):
            refusals.append(verdict)
            continue
        assert verdict.record is not None
        state = verdict.state
        records.append(verdict.record)
    return state, records, refusals


def as_bytes(state: State) -> bytes:
    return msgspec.json.encode(state)


@EXAMPLES
@given(lives())
def test_b2_no_layer_is_ever_over_64_and_the_tree_is_always_sound(history: list[Json]) -> None:
    state, _, _ = run(history)
    for layer, members in state.layers.items():
        assert used(state.items[one] for one in members) <= LAYER_BUDGET, layer
    assert dict(state.layers) == active_layers(state.items)
    assert state.gone == newest_gone_first(state.items.values())
    for item in state.items.values():
        if item.status == "active":
            assert all(above.status == "active" for above in ancestors(state.items, item.id))
            assert item.summary is not None or item.id not in state.layers
        assert (item.status == "withdrawn") == (item.withdrawal is not None)
        assert (item.status == "merged") == (item.merged_into is not None)


@EXAMPLES
@given(moments())
def test_b1_judging_a_batch_changes_nothing_that_was_there(moment: tuple[State, dict[str, Json]]) -> None:
    state, batch = moment
    before = as_bytes(state)
    send(state, 9, batch)
    assert as_bytes(state) == before


def turned(value: Json, random: Random) -> Json:
    """The same declarations in another order, at every depth."""
    if not isinstance(value, list):
        return value
    shuffled = [
        {**one, "children": turned(one.get("children"), random)} if isinstance(one, dict) and "children" in one else one
        for one in value
    ]
    random.shuffle(shuffled)
    return shuffled


@EXAMPLES
@given(moments(), st.randoms(use_true_random=False))
def test_d15_the_order_of_declarations_decides_nothing(moment: tuple[State, dict[str, Json]], random: Random) -> None:
    state, batch = moment
    first = send(state, 9, batch)
    second = send(state, 9, {**batch, "declarations": turned(batch["declarations"], random)})
    match first, second:
        case Accepted(), Accepted():
            assert as_bytes(first.state) == as_bytes(second.state)
            assert first.receipt == second.receipt
        case Refused(), Refused():
            assert sorted(fault.code for fault in first.faults) == sorted(fault.code for fault in second.faults)
        case _:
            raise AssertionError((first, second))


@EXAMPLES
@given(lives())
def test_b7_the_accepted_records_give_the_same_state_byte_for_byte(history: list[Json]) -> None:
    state, records, _ = run(history)
    rebuilt = State()
    for record in records:
        kept = msgspec.json.decode(msgspec.json.encode(record), type=Record)
        verdict = submit(rebuilt, batch_id=kept.batch_id, now=kept.at, batch=kept.batch)
        assert isinstance(verdict, Accepted)
        rebuilt = verdict.state
        assert verdict.record == kept
    assert as_bytes(rebuilt) == as_bytes(state)


@EXAMPLES
@given(lives())
def test_b5_an_accepted_batch_sent_again_is_a_replay(history: list[Json]) -> None:
    state, records, _ = run(history)
    for record in records:
        again: Json = json.loads(json.dumps(record.batch, sort_keys=True))
        verdict = submit(state, batch_id=record.batch_id, now=LATER, batch=again, prior=record)
        assert isinstance(verdict, Accepted)
        assert (verdict.state, verdict.receipt) == (state, msgspec.structs.replace(record.receipt, replayed=True))


@EXAMPLES
@given(lives())
def test_d8_saying_again_what_stands_is_no_update(history: list[Json]) -> None:
    state, _, _ = run(history)
    repeated = [
        patch(
            item.id,
            title=item.title,
            weight=item.weight,
            kind=item.kind,
            due_at=item.due_at,
            summary=item.summary,
            reason="Once more.",
        )
        for item in state.items.values()
        if item.status == "active"
    ]
    verdict = send(state, 9, batch_of(*repeated))
    assert isinstance(verdict, Accepted), verdict
    assert (verdict.receipt.result, verdict.receipt.changes) == ("checked", ())
    assert verdict.state.items == state.items


@EXAMPLES
@given(lives())
def test_b8_a_refusal_tells_at_most_20_faults_and_each_can_be_explained(history: list[Json]) -> None:
    _, _, refusals = run(history)
    for refusal in refusals:
        assert 1 <= len(refusal.faults) <= 20
        for fault in refusal.faults:
            assert all("–" not in explain(fault, language) for language in get_args(Language))


@EXAMPLES
@given(anything)
def test_any_value_is_judged_and_none_raises(value: Json) -> None:
    outputs: tuple[Json, ...] = (
        value,
        {"dispositions": value, "batch": value},
        {"dispositions": [value], "batch": batch_of(value)},
    )
    for output in outputs:
        verdicts = [
            submit(State(), batch_id="b", now=LATER, batch=output),
            decide(State(), round_of(BILL), output, ledger={}),
        ]
        for verdict in verdicts:
            if isinstance(verdict, Refused):
                assert all(explain(fault, "en").encode() and fault.path.encode() for fault in verdict.faults)
        assert isinstance(cited_ids(output), frozenset)


@EXAMPLES
@given(lives(), st.integers(0, 900), st.sampled_from(get_args(Language)), st.sets(st.sampled_from(get_args(Note))))
def test_a_surface_is_never_over_its_budget_and_never_interpolated(
    history: list[Json], budget: int, language: Language, notes: set[Note]
) -> None:
    state, _, _ = run(history)
    shown = surface(state, language=language, budget_tokens=budget, notes=tuple(notes))
    assert shown.tokens <= budget
    assert "{{" not in shown.text
    assert "}}" not in shown.text
    assert shown.text.count("</foldstate>") == (1 if shown.text else 0)
    assert 0 <= shown.omitted <= sum(map(len, state.layers.values()))
    assert shown == surface(state, language=language, budget_tokens=budget, notes=tuple(notes))


@EXAMPLES
@given(lives())
def test_every_item_is_shown_in_its_layer_or_as_not_active(history: list[Json]) -> None:
    state, _, _ = run(history)
    view = state_view(state, LATER)
    shown, waiting = [one.id for one in view.not_active], [view.root]
    while waiting:
        for item in waiting.pop().items:
            shown.append(item.id)
            if item.children is not None:
                waiting.append(item.children)
    assert sorted(shown) == sorted(state.items)


@EXAMPLES
@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_whatever_is_copied_from_a_text_stands_in_it(text: str, start: int, end: int) -> None:
    copied = text[start:end]
    if copied.strip():
        assert stands_in(copied, text)
        assert stands_in(" \n".join(copied.split()), text)
