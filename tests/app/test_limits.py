"""Rate limits: a bucket per purpose for each page, and one for each address."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from app import limits
from app.clients import KEY_HEADER, TOKEN_HEADER
from app.context import EXTENSION, Parts
from app.errors import AppError
from app.jobs import OPS
from app.limits import WORDS, Counts, RateLimits
from testing.waiting import until
from tests.app.conftest import NOW, SOURCE, MakeApp

FAR = "192.0.2.7"
EARLIER = 0.001
"""Seconds: at the very moment a weight is what there is room for, by floats or not."""
pytestmark = pytest.mark.usefixtures("still")


def page(number: int) -> dict[str, str]:
    return {TOKEN_HEADER: f"page-{number:020}"}


def check(
    client: FlaskClient,
    headers: dict[str, str],
    address: str = FAR,
    op: str = "check",
    body: Mapping[str, Any] = {"source": SOURCE},
) -> Any:
    return client.post(
        f"/api/{op}", json=body, headers=headers, environ_base={"REMOTE_ADDR": address}
    )


def codes(client: FlaskClient, times: int, *args: Any, **kwargs: Any) -> list[int]:
    return [check(client, *args, **kwargs).status_code for _ in range(times)]


def test_every_operation_has_a_purpose() -> None:
    own = {"share", "read", "teach", "join", "follow", "send"}
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


def test_who_has_a_key_is_at_an_address_of_its_own(make_app: MakeApp) -> None:
    """A grader is not refused for what its neighbours do, nor they for what it does."""
    keys = ["a-key-of-a-grader-0001", "a-key-of-a-grader-0002"]
    app = make_app(LIMIT_CHECK="2 per minute", ADDRESS_PAGES=1, KEY_FACTOR=3, KEYS=", ".join(keys))
    client = app.test_client()
    assert codes(client, 3, {}) == [200, 200, 429]
    assert codes(client, 7, {KEY_HEADER: keys[0]}) == [*[200] * 6, 429]
    assert codes(client, 1, {KEY_HEADER: keys[0]}, "192.0.2.99") == [429], "wherever it is"
    assert codes(client, 1, {KEY_HEADER: keys[1]}) == [200]
    wrong = check(client, {KEY_HEADER: "a-key-of-a-grader-0003"}, "192.0.2.99")
    assert wrong.status_code == 403
    assert "not a key of this server" in wrong.get_json()["error"]["message"]


@pytest.mark.parametrize("keys", ["short", "a-key-of-a-grader-0001, short", "a" * 20 + ", ,"])
def test_a_key_is_long(make_app: MakeApp, keys: str) -> None:
    with pytest.raises(ValueError, match="keys of at least 20 characters"):
        make_app(KEYS=keys)


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


def test_a_batch_that_is_refused_takes_nothing(make_app: MakeApp) -> None:
    """Else one that needs two places, and asks whenever there is one, is never taken."""
    client = make_app(LIMIT_CHECK="3 per minute").test_client()

    def batch(*ops: str) -> int:
        body = {"source": SOURCE, "requests": [{"op": op} for op in ops]}
        return check(client, page(1), op="batch", body=body).status_code

    assert codes(client, 2, page(1)) == [200, 200]
    assert [batch("check", "outline"), batch("check", "outline")] == [429, 429]
    assert [batch("check"), batch("check")] == [200, 429]


@given(
    amount=st.integers(1, 6),
    moments=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 8)), min_size=1, max_size=12),
)
def test_who_waits_as_long_as_is_said_is_taken_and_not_before(
    amount: int, moments: list[tuple[float, int]]
) -> None:
    """So many at once, after so many seconds each; of the last refusal of a page."""
    app = Flask(__name__)
    clock = NOW
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: clock)
        rates = {f"LIMIT_{name.upper()}": f"{amount} per 20 seconds" for name in WORDS}
        limits = RateLimits(
            {"RATELIMIT": True, "ADDRESS_PAGES": 9, "LOCAL_FACTOR": 1, "KEY_FACTOR": 1, **rates}
        )

        def wait(number: int) -> int:
            """What this request would have to wait; 0 if it is taken."""
            with app.test_request_context(headers=page(1)):
                try:
                    limits.count(*["check"] * number)
                except AppError as error:
                    return int(error.headers["Retry-After"])
            return 0

        for after, number in moments:
            clock += after
            seconds = wait(number)
            clock -= EARLIER
            for _ in range(seconds - 1):
                clock += 1
                assert wait(number) > 0, "it would have been taken before"
            clock += EARLIER
            if seconds:
                clock += 1
                assert wait(number) == 0


def test_limits_can_be_switched_off(make_app: MakeApp) -> None:
    client = make_app(LIMIT_CHECK="1 per minute", RATELIMIT=False).test_client()
    assert codes(client, 3, page(1)) == [200, 200, 200]


def refused(app: Flask, asked: Sequence[str], people: int) -> list[str]:
    """The refusals of what as many pages of one address ask for, each for these purposes."""
    parts: Parts = app.extensions[EXTENSION]
    found = []
    for number in range(people):
        base = {"REMOTE_ADDR": FAR}
        with app.test_request_context(headers=page(number), environ_base=base):
            for purpose in asked:
                try:
                    parts.limits.count(purpose)
                except AppError as error:
                    found.append(error.message)
    return found


@pytest.mark.parametrize("people", [1, 30])
def test_people_who_type_for_a_minute_are_not_refused(make_app: MakeApp, people: int) -> None:
    """A check and a compilation for each of four pauses a second; a pane asks as often."""
    minute = ["check", "show", "ask"] * 4 * 60 + ["run"] * 20 + ["share", "read"] * 4
    assert refused(make_app(), minute, people) == []


def test_the_buckets_that_are_known_are_bounded_and_those_in_use_stay(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST", 20)
    app = make_app(LIMIT_ASK="2 per minute", ADDRESS_PAGES=100)
    parts: Parts = app.extensions[EXTENSION]
    counts = parts.limits
    made = counts._storage

    def ask(number: int, address: str = FAR) -> bool:
        with app.test_request_context(headers=page(number), environ_base={"REMOTE_ADDR": address}):
            try:
                counts.count("ask")
            except AppError:
                return False
        return True

    assert [ask(0) for _ in range(3)] == [True, True, False]
    for number in range(1, 101):  # made-up pages of one address
        ask(number)
        sizes = [len(kept) for kept in (made.storage, made.expirations, made.locks)]
        assert max(sizes) <= 2 * 2 * 20 + 10, sizes
    assert [ask(200 + number) for number in range(99)].count(True) == 98, "its bucket has stayed"
    for number in range(100):  # and as many addresses, each with a network of its own
        ask(number, f"2001:db8:{number:x}::1")
        ask(number, f"2001:db8:{number:x}::2")
        assert len(counts._known["all pages of one address"]) <= 20


@pytest.mark.parametrize("jump", [365 * 86_400, -365 * 86_400])
def test_a_clock_that_jumps_by_a_year_refuses_nobody_for_longer(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    client = make_app(LIMIT_CHECK="2 per minute").test_client()
    assert codes(client, 3, page(1)) == [200, 200, 429]
    for now in (NOW + jump, NOW + jump + 120, NOW + 120, NOW + 240):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        assert codes(client, 3, page(1)) == [200, 200, 429]
        assert 1 <= int(check(client, page(1)).headers["Retry-After"]) <= 120


def test_expired_counts_are_looked_for_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with each request: that starts a thread, and goes through the counts of all pages."""
    looks: list[threading.Timer] = []

    class Timer(threading.Timer):
        def start(self) -> None:
            looks.append(self)
            super().start()

    monkeypatch.setattr(threading, "Timer", Timer)
    counts = Counts()
    for number in range(50):
        counts.incr(f"page {number}", 0)
        time.sleep(0.015)
    assert len(looks) == 1
    assert counts.get("page 1") == 0, "which nobody has looked for yet"
    monkeypatch.setattr("app.limits.LOOK_SECONDS", 0.0)
    counts.timer = Timer(0.01, looks[0].function)
    counts.incr("page 50", 60)
    assert until(lambda: list(counts.storage) == ["page 50"])
