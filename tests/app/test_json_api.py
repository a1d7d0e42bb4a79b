"""The JSON routes: answers, streams, errors in the one shape, limits, headers."""

import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.clients import TOKEN_HEADER
from app.context import EXTENSION
from app.fair_queue import Client
from app.jobs import OPS
from testing.waiting import until
from tests.app.conftest import SOURCE, MakeApp
from tests.app.fake_worker import MANIFEST


def events(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in data.decode().strip().split("\n\n"):
        name, payload = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(payload.removeprefix("data: "))))
    return found


def test_the_index_lists_every_operation(client: FlaskClient) -> None:
    listed = client.get("/api/").get_json()["operations"]
    assert {entry["path"] for entry in listed} == {f"/api/{name}" for name in OPS}


def test_the_operations_are_described_for_clients(client: FlaskClient) -> None:
    told = client.get("/api/openapi.json").get_json()
    assert told["paths"].keys() == {f"/api/{name}" for name in OPS}


def test_the_manifest_is_the_pipelines(client: FlaskClient) -> None:
    assert client.get("/api/manifest").get_json()["stages"] == MANIFEST


def test_check_answers_entry_points(client: FlaskClient) -> None:
    answer = client.post("/api/check", json={"source": SOURCE}).get_json()
    assert answer["ok"]
    assert answer["entries"][0]["params"] == ["[]i64"]
    assert "id" not in answer, "which the server and its worker need among themselves"


def test_show_answers_all_stages_at_once(client: FlaskClient) -> None:
    answer = client.post("/api/show", json={"source": SOURCE}).get_json()
    assert list(answer["stages"]) == [stage["id"] for stage in MANIFEST]
    assert answer["remarks"][0]["rule"] == "fuse/map-map"


def test_show_streams_stages_each_once(client: FlaskClient) -> None:
    headers = {"Accept": "text/event-stream"}
    response = client.post("/api/show", json={"source": SOURCE}, headers=headers)
    assert response.mimetype == "text/event-stream"
    found = events(response.data)
    assert [name for name, _ in found] == ["part", "done"]
    sent = [stage for _, answer in found for stage in answer["stages"]]
    assert sent == [stage["id"] for stage in MANIFEST]
    again = events(client.post("/api/show", json={"source": SOURCE}, headers=headers).data)
    assert again == found


def test_runs_of_a_class_are_told_their_places_and_answered(make_app: MakeApp) -> None:
    app = make_app(RUN_WORKERS=1)
    found: list[list[tuple[str, Any]]] = []

    def run(number: int) -> None:
        headers = {"Accept": "text/event-stream", TOKEN_HEADER: f"a-pupil-of-the-class-{number}"}
        asked = {"source": f"{SOURCE} -- SLOW {number}", "input": "1"}
        found.append(events(app.test_client().post("/api/run", json=asked, headers=headers).data))

    pupils = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for pupil in pupils:
        pupil.start()
    for pupil in pupils:
        pupil.join()
    assert [steps[-1][0] for steps in found] == ["done"] * 4
    assert all(steps[-1][1]["output"] == "1" for steps in found)
    first, *others = sorted(found, key=len)
    assert len(first) == 1, "who comes first does not wait"
    for steps in others:
        assert {name for name, _ in steps[:-1]} == {"queued"}
        places = [answer["queued"] for _, answer in steps[:-1]]
        assert places == sorted(set(places), reverse=True)
        assert places[-1] == 0, "its turn comes"
    assert max(steps[0][1]["queued"] for steps in others) >= 2


def test_a_wrong_program_is_an_ordinary_answer(client: FlaskClient) -> None:
    response = client.post("/api/check", json={"source": "let x = WRONG"})
    assert response.status_code == 200
    error = response.get_json()["error"]
    assert error["kind"] == "type"
    assert error["span"] == [1, 9, 1, 14]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"", 400, "usage"),
        (b"[]", 400, "usage"),
        (b"{}", 400, "usage"),
        (b'{"source": 3}', 400, "usage"),
        (b'{"source": "a", "options": []}', 400, "usage"),
        (b'{"source": "a", "options": {"fuel": -1}}', 400, "usage"),
        (b'{"source": "a", "option": {}}', 400, "usage"),
        (b'{"source": "\xff"}', 400, "syntax"),
        (b'{"source": "a\\n\\ud800"}', 400, "syntax"),
        (b"[" * 19_000, 400, "usage"),
        (b"[" * 100_000, 413, "usage"),
    ],
)
def test_a_bad_request_says_what_is_wrong(
    client: FlaskClient, body: bytes, status: int, kind: str
) -> None:
    response = client.post("/api/check", data=body, content_type="application/json")
    assert response.status_code == status
    error = response.get_json()["error"]
    assert error["kind"] == kind
    assert error["message"]


def test_questions_about_lmads_need_no_program(client: FlaskClient) -> None:
    pair = {"assumptions": {"other": ["0 <= i"]}, "a": "i + {(n : 1)}", "b": {"offset": "n"}}
    assert client.post("/api/prove", json=pair).get_json()["verdict"] == "disjoint"
    drawn = client.post("/api/cells", json={"lmads": [pair["a"], "{(n : 1)}"], "values": {"n": 3}})
    assert drawn.get_json()["values"]["n"] == 3
    refused = client.post("/api/prove", json={"a": "0"})
    assert refused.status_code == 400
    assert "`b`" in refused.get_json()["error"]["message"]
    assert client.post("/api/attempts", json={}).status_code == 400


def test_a_text_that_is_too_long_is_refused(make_app: MakeApp) -> None:
    response = make_app(SOURCE_LIMIT=10).test_client().post("/api/check", json={"source": "a" * 11})
    assert response.status_code == 413
    assert "at most 10" in response.get_json()["error"]["message"]


def test_unknown_places_have_the_error_shape(client: FlaskClient) -> None:
    response = client.post("/api/nothing", json={})
    assert response.status_code == 404
    assert response.get_json()["error"]["kind"] == "usage"


def test_a_compile_that_takes_too_long_is_stopped(make_app: MakeApp) -> None:
    client = make_app(COMPILE_SECONDS=0.4).test_client()
    response = client.post("/api/check", json={"source": "SLEEP"})
    assert response.status_code == 504
    assert "0.4 s" in response.get_json()["error"]["message"]


def test_a_worker_that_dies_is_our_fault(client: FlaskClient) -> None:
    response = client.post("/api/check", json={"source": "DIE"})
    assert response.status_code == 500
    assert response.get_json()["error"]["kind"] == "internal"
    assert client.post("/api/check", json={"source": SOURCE}).get_json()["ok"]


def test_generated_inputs_reach_the_run(client: FlaskClient) -> None:
    body = {"source": SOURCE, "sizes": {"n": 3}, "seed": 7, "backend": "ref"}
    assert client.post("/api/run", json=body).get_json()["output"] == "n=3 seed=7"


def test_answers_are_compressed_where_that_is_asked_for(client: FlaskClient) -> None:
    headers = {"Accept-Encoding": "gzip"}
    response = client.post("/api/show", json={"source": SOURCE * 20}, headers=headers)
    assert response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(response.data))["ok"]


def test_every_response_has_a_content_policy(client: FlaskClient) -> None:
    for path in ("/", "/api/manifest", "/nothing"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_metrics_count_jobs_by_outcome(client: FlaskClient) -> None:
    client.post("/api/check", json={"source": SOURCE})
    client.post("/api/check", json={"source": "WRONG"})
    text = client.get("/metrics").get_data(as_text=True)
    assert 'stridescope_jobs_total{op="check",outcome="ok"} 1.0' in text
    assert 'stridescope_jobs_total{op="check",outcome="type"} 1.0' in text
    assert 'stridescope_workers{pool="compile"} 1.0' in text


def test_metrics_can_be_switched_off(make_app: MakeApp) -> None:
    assert make_app(METRICS="nobody").test_client().get("/metrics").status_code == 404


# --- batches -----------------------------------------------------------------------------------

REQUESTS: list[dict[str, Any]] = [
    {"op": "check"},
    {"op": "show"},
    {"op": "lifetimes", "stage": "funmem", "values": {"n": 3}},
    {"op": "attempts"},
]


def batch(client: FlaskClient, requests: Any, source: str = SOURCE, stream: bool = False) -> Any:
    headers = {"Accept": "text/event-stream"} if stream else {}
    body = {"source": source, "requests": requests}
    return client.post("/api/batch", json=body, headers=headers)


def test_a_batch_answers_as_its_requests_alone_would(client: FlaskClient) -> None:
    together = batch(client, REQUESTS).get_json()
    alone = [client.post(f"/api/{one['op']}", json={"source": SOURCE, **one}) for one in REQUESTS]
    assert together == {"ok": True, "answers": [answer.get_json() for answer in alone]}


def test_a_batch_streams_each_answer_as_it_comes(client: FlaskClient) -> None:
    found = events(batch(client, REQUESTS, stream=True).data)
    assert [name for name, _ in found] == ["part"] * 5 + ["done"]
    parts = [answer for name, answer in found if name == "part"]
    assert [part["request"] for part in parts] == [0, 1, 1, 2, 3]
    sent = [stage for part in parts for stage in part["answer"].get("stages", {})]
    assert sent == [stage["id"] for stage in MANIFEST]
    assert all(
        stage["text"] is None
        for part in parts
        for stage in part["answer"].get("stages", {}).values()
    )
    assert events(batch(client, REQUESTS, stream=True).data) == found


def test_what_is_known_of_a_batch_is_not_asked_again(make_app: MakeApp) -> None:
    app = make_app()
    client = app.test_client()
    source = f"-- SLOW\n{SOURCE}"
    client.post("/api/show", json={"source": source})
    for _ in range(2):
        answers = batch(client, [{"op": "show"}, {"op": "check"}], source).get_json()["answers"]
        assert ["stages" in answer for answer in answers] == [True, False]
    client.post("/api/check", json={"source": source})
    for op in ("show", "check"):
        assert (
            f'stridescope_jobs_total{{op="{op}",outcome="ok"}} 1.0' in client.get("/metrics").text
        )


@pytest.mark.parametrize(
    "requests",
    [
        None,
        {},
        [3],
        [{}],
        [{"op": []}],
        [{"op": "run"}],
        [{"op": "validity"}],
        [{"op": "batch", "requests": []}],
        [{"op": "cells"}],
        [{"op": "lifetimes", "stages": "funmem"}],
        [{"op": "show", "stages": 7}],
        [{"op": "check"}] * 25,
    ],
)
def test_what_is_no_batch_is_refused(client: FlaskClient, requests: Any) -> None:
    for stream in (False, True):
        response = batch(client, requests, stream=stream)
        assert response.status_code == 400
        assert response.get_json()["error"]["kind"] == "usage"


def test_a_batch_is_about_one_program_and_its_options(client: FlaskClient) -> None:
    other = [{"op": "check", "source": "WRONG", "options": {"unsafe": True}}]
    assert batch(client, other).get_json()["answers"][0]["ok"]
    body = {"source": SOURCE, "options": {"unsafe": True}, "requests": [{"op": "check"}]}
    assert client.post("/api/batch", json=body).status_code == 403


@pytest.mark.usefixtures("still")
def test_the_requests_of_a_batch_count_one_by_one(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="3 per minute", LOCAL_FACTOR=1).test_client()
    assert batch(client, [{"op": "check"}] * 2).status_code == 200
    refused = batch(client, [{"op": "check"}] * 2, stream=True)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0


def test_what_came_of_a_batch_before_it_was_stopped_is_there(make_app: MakeApp) -> None:
    client = make_app(COMPILE_SECONDS=1.0).test_client()
    found = events(batch(client, REQUESTS, f"-- STUCK\n{SOURCE}", stream=True).data)
    assert found[0][1]["request"] == 0
    assert found[0][1]["answer"]["ok"]
    assert found[-1][0] == "done"
    assert found[-1][1]["error"]["kind"] == "timeout"


def test_what_runs_programs_here_is_asked_once(client: FlaskClient) -> None:
    for _ in range(2):
        found = client.get("/api/backends").get_json()["backends"]
        assert [one["id"] for one in found if not one["missing"]] == ["c", "ref"]


def test_a_run_has_one_deadline_in_all_and_what_it_waited_is_told(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not given the time of a compile on top, and a client that waited learns why."""
    monkeypatch.setattr("app.jobs.OVERTIME", 0.5)
    app = make_app(RUN_SECONDS=1.0, COMPILE_SECONDS=4.0, RUN_WORKERS=1)
    jobs = app.extensions[EXTENSION].jobs
    endless = {"source": "ENDLESS", "input": ""}
    with ThreadPoolExecutor(2) as clients:
        first = clients.submit(jobs.of(Client("a")).call, "run", endless)
        assert until(lambda: jobs.run_pool.busy == 1)
        second = clients.submit(jobs.of(Client("b")).call, "run", endless)
        errors = [one.result()["error"] for one in (first, second)]
    assert [one["message"] for one in errors] == [
        "The run took longer than 1.5 s and was stopped."
    ] * 2
    assert "waited" not in errors[0]["hint"]
    assert "had waited" in errors[1]["hint"]
