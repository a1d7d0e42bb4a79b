"""Clients that send slowly, read slowly or stay: they take no thread, and others are served.

A real server in a process of its own, with few threads, and plain sockets. Every read of these
sockets has a time limit, so that a server that stands still fails the test.
"""

import json
import random
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from app.clients import TOKEN_HEADER
from app.intake import LONG
from tests.app.conftest import SOURCE
from tests.app.serving import PATIENCE, Serve, connect, read_answer, servers

THREADS = {
    "COMPILE_WORKERS": 1,
    "RUN_WORKERS": 1,
    "QUEUE_LIMIT": 2,
    "SPARE_THREADS": 4,
    "FORM_WAITING": 0,
}
"""Ten threads."""
MANY = 40
GET = b"GET /api/examples HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts servers with few threads."""
    with servers(tmp_path_factory.mktemp("data"), **THREADS) as start:
        yield start


def post(op: str, page: int = 0, **body: Any) -> bytes:
    """A request of one of several pages, which have their places in the queue each."""
    text = json.dumps(body).encode()
    head = f"POST /api/{op} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"{TOKEN_HEADER}: page-number-{page:08}\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text


def ask(port: int, request: bytes) -> tuple[int, dict[str, Any]]:
    """The answer to one request on a connection of its own."""
    with connect(port) as sock:
        sock.sendall(request)
        status, body = read_answer(sock)
        return status, json.loads(body)


def assert_served(port: int) -> None:
    """Somebody else gets a page, and a program compiled."""
    assert ask(port, GET.replace(b"examples", b""))[0] == 200
    assert ask(port, post("check", page=9, source=SOURCE))[1]["ok"]


PARTS = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: local",
    "half a body": post("check", source=SOURCE)[:-5],
    "no body": post("check", source=SOURCE).partition(b"{")[0],
}


@pytest.mark.parametrize("part", PARTS)
def test_requests_that_stay_incomplete_stop_nobody(serve: Serve, part: str) -> None:
    port = serve()
    with ExitStack() as stack:
        for _ in range(MANY):
            sock = stack.enter_context(connect(port))
            sock.sendall(PARTS[part])
        assert_served(port)


def test_more_of_them_than_the_server_keeps_push_out_the_oldest(serve: Serve) -> None:
    port = serve()
    with ExitStack() as stack:
        socks = []
        for _ in range(280):
            socks.append(stack.enter_context(connect(port)))
            socks[-1].sendall(PARTS["half a head"])
        assert_served(port)
        assert socks[0].recv(100) == b""


def test_more_bytes_than_the_server_keeps_push_out_the_largest(serve: Serve) -> None:
    port = serve()
    head = post("check", source=SOURCE).partition(b"Content-Length")[0]
    head += f"X-Long: {'x' * 40_000}\r\nContent-Length: {LONG}\r\n\r\n".encode()
    with ExitStack() as stack:
        socks = [stack.enter_context(connect(port)) for _ in range(240)]
        for number, sock in enumerate(socks):
            sock.sendall(head + bytes(LONG - 2 if number else LONG - 1))
        assert socks[0].recv(100) == b""
        assert_served(port)


@pytest.mark.parametrize(
    ("part", "setting"),
    [("half a head", "HEAD_SECONDS"), ("half a body", "BODY_SECONDS"), ("no body", "BODY_SECONDS")],
)
def test_a_request_has_to_arrive_in_time(serve: Serve, part: str, setting: str) -> None:
    port = serve(**{"HEAD_SECONDS": 60.0, "BODY_SECONDS": 60.0, setting: 1.0})
    with connect(port) as sock:
        sock.sendall(PARTS[part])
        status, body = read_answer(sock)
        assert status == 408
        assert "in time" in json.loads(body)["error"]["message"]
        assert sock.recv(100) == b""


def test_who_sends_a_byte_now_and_then_gets_no_more_time(serve: Serve) -> None:
    port = serve(HEAD_SECONDS=1.0)
    with connect(port) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n")
        until = time.monotonic() + PATIENCE
        sock.settimeout(0.1)
        found = b""
        while not found and time.monotonic() < until:
            sock.sendall(b"X: y\r\n")
            try:
                found = sock.recv(100)
            except TimeoutError:
                continue
        assert found.startswith(b"HTTP/1.1 408 ")


def test_a_request_in_small_pieces_is_answered(serve: Serve) -> None:
    port = serve()
    request = b"\r\n" + post("check", source=SOURCE)
    with connect(port) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for k in range(0, len(request), 7):
            sock.sendall(request[k : k + 7])
            time.sleep(0.002)
        status, body = read_answer(sock)
    assert status == 200
    assert json.loads(body)["ok"]


def test_requests_can_follow_each_other_on_one_connection(serve: Serve) -> None:
    port = serve()
    first, second = post("check", source=SOURCE), post("check", source="WRONG")
    with connect(port) as sock:
        for request, ok in ((first, True), (second, False)):
            sock.sendall(request)
            assert json.loads(read_answer(sock)[1])["ok"] is ok
        sock.sendall(first + second + first[:50])
        assert json.loads(read_answer(sock)[1])["ok"] is True
        assert json.loads(read_answer(sock)[1])["ok"] is False
        sock.sendall(first[50:])
        assert json.loads(read_answer(sock)[1])["ok"] is True


def test_a_client_may_ask_before_it_sends(serve: Serve) -> None:
    port = serve()
    head, _, body = post("check", source=SOURCE).partition(b"\r\n\r\n")
    with connect(port) as sock:
        sock.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert sock.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        found = b""
        while b'"ok"' not in found:
            piece = sock.recv(1 << 16)
            assert piece
            found += piece
        assert b"HTTP/1.1 200 OK" in found


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * (1 << 17), 431),
    ],
)
def test_what_cannot_be_taken_is_refused_at_once(
    serve: Serve, request_: bytes, status: int
) -> None:
    port = serve()
    found, answer = ask(port, request_)
    assert found == status
    assert answer["error"]["kind"] == "usage"
    assert_served(port)


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 9\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length : 9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y\r\n Content-Length: 9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rContent-Length: 9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_malformed_requests_stop_nobody(serve: Serve, request_: bytes) -> None:
    port = serve()
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(connect(port)).sendall(request_)
        assert_served(port)


PIECES = (
    b"\r\n", b"\n", b"\r\n\r\n", b"\0", b" ", b"\xff", b":", b"Upgrade: h2c\r\n", b"Host: [\r\n",
    b"Content-Length: 99999999999999999999\r\n", b"Content-Length: 5\r\n", b"Host: a b\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Origin: http://[\r\n",
)  # fmt: skip
"""What random requests are spoilt with."""


def random_client(port: int, rng: random.Random) -> socket.socket:
    """A connection with up to three requests, perhaps spoilt or cut, perhaps left or reset."""
    good = [GET, post("check", source=SOURCE), post("run", source=SOURCE, input="[1i64]")]
    good.append(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    data = b"".join(rng.choice(good) for _ in range(rng.randint(1, 3)))
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        at = rng.randrange(len(data))
        data = data[:at] + rng.choice(PIECES) + data[at + rng.choice((0, 1, 5)) :]
    sock = connect(port, f"127.0.0.{rng.randint(1, 4)}")
    with suppress(OSError):
        sock.sendall(data[: rng.choice((len(data), rng.randint(0, len(data))))])
        end = rng.choice(("stay", "close", "half", "reset"))
        if end == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if end == "half":
            sock.shutdown(socket.SHUT_WR)
        if end in ("reset", "close"):
            sock.close()
    return sock


def test_random_clients_do_not_end_the_process(serve: Serve) -> None:
    """What it has counted before, it still knows."""
    port = serve(HEAD_SECONDS=2.0, BODY_SECONDS=2.0, RATELIMIT=False, QUEUE_LIMIT=50)
    counted = 'stridescope_jobs_total{op="tuning",outcome="ok"} 1.0'
    assert ask(port, post("tuning", source=SOURCE))[0] == 200
    rng = random.Random(1)
    with ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(random_client(port, rng))
        assert_served(port)
    with connect(port) as sock:
        sock.sendall(GET.replace(b"/api/examples", b"/metrics"))
        assert counted in read_answer(sock)[1].decode()


def test_clients_that_read_nothing_stop_nobody(serve: Serve, tmp_path: Path) -> None:
    """They have half of the threads, whatever they ask for, and each for a bounded time."""
    (tmp_path / "large.fut").write_text("-- Large\n" + "-- more of it\n" * 1_000_000)
    port = serve(EXAMPLES=str(tmp_path))
    with ExitStack() as stack:
        for _ in range(MANY):
            sock = stack.enter_context(socket.socket())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(PATIENCE)
            sock.bind(("127.0.0.2", 0))
            sock.connect(("127.0.0.1", port))
            sock.sendall(GET)
        assert_served(port)


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"GET /api/examples HTTP/1.1\r\nHost: localhost\r\nBad Name: 1\r\n\r\n", 400),
        (b"GET /api/examples HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
        (b"G\x00T /api/examples HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /" + b"a" * 8000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_error_shape(
    serve: Serve, request_text: bytes, status: int
) -> None:
    port = serve()
    code, answer = ask(port, request_text)
    assert code == status
    assert answer["error"]["kind"] == "usage"
    assert_served(port)


@pytest.mark.parametrize("proxies", [0, 1])
def test_no_client_says_below_which_path_the_server_lies(serve: Serve, proxies: int) -> None:
    """Such headers are as if they had not been sent, also where a proxy's word counts."""
    port = serve(PROXIES=proxies)

    def get(path: str, header: str = "") -> tuple[int, bytes]:
        with connect(port) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
            return read_answer(sock)

    for path in ("/api/reference", "/api/examples", "/api/nothing", "/z/nothing"):
        plain = get(path)
        for name in ("SCRIPT_NAME", "Script-Name", "X-Script-Name", "X-Forwarded-Prefix"):
            for value in ("/elsewhere", "/api", "", "a\tb"):
                assert get(path, f"{name}: {value}\r\n") == plain, (name, value)
    assert json.loads(get("/api/nothing", "SCRIPT_NAME: /api\r\n")[1])["error"]["kind"] == "usage"


def test_clients_that_do_not_close_stop_nobody(serve: Serve) -> None:
    port = serve()
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with ExitStack() as stack:
        socks = [stack.enter_context(connect(port)) for _ in range(MANY)]
        for sock in socks:
            sock.sendall(last)
        assert [read_answer(sock)[0] for sock in socks] == [200] * MANY
        assert_served(port)


def test_a_full_queue_is_said_to_be_full_and_pages_are_served(serve: Serve) -> None:
    port = serve(COMPILE_SECONDS=4.0)
    with ExitStack() as stack:
        socks = []
        for k in range(MANY):
            sock = stack.enter_context(connect(port))
            sock.sendall(post("check", page=k, source=f"SLEEP {k}"))
            socks.append(sock)
        assert ask(port, GET)[0] == 200
        codes = [read_answer(sock)[0] for sock in socks]
    assert codes.count(503) == MANY - 3
    assert codes.count(504) == 3
