"""The names on the wire, held against a golden file: other programs drive the sidecar by them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw, Struct

from foldstate.kernel.event import Disposition, Event, Feedback, Origin, Reminder
from foldstate.kernel.signal import Coverage, Signal, Window
from foldstate.kernel.state import Annotation, Source
from foldstate.kernel.values import Json
from foldstate.kernel.verdict import ItemChange, LayerUse, Receipt
from foldstate.kernel.view import ItemView, LayerView, NotActive, Profile, RoundInput, StateView
from foldstate.sidecar.wire import frames
from foldstate.sidecar.wire.envelope import decode
from foldstate.sidecar.wire.errors import InvalidParams, WireError

GOLDEN = Path(__file__).parent / "golden"
PARAMS: dict[str, Json] = json.loads((GOLDEN / "params.json").read_text())
RESULTS: dict[str, Json] = json.loads((GOLDEN / "results.json").read_text())

AT = "2026-01-31T09:30:00+08:00"
RECEIPT = Receipt(
    "b-1", "commit", 4, AT, False, (ItemChange("login-fix", "created"),), ("n-1",), {"root": LayerUse(64, 24)}
)
ITEM = ItemView(
    "login-fix",
    1,
    "修登录",
    "等评审",
    "critical",
    24,
    None,
    "needs-you",
    None,
    AT,
    None,
    (Source("mail", "event:m-1", "部署推迟", AT),),
    (Annotation("n-1", "login-fix", "再看看", AT),),
    AT,
    AT,
    60,
    30,
    -5,
    None,
    LayerView(64, 0, ()),
)
GONE = NotActive("old", "旧事", "withdrawn", None, None, "done", None, AT)
VIEW = StateView(4, AT, None, None, None, LayerView(64, 24, (ITEM,)), (GONE,), 2)
EVENT = Event(
    "e-1",
    "feedback",
    "user",
    AT,
    "稍后",
    Feedback("login-fix", "later", "snooze", "button", None, AT),
    Reminder("e-0", "login-fix", "active", "login-fix", AT, AT, 3),
    Origin("01J-session", 3),
    2,
    True,
)
SIGNAL = Signal("events", ("feedback",), 1, Window(None, AT), {"user": Coverage("ok", AT)}, ("e-2",))
ROUND = RoundInput(Profile("后端", None, None), AT, "b-1", VIEW, (ITEM.annotations[0],), (EVENT,), SIGNAL, ())
CASES: dict[str, Struct | None] = {
    "initialize": frames.InitializeResult(1, frames.Server("foldstate", "0.1.0"), frames.Config(), ("user/message",)),
    "shutdown": None,
    "clock/set": frames.ClockSetResult((frames.Fired("01J-session", ("events",), AT),)),
    "session/open": frames.SessionOpenResult("01J-session", 4, 7, 8, False, (frames.Degraded("x", "y"),)),
    "session/close": None,
    "session/events": frames.SessionEventsResult(7, ("h:1",)),
    "subagent/started": frames.SubagentStartedResult("h:2"),
    "subagent/settled": frames.SubagentSettledResult("h:3", False),
    "event/post": frames.EventResult("m-1", True),
    "annotation/add": frames.AnnotationAddResult("a-1", True),
    "state/get": VIEW,
    "surface/get": frames.SurfaceGetResult("text", 2, 4, 0),
    "item/get": frames.ItemGetResult(GONE, (frames.ItemHistory(1, "b-1", AT, "withdrawn"),), (EVENT,)),
    "evidence/get": frames.EvidenceGetResult(
        "event:m-1", "部署", True, 4, "00ff", "mail", "ops@example.com", AT, Origin("01J-session", 3)
    ),
    "history/list": frames.HistoryListResult(
        (
            frames.HistoryBatch(
                1,
                "b-1",
                AT,
                "commit",
                4,
                (ItemChange("login-fix", "created"),),
                (Disposition("e-1", "used", "why", ("login-fix",)),),
                ("n-1",),
            ),
        ),
        None,
    ),
    "round/begin": frames.RoundBeginResult(ROUND, frames.RoundPrompt("system", "user")),
    "round/submit": frames.BatchAccepted(RECEIPT),
    "round/finish": frames.RoundFinishResult(RECEIPT),
    "round/cancel": None,
    "batch/submit": frames.BatchRefused({"code": "layer_budget", "over": 3}, ({"code": "layer_budget", "over": 3},)),
    "health/get": frames.HealthResult(
        1.5,
        1,
        2,
        3,
        frames.RoundCounts(1, 2, 3, 4),
        {"x": 1},
        "model",
        (frames.Incident("ab", AT, "where", "KeyError"),),
    ),
}
HOST_CASES: dict[str, Struct] = {
    "editor/complete": frames.EditorCompleteParams(
        "01J-session", "b-1", 1, "system", (frames.EditorMessage("user", "text"),), 8192, 120
    ),
    "surface/changed": frames.SurfaceChanged("01J-session", "text", 2, 4),
    "state/changed": frames.StateChanged("01J-session", 4, "commit"),
    "sidecar/starting": frames.StartingParams(77),
}


def shown(value: Struct | None) -> Json:
    result: Json = json.loads(msgspec.json.encode(value))
    return result


def raw(value: Json) -> Raw:
    return Raw(json.dumps(value).encode())


def test_the_golden_files_know_every_method() -> None:
    assert set(PARAMS) == set(CASES) == set(frames.REQUESTS)
    assert set(HOST_CASES) == {*frames.HOST_REQUESTS, *frames.HOST_NOTIFICATIONS}
    assert set(RESULTS) == {*CASES, *HOST_CASES}


@pytest.mark.parametrize("method", PARAMS)
def test_params_with_every_field_are_taken_and_mean_what_they_say(method: str) -> None:
    def plain(value: object) -> Json:
        assert isinstance(value, frames.Opaque)
        return value.value

    taken = decode(raw(PARAMS[method]), frames.REQUESTS[method][0])
    again: Json = json.loads(msgspec.json.encode(taken, enc_hook=plain))
    assert again == PARAMS[method]


@pytest.mark.parametrize("method", PARAMS)
def test_params_with_a_field_too_many_are_refused_wherever_it_stands(method: str) -> None:
    for path, spoiled in spoilt(PARAMS[method]):
        with pytest.raises(InvalidParams) as fault:
            decode(raw(spoiled), frames.REQUESTS[method][0])
        assert fault.value.fields["path"] == path


def spoilt(params: Json) -> list[tuple[str, Json]]:
    """The params once with an unknown field in each object that the protocol defines."""
    assert isinstance(params, dict)
    found: list[tuple[str, Json]] = [("params.unheard_of", {**params, "unheard_of": 1})]
    for name in ("host", "config", "head", "event", "profile"):
        inner = params.get(name)
        if isinstance(inner, dict):
            found.append((f"params.{name}.unheard_of", {**params, name: {**inner, "unheard_of": 1}}))
    events = params.get("events")
    if isinstance(events, list):
        for entry in events:
            assert isinstance(entry, dict)
            found.append(("params.events[0].unheard_of", {**params, "events": [{**entry, "unheard_of": 1}]}))
    return found


@pytest.mark.parametrize("method", CASES)
def test_results_carry_the_names_of_the_protocol(method: str) -> None:
    assert isinstance(CASES[method], frames.REQUESTS[method][1])
    assert shown(CASES[method]) == RESULTS[method]


@pytest.mark.parametrize("method", HOST_CASES)
def test_what_the_host_is_sent_carries_the_names_of_the_protocol(method: str) -> None:
    declared = {**frames.HOST_NOTIFICATIONS, **{name: pair[0] for name, pair in frames.HOST_REQUESTS.items()}}
    assert isinstance(HOST_CASES[method], declared[method])
    assert shown(HOST_CASES[method]) == RESULTS[method]


@pytest.mark.parametrize(
    "now",
    [
        "2026-01-31",
        "2026-01-31T09:30:00",
        "2026-02-30T09:30:00Z",
        "1969-12-31T23:59:59Z",
        "9999-01-01T00:00:00Z",
        "",
        "now",
    ],
)
@pytest.mark.parametrize(
    ("method", "field"),
    [
        ("initialize", "now"),
        ("clock/set", "now"),
        ("subagent/started", "at"),
        ("subagent/settled", "at"),
        ("event/post", "event.at"),
        ("annotation/add", "at"),
        ("state/get", "now"),
        ("batch/submit", "now"),
    ],
)
def test_a_time_that_is_none_is_refused_by_its_field(method: str, field: str, now: str) -> None:
    params = json.loads(json.dumps(PARAMS[method]))
    *outer, last = field.split(".")
    place = params
    for name in outer:
        place = place[name]
    place[last] = now
    with pytest.raises(InvalidParams, match="RFC 3339 with an offset") as fault:
        decode(raw(params), frames.REQUESTS[method][0])
    assert fault.value.fields["path"] == f"params.{field}"


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("editor", ["rule", "", None, 1]),
        ("language", ["de", 1]),
        ("quiet_s", [-0.1, 3601]),
        ("patience_s", [-1, 86401]),
        ("tier0_tokens", [0, 801, 1.5, True]),
        ("editor_max_tokens", [255, 65537]),
        ("editor_timeout_s", [0.5, 601]),
        ("unheard_of", [1]),
    ],
)
def test_configuration_out_of_bounds_is_refused_by_its_name(name: str, bad: list[Json]) -> None:
    for value in bad:
        params = json.loads(json.dumps(PARAMS["initialize"]))
        params["config"][name] = value
        with pytest.raises(InvalidParams) as fault:
            decode(raw(params), frames.InitializeParams)
        assert fault.value.fields["path"] == f"params.config.{name}"


@pytest.mark.parametrize(
    ("after", "through", "seqs"), [(5, 4, []), (-1, 7, [8]), (3, 7, [3]), (-1, 7, [4, 4]), (-1, 7, [5, 2])]
)
def test_log_entries_rise_within_what_they_are_said_to_span(after: int, through: int, seqs: list[int]) -> None:
    entries: list[Json] = [{"seq": seq, "time": 1, "type": "t", "data": None} for seq in seqs]
    params: Json = {"session": "s", "after": after, "through": through, "events": entries}
    with pytest.raises(InvalidParams):
        decode(raw(params), frames.SessionEventsParams)


def test_each_code_of_the_protocol_has_one_error_and_each_error_one_code() -> None:
    kinds = WireError.__subclasses__()
    assert len({kind.CODE for kind in kinds}) == len(kinds)
    assert {kind.CODE: kind.REASON for kind in kinds if kind.REASON} == {
        -32002: "not_initialized",
        -32010: "cursor_gap",
        -32011: "session_not_open",
        -32012: "read_only",
        -32013: "storage_unavailable",
        -32014: "round_unknown",
        -32015: "too_large",
        -32016: "event_conflict",
        -32017: "item_not_found",
        -32018: "ref_not_found",
    }
    assert {kind.CODE for kind in kinds if not kind.REASON} == {-32700, -32600, -32602, -32603}
