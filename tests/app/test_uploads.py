"""Files that become inputs: pieces in order, one page's alone, bounded, deleted; what runs read."""

import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.clients import TOKEN_HEADER
from app.context import EXTENSION
from app.uploads import MOST_FILES, UNFINISHED_SECONDS, Uploads
from tests.app.conftest import MakeApp

PAGE, OTHER = "a" * 24, "b" * 24
PIECE = 1 << 20
SUM = "entry main (xs: []f32) = f32.sum xs\n"


def binary(values: bytes, prim: str, *shape: int) -> bytes:
    return (
        b"b\x02"
        + bytes([len(shape)])
        + prim.rjust(4).encode()
        + struct.pack(f"<{len(shape)}Q", *shape)
        + values
    )


def store(app: Flask) -> Uploads:
    uploads: Uploads = app.extensions[EXTENSION].jobs.uploads
    return uploads


def on_disk(app: Flask) -> list[Path]:
    return [*Path(store(app).folder).iterdir()]


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    return make_app(UPLOAD_MB=3, PAGE_UPLOADS_MB=4, UPLOADS_MB=20, UPLOAD_MINUTES=1.0)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def begin(client: FlaskClient, size: object, page: str = PAGE, **more: Any) -> Any:
    return client.post("/api/uploads", json={"size": size}, headers={TOKEN_HEADER: page}, **more)


def name_of(client: FlaskClient, size: int, page: str = PAGE) -> str:
    answer = begin(client, size, page)
    assert answer.status_code == 200, answer.json
    assert answer.json["piece"] == PIECE
    found: str = answer.json["id"]
    return found


def put(client: FlaskClient, name: str, offset: object, data: bytes, page: str = PAGE) -> Any:
    return client.put(
        f"/api/uploads/{name}?offset={offset}",
        data=data,
        headers={TOKEN_HEADER: page},
        content_type="application/octet-stream",
    )


def test_pieces_make_the_file_and_a_lost_answer_is_made_good(
    app: Flask, client: FlaskClient
) -> None:
    data = bytes(range(256)) * 8192
    name = name_of(client, len(data))
    assert put(client, name, 0, data[:PIECE]).json == {"ok": True, "have": PIECE}
    again = put(client, name, 0, data[:PIECE])
    assert (again.status_code, again.json["error"]["have"]) == (409, PIECE)
    assert put(client, name, PIECE, data[PIECE:]).json["have"] == len(data)
    (file,) = on_disk(app)
    assert file.read_bytes() == data
    assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("offset", "status"), [(5, 409), (-1, 400), ("x", 400), ("", 400), (1 << 70, 409), ("٣", 400)]
)
def test_wrong_places_and_gaps_write_nothing(
    app: Flask, client: FlaskClient, offset: object, status: int
) -> None:
    name = name_of(client, 10)
    assert put(client, name, offset, b"12345").status_code == status
    assert on_disk(app) == []
    assert put(client, name, 0, b"1234567890").json["have"] == 10


def test_no_piece_goes_beyond_what_was_announced_or_is_too_long(
    app: Flask, client: FlaskClient
) -> None:
    name = name_of(client, 4)
    assert put(client, name, 0, b"12345").status_code == 413
    assert put(client, name, 0, b"1234").status_code == 200
    assert put(client, name, 4, b"5").status_code == 413
    assert on_disk(app)[0].read_bytes() == b"1234"
    long = name_of(client, 2 * PIECE)
    assert put(client, long, 0, bytes(PIECE + 1)).status_code == 413
    assert put(client, long, 0, bytes(PIECE)).status_code == 200


def test_a_file_is_its_pages_alone(app: Flask, client: FlaskClient) -> None:
    name = name_of(client, 4)
    assert put(client, name, 0, b"12", OTHER).status_code == 404
    gone = client.delete(f"/api/uploads/{name}", headers={TOKEN_HEADER: OTHER})
    assert gone.status_code == 404
    assert put(client, name, 0, b"1234").status_code == 200
    run = {"source": SUM, "input": "\x02", "uploads": [name]}
    assert client.post("/api/run", json=run, headers={TOKEN_HEADER: OTHER}).status_code == 404
    for other in ("../x", "%2e%2e", "x" * 22, f"{name}/../{name}"):
        assert put(client, other, 0, b"1").status_code in (404, 405, 415), other
    wrong = {**run, "uploads": ["/etc/passwd"]}
    assert client.post("/api/run", json=wrong, headers={TOKEN_HEADER: PAGE}).status_code == 404
    inside = {"requests": [{"op": "accesses", "input": "\x02", "uploads": [name]}], "source": SUM}
    assert client.post("/api/batch", json=inside, headers={TOKEN_HEADER: OTHER}).status_code == 404


def test_room_is_counted_from_the_beginning_and_given_back(app: Flask, client: FlaskClient) -> None:
    mb = 1 << 20
    assert begin(client, 3 * mb + 1).status_code == 507
    first = name_of(client, 3 * mb)
    assert begin(client, 2 * mb).status_code == 507
    assert client.delete(f"/api/uploads/{first}", headers={TOKEN_HEADER: PAGE}).status_code == 200
    second = name_of(client, 2 * mb)
    # Pages are made up for nothing: their address has a quarter of all.
    name_of(client, 3 * mb, OTHER)
    refused = begin(client, 1 * mb, "c" * 24)
    assert refused.status_code == 507
    assert "your address" in refused.json["error"]["message"]
    assert put(client, second, 0, b"1").status_code == 200
    assert put(client, first, 0, b"1").status_code == 404


@pytest.mark.parametrize("size", [0, -1, 1.5, "1", None, True, [1]])
def test_what_is_no_size_is_refused(client: FlaskClient, size: object) -> None:
    assert begin(client, size).status_code == 400


def test_many_short_files_are_bounded_too(client: FlaskClient) -> None:
    for _ in range(MOST_FILES):
        name_of(client, 1)
    assert begin(client, 1).status_code == 507


def test_what_nobody_uses_is_deleted(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, half = name_of(client, 2), name_of(client, 2)
    put(client, name, 0, b"12")
    put(client, half, 0, b"1")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 59)
    assert len(on_disk(app)) == 2
    store(app).path(f"127.0.0.1 {PAGE}", name)
    monkeypatch.setattr(time, "monotonic", lambda: now + 62)
    store(app).sweep()
    assert [file.name for file in on_disk(app)] == [name]
    monkeypatch.setattr(time, "monotonic", lambda: now + 59 + UNFINISHED_SECONDS)
    assert put(client, name, 2, b"3").status_code == 404
    assert on_disk(app) == []


def test_two_at_once_make_one_file(app: Flask) -> None:
    data = bytes(range(256)) * 4
    page = f"127.0.0.1 {PAGE}"
    name = store(app).begin(page, "127.0.0.1", len(data))
    refused: list[int] = []

    def send() -> None:
        at = 0
        while at < len(data):
            try:
                at = store(app).add(page, name, at, data[at : at + 16])
            except Exception as error:
                refused.append(1)
                at = error.more["have"]  # type: ignore[attr-defined]

    threads = [threading.Thread(target=send) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert on_disk(app)[0].read_bytes() == data


def test_what_is_sent_counts_as_sent(make_app: MakeApp) -> None:
    client = make_app(LIMIT_SEND="100 per minute", LOCAL_FACTOR=1).test_client()
    name = name_of(client, 200 << 10)
    assert put(client, name, 0, bytes(90 << 10)).status_code == 200
    refused = put(client, name, 90 << 10, bytes(90 << 10))
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1


def test_other_sites_send_no_pieces(client: FlaskClient) -> None:
    name = name_of(client, 4)
    for headers in ({"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}):
        sent = client.put(
            f"/api/uploads/{name}?offset=0", data=b"1234", headers={TOKEN_HEADER: PAGE, **headers}
        )
        assert sent.status_code == 403


def test_all_is_deleted_with_the_server(make_app: MakeApp) -> None:
    app = make_app()
    name = name_of(app.test_client(), 1)
    put(app.test_client(), name, 0, b"1")
    folder = Path(store(app).folder)
    assert folder.exists()
    app.extensions[EXTENSION].close()
    assert not folder.exists()


@pytest.mark.long
def test_runs_read_them(real_app: Flask) -> None:
    client = real_app.test_client()

    def sum_of(name: str, text: str = "\x02") -> Any:
        asked = {"source": SUM, "input": text, "uploads": [name], "backend": "ref"}
        return client.post("/api/run", json=asked, headers={TOKEN_HEADER: PAGE}).json

    data = binary(struct.pack("<1000f", *range(1000)), "f32", 1000)
    name = name_of(client, len(data))
    put(client, name, 0, data[:-1])
    assert "have arrived" in sum_of(name)["error"]["message"]
    put(client, name, len(data) - 1, data[-1:])
    assert sum_of(name)["output"] == "499500.0f32"
    assert "room for 2 files" in sum_of(name, "\x02 \x02")["error"]["message"]
    for bad in (b"[1f32, 2f32]", b"b\x02\x01 f32" + struct.pack("<Q", 1 << 60), b"b\x02"):
        other = name_of(client, len(bad))
        put(client, other, 0, bad)
        answer = sum_of(other)
        assert answer["error"]["kind"] == "runtime", answer
