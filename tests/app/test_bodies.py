"""How long requests may be, and who parses the long ones."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from app import bodies, intake
from app.bodies import LONG, Bodies, longest
from app.cache import cache_key
from app.errors import AppError
from app.long_texts import LongText, shortened
from app.reader import MOST_ENTRIES, entries, nested, without_texts
from app.settings import from_environment
from app.worker import _line
from testing.waiting import until
from tests.app.conftest import SOURCE, MakeApp
from tests.app.serving import Serve, connect, read_answer, servers

SETTINGS = from_environment({})
TREES = st.recursive(
    st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@pytest.fixture(scope="module")
def parser() -> Iterator[Bodies]:
    made = Bodies()
    yield made
    made.close()


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with servers(tmp_path_factory.mktemp("data")) as start:
        yield start


def count(tree: Any) -> int:
    """Commas and opening brackets of a value as JSON."""
    if isinstance(tree, dict):
        return 1 + max(0, len(tree) - 1) + sum(map(count, tree.values()))
    return 1 + max(0, len(tree) - 1) + sum(map(count, tree)) if isinstance(tree, list) else 0


def depth(tree: Any) -> int:
    """How many lists and objects are within each other."""
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return 0 if parts is None else 1 + max(map(depth, parts), default=0)


@given(TREES, st.booleans())
def test_entries_are_counted_without_parsing(tree: Any, ascii_only: bool) -> None:
    outside = without_texts(json.dumps(tree, ensure_ascii=ascii_only).encode())
    assert entries(outside) == count(tree)
    assert nested(outside) == depth(tree)


@pytest.mark.parametrize("pad", [0, LONG])
@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"[]", "usage", "must be a JSON object"),
        (b"{", "usage", "must be a JSON object"),
        (b'{"x": "\xff"}', "syntax", "not valid UTF-8 at byte "),
        (b'{"x": ' + b"[" * 9000 + b"]" * 9000 + b"}", "usage", "more than 500 levels deep"),
        (b'{"x": ' + b"[" * 500 + b"]" * 500 + b"}", "usage", "more than 500 levels deep"),
        (b'{"x": ' + b"[" * 499 + b"]" * 499 + b"}", "", ""),
        (
            b'{"x": [' + b"1," * MOST_ENTRIES + b"1]}",
            "usage",
            f"at most {MOST_ENTRIES} are accepted",
        ),
        (b'{"x": "' + b"1," * MOST_ENTRIES + b'"}', "", ""),
        ('{"x": "é \\ud800 \\n"}'.encode(), "", ""),
    ],
)
def test_long_bodies_are_parsed_elsewhere_with_the_same_outcome(
    parser: Bodies, monkeypatch: pytest.MonkeyPatch, body: bytes, kind: str, words: str, pad: int
) -> None:
    if pad:
        monkeypatch.setattr(bodies, "parsed", lambda data: pytest.fail("in this process"))
    data = b" " * pad + body
    if kind:
        with pytest.raises(AppError, match=words) as told:
            parser.read(data)
        assert told.value.kind == kind
    else:
        assert parser.read(data) == json.loads(body)


def test_a_long_text_is_sent_to_workers_as_it_came(parser: Bodies) -> None:
    text = 'é "\ud800\\ \n' * (LONG // 4)
    body = parser.read(json.dumps({"op": "run", "input": text, "seed": 1}).encode())
    assert isinstance(body["input"], LongText)
    assert body["input"] == text
    sent = b"".join(_line({"id": 3, **shortened(body)}))
    assert sent == b"".join(_line({"id": 3, **body}))
    assert sent.endswith(b"\n")
    assert sent.count(b"\n") == 1
    assert json.loads(sent) == {"id": 3, "op": "run", "input": text, "seed": 1}
    assert cache_key(body) == cache_key({"op": "run", "input": text, "seed": 1})


def test_a_reader_that_is_killed_or_hangs_is_replaced(
    parser: Bodies, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.dumps({"x": "1" * LONG}).encode()
    assert parser.read(data)
    pid = parser._reader.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(bodies, "SECONDS", 0.2)
    with pytest.raises(AppError, match="could not be read within") as caught:
        parser.read(data)
    assert caught.value.status == 503, "as where the machine is busy"
    monkeypatch.undo()
    assert parser.read(data)
    assert parser._reader.pid != pid
    os.kill(parser._reader.pid or 0, signal.SIGKILL)
    assert until(lambda: not parser._reader.alive)
    assert parser.read(data) == json.loads(data)


def test_bounds_are_those_of_what_an_operation_takes() -> None:
    most = {name: longest(f"/api/{name}", SETTINGS) for name in ("prove", "check", "run", "share")}
    assert most["prove"] < most["check"] < most["run"] <= most["share"] < 9_000_000
    program = {"source": "é" * SETTINGS["SOURCE_LIMIT"]}
    assert len(json.dumps(program, ensure_ascii=False)) < most["check"]
    run = {**program, "input": "1\n" * (SETTINGS["INPUT_LIMIT"] // 2)}
    assert len(json.dumps(run, ensure_ascii=False).encode()) < most["run"]
    assert longest("/api/lecture/x", SETTINGS) > 2 * SETTINGS["SOURCE_LIMIT"]
    assert longest("/api/nothing", SETTINGS) == longest("/", SETTINGS) < 200_000


def test_what_is_longer_is_refused_without_being_parsed(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "parsed", lambda data: pytest.fail("it is parsed"))
    client = make_app().test_client()
    for path, length in (("check", 2_000_000), ("run", 9_000_000), ("prove", 200_000)):
        body = b"{" + b" " * length
        answer = client.post(f"/api/{path}", data=body, content_type="application/json")
        assert answer.status_code == 413
        assert "at most" in answer.get_json()["error"]["message"]


def test_thresholds_are_bounded_in_number(make_app: MakeApp) -> None:
    thresholds = {f"t{k}": k for k in range(MOST_ENTRIES)}
    body = {"source": SOURCE, "options": {"thresholds": thresholds}}
    answer = make_app().test_client().post("/api/show", json=body)
    assert answer.status_code == 413
    assert "entries" in answer.get_json()["error"]["message"]


@pytest.mark.usefixtures("still")
def test_bytes_are_limited_as_well_as_requests(make_app: MakeApp) -> None:
    app: Flask = make_app(LIMIT_SEND="100 per minute", ADDRESS_PAGES=1, LOCAL_FACTOR=1)
    body = {"source": SOURCE + "-- " + "x" * 40_000}
    statuses = [app.test_client().post("/api/check", json=body).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    told = app.test_client().post("/api/check", json=body).get_json()["error"]["message"]
    assert told == "Too many requests: one page may send 100 kilobytes of requests a minute."
    assert app.test_client().post("/api/check", json={"source": SOURCE}).status_code == 200


def test_too_long_a_request_is_not_received(serve: Serve) -> None:
    sock = connect(serve())
    with sock:
        head = "POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"
        sock.sendall(head.encode())
        assert read_answer(sock)[0] == 413


def test_long_requests_are_bounded_together_and_leave_room_to_others(serve: Serve) -> None:
    """They are counted from their heads on, so that none of it need be sent."""
    port, held = serve(), []
    length = longest("/api/run", SETTINGS) - 1
    head = f"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
    for source, most in (("127.0.0.1", intake.LONG_BYTES // 2), ("127.0.0.2", 1 << 30)):
        for _ in range(most // length):
            held.append(connect(port, source))
            held[-1].sendall(head.encode())
            held[-1].settimeout(0.2)
            try:
                if refused := held[-1].recv(100):
                    break
            except TimeoutError:
                refused = b""
        assert (b"503" in refused) == (source != "127.0.0.1")
    with connect(port, "127.0.0.3") as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_answer(sock)[0] == 200
    for sock in held:
        sock.close()
    assert until(lambda: not is_refused(port, head))


def is_refused(port: int, head: str) -> bool:
    """Whether a request is refused before it has sent its body."""
    with connect(port) as sock:
        sock.sendall(head.encode())
        sock.settimeout(0.2)
        try:
            return b"503" in sock.recv(100)
        except TimeoutError:
            return False
