"""Links within quotas, for their days, and deleted by who has made them."""

from __future__ import annotations

import random
import re
import string
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app import link_owners
from app.api import SHARING
from app.clients import TOKEN_HEADER
from app.database import Database
from app.link_owners import Quotas, Sharer
from app.permalinks import Permalinks, frozen
from app.sheet_pool import Makers
from tests.app.conftest import SOURCE, MakeApp

HERE, THERE = "192.0.2.1", "192.0.2.2"
A, B = ({TOKEN_HEADER: letter * 20} for letter in "ab")


def noise(number: int, kilobytes: int) -> str:
    """A comment that compresses to about so many kB."""
    letters = string.ascii_letters + string.digits + "+/"
    return "-- " + "".join(random.Random(number).choices(letters, k=kilobytes * 1370)) + "\n"


def share(
    app: Flask, source: str, page: dict[str, str] = A, address: str = HERE, **more: Any
) -> TestResponse:
    return app.test_client().post(
        "/api/share",
        json={"source": source, **more},
        headers=page,
        environ_base={"REMOTE_ADDR": address},
    )


def error(response: TestResponse) -> tuple[int, str]:
    return response.status_code, (response.get_json() or {})["error"]["message"]


def test_a_link_is_bounded_and_what_makes_it_large_is_told(make_app: MakeApp) -> None:
    app = make_app(LINK_MB=1)
    answer = share(app, SOURCE, run={"input": noise(1, 1300), "backend": "c"})
    assert error(answer) == (413, "This link would take 1.3 MB, but a link may take at most 1 MB.")
    assert answer.get_json()["error"]["hint"] == "Its largest part is the run with its input."
    assert share(app, SOURCE, run={"input": noise(1, 300), "backend": "c"}).status_code == 200


def test_a_page_and_an_address_have_quotas(make_app: MakeApp) -> None:
    app = make_app(PAGE_MB=1, ADDRESS_MB=2)

    def half(number: int, page: dict[str, str], address: str = HERE) -> TestResponse:
        return share(app, SOURCE, page, address, run={"input": noise(number, 700), "backend": "c"})

    assert half(1, A).status_code == 200
    assert half(1, A).status_code == 200, "what is there takes nothing"
    status, words = error(half(2, A))
    assert status == 507
    assert words.startswith("The links of this page take 0.")
    assert half(3, B).status_code == 200
    status, words = error(half(4, {TOKEN_HEADER: "c" * 20}))
    assert (status, words[:34]) == (507, "The links of your address take 1.4")
    assert half(4, B, THERE).status_code == 200, "a token is worth nothing elsewhere"
    assert share(app, SOURCE).status_code == 200, "what fits goes on"


def test_who_has_made_a_link_deletes_it_and_has_room_again(make_app: MakeApp) -> None:
    app = make_app()
    first, other = share(app, SOURCE).get_json(), share(app, SOURCE, B).get_json()
    assert first["id"] == other["id"]
    client = app.test_client()

    def forget(key: str) -> TestResponse:
        return client.post("/api/forget", json={"id": first["id"], "key": key})

    assert forget("x").status_code == 404
    assert forget("").status_code == 404
    assert forget(first["key"]).get_json() == {"ok": True, "gone": False}
    assert forget(first["key"]).status_code == 404, "it is theirs no more"
    assert client.get(f"/z/{first['id']}").status_code == 200
    assert forget(other["key"]).get_json() == {"ok": True, "gone": True}
    for form in ("", ".json", "/preview.png"):
        assert client.get(f"/z/{first['id']}{form}").status_code == 404
    again = share(app, SOURCE).get_json()
    assert again["id"] == first["id"]
    assert again["key"] not in ("", first["key"])
    assert forget("x" * 10_000).status_code == 404


def test_a_form_deletes_a_link_by_its_key_from_the_servers_own_page_alone(
    make_app: MakeApp,
) -> None:
    app = make_app()
    made, client = share(app, SOURCE).get_json(), app.test_client()
    path = f"/z/{made['id']}/forget"
    assert client.post(path, data={"key": "x"}).status_code == 404
    assert client.post(path, data={}).status_code == 404
    assert client.post("/z/nothing/forget", data={"key": made["key"]}).status_code == 404
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert client.post(path, data={"key": made["key"]}, headers=elsewhere).status_code == 403
    assert client.post("/api/forget", data=made).status_code == 415, "no other form is taken"
    answer = client.post(path, data={"key": made["key"]})
    assert "is deleted" in answer.get_data(as_text=True)
    assert client.get(f"/z/{made['id']}").status_code == 404


def test_what_too_many_have_stays(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_owners, "MOST", 3)
    app = make_app()
    made = [share(app, SOURCE, {TOKEN_HEADER: f"page-{n:016}"}).get_json() for n in range(6)]
    assert [bool(one["key"]) for one in made] == [True] * 3 + [False] * 3
    again = share(app, SOURCE, {TOKEN_HEADER: f"page-{0:016}"}).get_json()
    assert again["key"], "who has it already gets a key"
    client = app.test_client()
    for one in (again, *made[1:3]):
        answer = client.post("/api/forget", json={"id": one["id"], "key": one["key"]})
        assert answer.get_json() == {"ok": True, "gone": False}
    assert client.get(f"/z/{again['id']}").status_code == 200


def test_what_was_there_before_anybody_was_noted_is_deleted_by_nobody(tmp_path: Path) -> None:
    store = Permalinks(Database(lambda: f"sqlite:///{tmp_path / 'links.sqlite'}"))
    state = {"version": "1", "source": "a"}
    name, _, key = store.keep(frozen(state))
    assert key == ""
    assert store.keep(frozen(state), Sharer("page", "address")) == (name, False, "")


def test_links_are_gone_after_their_days(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(LINK_DAYS=30.0, ADDRESS_MB=1)
    large = {"input": noise(1, 600), "backend": "c"}
    old = share(app, SOURCE, run=large).get_json()["id"]
    assert share(app, SOURCE, run={**large, "input": noise(2, 600)}).status_code == 507

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2100, 1, 1, tzinfo=tz)

    monkeypatch.setattr("app.permalinks.datetime", Later)
    assert app.test_client().get(f"/z/{old}.json").status_code == 404
    assert share(app, SOURCE, run={**large, "input": noise(2, 600)}).status_code == 200
    again = share(app, SOURCE + "-- more").get_json()["id"]
    assert app.test_client().get(f"/z/{again}.json").status_code == 200


def test_a_database_of_links_that_is_full_is_said_to_be(make_app: MakeApp) -> None:
    app = make_app(LINKS_MB=1, ADDRESS_MB=0, PAGE_MB=0)
    answers = [
        share(app, SOURCE, run={"input": noise(number, 450), "backend": "c"}) for number in range(4)
    ]
    assert error(answers[-1]) == (507, "The server has no room for more links.")
    assert "the 1 MB that this server keeps" in answers[-1].get_json()["error"]["hint"]
    assert answers[0].status_code == 200


def test_quotas_are_those_of_the_settings() -> None:
    assert Quotas.of({"LINK_MB": 1, "PAGE_MB": 2, "ADDRESS_MB": 0}) == Quotas(1 << 20, 2 << 20, 0)


def test_what_is_too_long_to_be_opened_is_no_link(
    real_app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(real_app.config, "SHARE_MB", 0)
    opened: list[object] = []
    monkeypatch.setattr(Makers, "freeze", lambda *given: opened.append(given))
    many = (f"entry e{k} [n] (xs: [n]i32) = scan (+) 0 (map (+ {k}) xs)\n" for k in range(40))
    answer = share(real_app, "".join(many))
    status, message = error(answer)
    assert status == 413
    assert re.fullmatch(r"The stages of this program have \d+ MB, .* at most 0 MB\.", message)
    assert answer.get_json()["error"]["kind"] == "limitation"
    assert not opened


def test_one_state_is_opened_at_a_time(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(COMPILE_WORKERS=4)
    inside: list[int] = []
    most: list[int] = []

    freeze = Makers.freeze

    def slowly(*given: Any) -> Any:
        inside.append(1)
        most.append(len(inside))
        try:
            time.sleep(0.1)
            return freeze(*given)
        finally:
            inside.pop()

    monkeypatch.setattr(Makers, "freeze", slowly)
    with ThreadPoolExecutor(4) as several:
        jobs = [
            several.submit(share, app, f"{SOURCE}-- {k}", {TOKEN_HEADER: f"page-{k}" * 4})
            for k in range(4)
        ]
    assert [job.result().status_code for job in jobs] == [200] * 4
    assert most == [1] * 4
    monkeypatch.setattr("app.api.SHARING_SECONDS", 0.1)
    assert SHARING.acquire(timeout=5)
    try:
        answer = share(app, SOURCE)
    finally:
        SHARING.release()
    assert error(answer) == (503, "Too many links are being made.")
