"""A client that has left is noticed, whatever server is in front."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from app.context import EXTENSION, Parts
from app.presence import left
from tests.app.browsing import serving
from tests.app.conftest import MakeApp


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        served, _ = listening.accept()
    with client, served:
        yield client, served


@pytest.mark.parametrize("name", ["gunicorn.socket", "werkzeug.socket"])
def test_a_closed_connection_is_seen_behind_what_was_sent(
    pair: tuple[socket.socket, socket.socket], name: str
) -> None:
    client, served = pair
    gone = left({name: served})
    assert not gone()
    client.sendall(b"more")
    assert not gone()
    client.close()
    assert gone()


def test_a_client_that_will_send_no_more_has_left(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    client, served = pair
    gone = left({"gunicorn.socket": served})
    client.shutdown(socket.SHUT_WR)
    assert gone()


def test_several_threads_may_look_at_once(pair: tuple[socket.socket, socket.socket]) -> None:
    """A job looks whether its client is there, and so does each further request of that client."""
    _, served = pair
    gone = left({"gunicorn.socket": served})
    began = threading.Barrier(8)

    def look(_: int) -> list[bool]:
        began.wait()
        return [gone() for _ in range(2000)]

    with ThreadPoolExecutor(8) as threads:
        assert not any(chain.from_iterable(threads.map(look, range(8))))


def test_who_asks_when_the_connection_is_closed_here_is_told_so(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """Its number may be another connection's by then."""
    _, served = pair
    gone = left({"gunicorn.socket": served})
    served.close()
    assert gone()
    with socket.create_server(("127.0.0.1", 0)):
        assert gone()


def test_without_a_connection_nobody_leaves() -> None:
    assert not left({})()


def test_werkzeugs_server_gives_its_connection_away(make_app: MakeApp) -> None:
    app = make_app(COMPILE_SECONDS=600.0)
    parts: Parts = app.extensions[EXTENSION]
    body = json.dumps({"source": "SLEEP"}).encode()
    with serving(app) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(
                f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            end = time.monotonic() + 20
            while not parts.jobs.compile_pool.pids() and time.monotonic() < end:
                time.sleep(0.02)
            assert parts.jobs.compile_pool.busy == 1
        while not parts.jobs.compile_pool.replaced and time.monotonic() < end:
            time.sleep(0.02)
        assert parts.jobs.compile_pool.replaced == 1
