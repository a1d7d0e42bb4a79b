"""Rate limits: a bucket per purpose for each page, and one for each address."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.clients import TOKEN_HEADER
from app.context import EXTENSION, Parts
from app.errors import AppError
from app.jobs import OPS
from app.limits import WORDS
from tests.app.conftest import SOURCE, MakeApp

FAR = "192.0.2.7"


@pytest.fixture(autouse=True)
def _in_the_middle_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still: at the turn of a minute, one request more would pass."""
    now = time.time() // 60 * 60 + 30
    monkeypatch.setattr(time, "time", lambda: now)


def page(number: int) -> dict[str, str]:
    return {TOKEN_HEADER: f"page-{number:020}"}


def check(
    client: FlaskClient, headers: dict[str, str], address: str = FAR, op: str = "check"
) -> Any:
    body = {"source": SOURCE}
    return client.post(
        f"/api/{op}", json=body, headers=headers, environ_base={"REMOTE_ADDR": address}
    )


def codes(client: FlaskClient, times: int, *args: Any, **kwargs: Any) -> list[int]:
    return [check(client, *args, **kwargs).status_code for _ in range(times)]


def test_every_operation_has_a_purpose() -> None:
    own = {"share", "read", "teach", "join", "follow"}
    assert {*(op.limit for op in OPS.values()), *own} == set(WORDS)


def test_beyond_a_limit_the_answer_says_which_and_how_long(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="2 per minute").test_client()
    assert codes(client, 3, page(1)) == [200, 200, 429]
    response = check(client, page(1))
    error = response.get_json()["error"]
    assert error["kind"] == "busy"
    assert "one page may ask for 2 checks a minute" in error["message"]
    seconds = int(response.headers["Retry-After"])
    assert 1 <= seconds <= 60
    assert f"{seconds} s" in error["hint"]
    assert error["retry"] == seconds


def test_purposes_have_buckets_of_their_own(make_app: MakeApp) -> None:
    settings = {f"LIMIT_{name.upper()}": "2 per minute" for name in WORDS}
    client = make_app(**settings).test_client()
    for op in ("check", "show", "attempts", "run", "share"):
        assert codes(client, 3, page(1), op=op) == [200, 200, 429], op
    assert codes(client, 1, page(1), op="tuning") == [429]
    assert codes(client, 1, page(1), op="validity") == [429]


def test_pages_behind_one_address_have_buckets_of_their_own(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="2 per minute", ADDRESS_PAGES=3).test_client()
    assert codes(client, 9, page(1)) == [200, 200, *[429] * 7]
    assert codes(client, 2, page(2)) == [200, 200]
    assert codes(client, 2, page(3)) == [200, 200]


def test_tokens_do_not_widen_what_an_address_has(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="2 per minute", ADDRESS_PAGES=3).test_client()
    assert [check(client, page(k)).status_code for k in range(9)] == [*[200] * 6, *[429] * 3]
    error = check(client, page(20)).get_json()["error"]
    assert "all pages of one address may ask for 6 checks a minute" in error["message"]
    assert check(client, page(1), "192.0.2.8").status_code == 200


def test_addresses_of_one_ipv6_network_are_one(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="2 per minute", ADDRESS_PAGES=1).test_client()
    found = [check(client, {}, f"2001:db8:1:2::{k}").status_code for k in range(3)]
    assert found == [200, 200, 429]
    assert check(client, {}, "2001:db8:1:3::1").status_code == 200


def test_the_address_behind_a_trusted_proxy_counts(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="1 per minute", ADDRESS_PAGES=1, PROXIES=1).test_client()

    def asked(forwarded: str) -> int:
        return int(check(client, {"X-Forwarded-For": forwarded}, "127.0.0.1").status_code)

    assert [asked("192.0.2.1"), asked("192.0.2.2"), asked("192.0.2.1")] == [200, 200, 429]
    assert asked("192.0.2.99, 192.0.2.2") == 429  # what the client itself has put there


def test_reading_links_counts(make_app: MakeApp) -> None:
    client = make_app(LIMIT_READ="4 per minute").test_client()
    name = check(client, {}, op="share").get_json()["id"]
    link = f"/z/{name}"
    paths = [link, f"{link}.json", f"{link}/c.txt", "/z/nothing123", f"{link}.json"]
    far = {"REMOTE_ADDR": FAR}
    found = [client.get(path, environ_base=far).status_code for path in paths]
    assert found == [200, 200, 200, 404, 429]
    refused = client.get(link, environ_base=far)
    assert refused.mimetype == "text/html"
    assert "may ask for 4 links a minute" in refused.get_data(as_text=True)


def test_on_ones_own_machine_limits_are_wide(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="2 per minute", LOCAL_FACTOR=5).test_client()
    assert codes(client, 11, page(1), "127.0.0.1") == [*[200] * 10, 429]


def test_a_request_that_is_refused_counts(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="2 per minute").test_client()
    headers = {**page(1), "Content-Type": "application/json"}
    far = {"REMOTE_ADDR": FAR}
    found = [
        client.post("/api/check", data=b"{", headers=headers, environ_base=far).status_code
        for _ in range(3)
    ]
    assert found == [400, 400, 429]


def test_limits_can_be_switched_off(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="1 per minute", RATELIMIT=False).test_client()
    assert codes(client, 3, page(1)) == [200, 200, 200]


def refused(app: Flask, asked: Sequence[tuple[str, int]]) -> list[str]:
    """The refusals of these purposes, each asked for by the page of that number."""
    parts: Parts = app.extensions[EXTENSION]
    found = []
    for purpose, number in asked:
        base = {"REMOTE_ADDR": FAR}
        with app.test_request_context(headers=page(number), environ_base=base):
            try:
                parts.limits.count(purpose)
            except AppError as error:
                found.append(error.message)
    return found


@pytest.mark.parametrize("people", [1, 30])
def test_people_who_type_for_a_minute_are_not_refused(make_app: MakeApp, people: int) -> None:
    """A check and a compilation for each of four pauses a second; a pane asks as often."""
    minute = ["check", "show", "ask"] * 4 * 60 + ["run"] * 20 + ["share", "read"] * 4
    everybody = [(purpose, number) for purpose in minute for number in range(people)]
    assert refused(make_app(), everybody) == []
