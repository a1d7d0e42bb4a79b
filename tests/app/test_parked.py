"""Followers who wait for something newer take no thread, are told at once, and are bounded."""

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.app.serving import PATIENCE, Serve, connect, read_answer, servers
from tests.app.test_slow_clients import THREADS, ask, assert_served

MANY = 100
"""Ten times as many as there are threads, and not more than one address may park."""


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts servers with few threads."""
    with servers(tmp_path_factory.mktemp("data"), **THREADS) as start:
        yield start


def post(path: str, **body: Any) -> bytes:
    text = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text


def begin(port: int) -> dict[str, Any]:
    return ask(port, post("/api/lecture"))[1]


def show(port: int, lecture: dict[str, Any], **more: Any) -> None:
    body = {"secret": lecture["secret"], "page": "one", "view": {"source": "-- new\n"}, **more}
    status, answer = ask(port, post(f"/api/lecture/{lecture['id']}", **body))
    assert status == 200, answer


def newer(lecture: dict[str, Any], after: int) -> bytes:
    head = f"GET /api/lecture/{lecture['id']}?after={after} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return head.encode()


def test_many_wait_without_a_thread_and_are_told_at_once(serve: Serve) -> None:
    port = serve()
    lecture = begin(port)
    assert ask(port, newer(lecture, -1))[1]["number"] == 0
    with ExitStack() as stack:
        socks = [stack.enter_context(connect(port)) for _ in range(MANY)]
        for sock in socks:
            sock.sendall(newer(lecture, 0))
        assert_served(port)
        for sock in socks:
            sock.settimeout(0.0)
            with pytest.raises(BlockingIOError):
                sock.recv(1)
            sock.settimeout(30.0)
        for number in range(1, 3):
            show(port, lecture)
            for sock in socks:
                status, body = read_answer(sock)
                assert (status, json.loads(body)["number"]) == (200, number)
                sock.sendall(newer(lecture, number))
        show(port, lecture, view=None, end=True)
        for sock in socks:
            assert json.loads(read_answer(sock)[1])["ended"]
    assert_served(port)


def test_what_has_nothing_to_wait_for_is_answered_at_once(serve: Serve) -> None:
    port = serve()
    lecture, other = begin(port), begin(port)
    show(port, lecture)
    assert ask(port, newer(lecture, 0))[1]["number"] == 1
    assert ask(port, newer({"id": "none"}, 0))[0] == 410
    with connect(port) as sock:
        ask(port, newer(other, -1))
        sock.sendall(newer(other, 0))
        show(port, lecture)  # another one's news are none of its
        sock.sendall(newer(lecture, 0))  # who asks for more waits no longer
        assert json.loads(read_answer(sock)[1])["number"] == 0
        assert json.loads(read_answer(sock)[1])["number"] == 2


def test_beyond_the_bound_who_waits_is_told_that_there_is_nothing(serve: Serve) -> None:
    port = serve()
    lecture = begin(port)
    ask(port, newer(lecture, -1))
    with ExitStack() as stack:
        socks = [stack.enter_context(connect(port)) for _ in range(130)]
        for sock in socks:
            sock.sendall(newer(lecture, 0))
        told: set[socket.socket] = set()
        until = time.monotonic() + PATIENCE
        while len(told) < 10 and time.monotonic() < until:
            told.update(select.select(socks, [], [], 0.1)[0])
        assert len(told) == 10
        for sock in told:
            assert "silent" in json.loads(read_answer(sock)[1])
        assert_served(port)
    ask(port, newer(lecture, -1))
    with connect(port) as sock:  # who has left has made room
        sock.sendall(newer(lecture, 0))
        show(port, lecture)
        assert json.loads(read_answer(sock)[1])["number"] == 1
