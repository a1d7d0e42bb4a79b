"""What is let in: names of the server, requests of its own page, options that drop no check."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.context import EXTENSION, Parts
from tests.app.conftest import SOURCE, MakeApp

RUN = {"source": SOURCE, "input": "[1i64]"}


def jobs_done(app: Flask) -> int:
    """How many jobs the workers have answered."""
    parts: Parts = app.extensions[EXTENSION]
    lines = parts.metrics.text().decode().splitlines()
    return sum(line.startswith("stridescope_jobs_total{") for line in lines)


def error_of(response: Any, status: int) -> str:
    assert response.status_code == status
    answer = response.get_json()
    assert answer["ok"] is False
    return str(answer["error"]["message"])


@pytest.mark.parametrize("option", ["unsafe", "sanitize"])
@pytest.mark.parametrize("op", ["check", "show", "run", "validity", "attempts", "share"])
def test_a_request_cannot_drop_checks(make_app: MakeApp, op: str, option: str) -> None:
    app = make_app()
    body = {**RUN, "options": {option: True}}
    response = app.test_client().post(f"/api/{op}", json=body)
    assert option in error_of(response, 403)
    assert f"stridescope run --{option}" in response.get_json()["error"]["hint"]
    assert jobs_done(app) == 0


def test_a_stream_cannot_drop_checks(client: FlaskClient) -> None:
    body = {"source": SOURCE, "options": {"unsafe": 1}}
    headers = {"Accept": "text/event-stream"}
    assert "unsafe" in error_of(client.post("/api/show", json=body, headers=headers), 403)


def test_a_run_in_a_link_cannot_drop_checks(make_app: MakeApp) -> None:
    app = make_app()
    body = {"source": SOURCE, "run": {"input": "[1i64]", "options": {"unsafe": True}}}
    name = app.test_client().post("/api/share", json=body).get_json()["id"]
    kept = app.test_client().get(f"/z/{name}.json").get_json()
    assert "options" not in kept["run"]["request"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
)
def test_work_must_be_asked_for_in_json(make_app: MakeApp, kind: str) -> None:
    app = make_app()
    client = app.test_client()
    for path in ("/api/run", "/api/share"):
        response = client.post(path, data=b'{"source": "entry main = 1"}', content_type=kind)
        assert "application/json" in error_of(response, 415)
    assert jobs_done(app) == 0
    typed = "application/json; charset=utf-8"
    response = client.post("/api/check", data=b'{"source": "entry main = 1"}', content_type=typed)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://evil.example:80"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:port"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
    ],
)
def test_another_sites_page_makes_nothing_run(make_app: MakeApp, headers: dict[str, str]) -> None:
    app = make_app()
    response = app.test_client().post("/api/run", json=RUN, headers=headers)
    assert "another site" in error_of(response, 403)
    assert jobs_done(app) == 0


@pytest.mark.parametrize(
    ("host", "headers"),
    [
        ("localhost", {}),
        ("localhost", {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}),
        ("localhost:8000", {"Origin": "http://localhost:8000"}),
        ("[::1]:8000", {"Origin": "http://[::1]:8000"}),
        ("localhost", {"Origin": "https://localhost"}),  # a proxy in front speaks https
        ("localhost:443", {"Origin": "https://localhost"}),
    ],
)
def test_the_servers_own_page_is_served(
    client: FlaskClient, host: str, headers: dict[str, str]
) -> None:
    response = client.post("/api/run", json=RUN, headers={"Host": host, **headers})
    assert response.get_json()["ok"]


@pytest.mark.parametrize("path", ["/", "/api/manifest", "/z/abc", "/metrics", "/static/icon.svg"])
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", ""]
)
def test_a_name_that_is_not_the_servers_gets_nothing(
    client: FlaskClient, path: str, host: str
) -> None:
    assert client.get(path, headers={"Host": host}).status_code == 421
    response = client.post("/api/run", json=RUN, headers={"Host": host})
    assert "does not answer to the name" in error_of(response, 421)


def test_names_can_be_added(make_app: MakeApp) -> None:
    client = make_app(HOSTS="explorer.example.org, .lab.example").test_client()
    given = {
        "explorer.example.org": 200,
        "EXPLORER.example.org.:8000": 200,
        "a.lab.example": 200,
        "a.b.lab.example:80": 200,
        "localhost": 200,
        "lab.example": 421,
        ".lab.example": 421,
        "evillab.example": 421,
        "example.org": 421,
        "explorer.example.org.evil": 421,
    }
    for host, status in given.items():
        assert client.get("/", headers={"Host": host}).status_code == status, host


@pytest.mark.parametrize(
    ("readers", "address", "status"),
    [
        ("local", "127.0.0.1", 200),
        ("local", "::1", 200),
        ("local", "192.0.2.7", 404),
        ("everybody", "192.0.2.7", 200),
        ("nobody", "127.0.0.1", 404),
    ],
)
def test_metrics_are_for_this_machine(
    make_app: MakeApp, readers: str, address: str, status: int
) -> None:
    client = make_app(METRICS=readers).test_client()
    base = {"REMOTE_ADDR": address}
    assert client.get("/metrics", environ_base=base).status_code == status


def test_metrics_are_not_read_through_a_proxy(make_app: MakeApp) -> None:
    for settings in ({}, {"PROXIES": 1}):
        client = make_app(**settings).test_client()
        headers = {"X-Forwarded-For": "127.0.0.1"}
        assert client.get("/metrics", headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"METRICS": "some"}, "STRIDESCOPE_METRICS must be local or everybody or nobody"),
        ({"LIMIT_RUN": "often"}, "STRIDESCOPE_LIMIT_RUN must be like `60 per minute`"),
        ({"COMPILE_WORKERS": 0}, "STRIDESCOPE_COMPILE_WORKERS must be at least 1"),
        ({"RUN_SECONDS": -1.0}, "STRIDESCOPE_RUN_SECONDS must be at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    make_app: MakeApp, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        make_app(**settings)
