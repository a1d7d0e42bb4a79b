"""Gunicorn's threaded worker, changed to give threads only complete requests.

Gunicorn gives each connection a thread, which then waits for the client. A few clients that send
half a request occupy all threads. Here the event loop for all connections collects head and body,
with deadlines and bounds, and a request goes to a thread when it is complete; so a thread waits for
a client only while writing, and there the kernel times out a client that reads nothing. Closing,
too, waits for the client in the loop and not in the thread.

A follower's poll of a lecture waits here as well, parked without a thread, until there is news, or
for `PARK_SECONDS`. If it cannot be parked it is answered at once.

Without proxies one address has half of the threads, of the parked and of all connections at most.
Behind proxies all connections come from them, and these have to limit clients.
"""

from __future__ import annotations

import errno
import json
import re
import selectors
import socket
import struct
import time
from collections import Counter, deque
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.http.errors import (  # type: ignore[import-untyped]
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

from app.bodies import longest
from app.context import EXTENSION
from app.errors import BROKEN, failure

HEAD_LIMIT = 1 << 16
"""Bytes of a request's line and headers."""
INCOMING_LIMIT = 250
"""Incomplete requests at a time; beyond that the oldest is dropped."""
INCOMING_BYTES = 64 << 20
"""Bytes of incomplete requests; beyond that the largest is dropped."""
LONG = 1 << 18
"""Bytes above which a request counts as long until it is answered."""
LONG_BYTES = 48 << 20
"""Bytes of all long requests that arrive and are answered; one address has half of them."""
SOCKET_SECONDS = 10
"""Seconds without progress of a write. (A read, too: a thread has nothing to read.)"""
ANSWER_SECONDS = 300.0
"""Seconds after which a client still reading its answer is cut off."""
LINGER_SECONDS = 2.0
LINGER_LIMIT = 100
CONNECTIONS = 600
"""Connections; with lingering ones fewer than the usual limit of 1024 open files."""
PARKED_LIMIT = 240
PARK_SECONDS = 20.0

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*(\d+)[ \t]*\r?$")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding[ \t]*:")
_NEWER = re.compile(rb"GET /api/lecture/([\w-]{1,64})\?after=(\d{1,9}) HTTP/1\.[01]\r\n")
_EXPECT = re.compile(rb"(?im)^expect[ \t]*:[ \t]*100-continue[ \t]*\r?$")


_STATUS = {
    LimitRequestLine: "414 URI Too Long",
    LimitRequestHeaders: "431 Request Header Fields Too Large",
}


def _refusal(status: str, kind: str, message: str) -> bytes:
    """Format an answer of one error, after which the connection closes."""
    body = json.dumps(failure(kind, message)).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Connection(TConn):  # type: ignore[misc]
    """A client's connection, with the received part of its next request."""

    def __init__(self, worker: Intake, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(worker.cfg, sock, client, server)
        self.worker = worker
        self.peer = str(client[0]) if isinstance(client, tuple) else ""
        self.until = 0.0
        """Deadline of the current wait, by the monotonic clock."""
        self.data = bytearray()
        self.needed = 0
        """Bytes of the whole request; 0 while its head is incomplete."""
        self.weight = 0
        """Bytes of a long request until it is answered."""

    def close(self, graceful: bool = False) -> None:
        """Close at once, or after the client has closed its side: else it may miss the end."""
        self.worker.forget(self)
        if graceful:
            self.worker.linger(self)
        else:
            super().close()


class Intake(ThreadWorker):  # type: ignore[misc]
    """A worker process: one event loop, and threads that answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.max_keepalived = max(1, self.worker_connections - self.cfg.threads - INCOMING_LIMIT)
        self.incoming: dict[Connection, None] = {}
        self.gathered = 0
        self.answering: dict[Connection, None] = {}
        self.lingering: dict[Connection, None] = {}
        self.parked: dict[Connection, str] = {}
        """Parked connections, with the lecture that they wait for."""
        self.peers: Counter[str] = Counter()
        self.busy: Counter[str] = Counter()
        self.held: dict[str, deque[Connection]] = {}
        self.weights: Counter[str] = Counter()

    def load_wsgi(self) -> None:
        """Load the application, whose settings give the timeouts."""
        super().load_wsgi()
        config = self.wsgi.config
        self.head_seconds = float(config["HEAD_SECONDS"])
        self.body_seconds = float(config["BODY_SECONDS"])
        direct = not config["PROXIES"]
        self.share = 2 if direct else 1
        self.peer_threads = max(1, self.cfg.threads // self.share)
        self.peer_connections = max(1, self.worker_connections // self.share)
        self.peer_parked = PARKED_LIMIT // self.share
        self.lectures = self.wsgi.extensions[EXTENSION].lectures
        self.lectures.listen(lambda name: self.method_queue.defer(self._wake, name))

    # --- connections -------------------------------------------------------------------------

    def accept(self, listener: Any) -> None:
        """Accept a connection, unless its peer has too many."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and self.incoming:
                self._drop(next(iter(self.incoming)))
            return
        conn = Connection(self, sock, client, listener.getsockname())
        if self.peers[conn.peer] >= self.peer_connections:
            sock.close()
            return
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", SOCKET_SECONDS, 0))
        self.peers[conn.peer] += 1
        self.nr_conns += 1
        self.enqueue_req(conn)

    def forget(self, conn: Connection) -> None:
        """Stop counting a connection."""
        self._lighten(conn)
        self.peers[conn.peer] -= 1
        if not self.peers[conn.peer]:
            del self.peers[conn.peer]

    def enqueue_req(self, conn: Connection) -> None:
        """Collect the connection's next request, part of which may have arrived."""
        conn.data, conn.needed = bytearray(), 0
        conn.until = time.monotonic() + self.head_seconds
        conn.sock.setblocking(False)
        self.incoming[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._receive, conn))
        if conn.initialized:
            self._took(conn, conn.parser.unreader.take_buffered())
        if len(self.incoming) > INCOMING_LIMIT:
            self._drop(next(iter(self.incoming)))

    # --- requests that arrive ----------------------------------------------------------------

    def _receive(self, conn: Connection, sock: socket.socket) -> None:
        try:
            piece = sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if piece:
            self._took(conn, piece)
        else:
            self._drop(conn)

    def _took(self, conn: Connection, piece: bytes) -> None:
        """Add received data; continue to an answer when the request is complete."""
        conn.data += piece
        self.gathered += len(piece)
        if not conn.needed:
            self._look_for_head(conn)
        if conn.needed and len(conn.data) >= conn.needed:
            self._complete(conn)
        while self.gathered > INCOMING_BYTES:
            self._drop(max(self.incoming, key=lambda one: len(one.data)))

    def _look_for_head(self, conn: Connection) -> None:
        while conn.data.startswith(b"\r\n"):  # empty lines before a request mean nothing
            del conn.data[:2]
            self.gathered -= 2
        end = conn.data.find(_END, 0, HEAD_LIMIT)
        if end < 0:
            if len(conn.data) > HEAD_LIMIT:
                self._refuse(
                    conn,
                    "431 Request Header Fields Too Large",
                    "The request's headers are too long.",
                )
            return
        head = bytes(conn.data[: end + 2])
        length = max(map(int, _LENGTH.findall(head)), default=0)
        if _CHUNKED.search(head):
            self._refuse(
                conn, "411 Length Required", "The request needs a `Content-Length` header."
            )
        elif length > self._longest(head):
            self._refuse(conn, "413 Content Too Large", "The request is too large.")
        elif not self._has_room(conn, length):
            words = "The server is receiving too many long requests. Try again in a moment."
            self._refuse(conn, "503 Service Unavailable", words, "busy")
        else:
            conn.needed = end + len(_END) + length
            conn.until = time.monotonic() + self.body_seconds
            if len(conn.data) < conn.needed and _EXPECT.search(head):
                with suppress(OSError):
                    conn.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _has_room(self, conn: Connection, length: int) -> bool:
        """Return True if a long request fits the bounds; then count it."""
        if length <= LONG:
            return True
        if (
            self.weights.total() + length > LONG_BYTES
            or self.weights[conn.peer] + length > LONG_BYTES // self.share
        ):
            return False
        conn.weight = length
        self.weights[conn.peer] += length
        return True

    def _lighten(self, conn: Connection) -> None:
        """Stop counting a long request."""
        self.weights[conn.peer] -= conn.weight
        conn.weight = 0
        if not self.weights[conn.peer]:
            del self.weights[conn.peer]

    def _longest(self, head: bytes) -> int:
        """Return the bytes that the request's operation allows."""
        path = head.split(b" ", 2)[1:2]
        return longest(path[0].decode("latin-1"), self.wsgi.config) if path else 0

    def _leave(self, conn: Connection) -> None:
        """Stop reading from a connection."""
        del self.incoming[conn]
        self.gathered -= len(conn.data)
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)

    def _drop(self, conn: Connection) -> None:
        self._leave(conn)
        self.nr_conns -= 1
        conn.close()

    def _refuse(self, conn: Connection, status: str, message: str, kind: str = "usage") -> None:
        self._leave(conn)
        self.nr_conns -= 1
        with suppress(OSError):
            conn.sock.send(_refusal(status, kind, message))
        conn.close(graceful=True)

    # --- whole requests ----------------------------------------------------------------------

    def _complete(self, conn: Connection) -> None:
        self._leave(conn)
        conn.init()
        conn.parser.unreader.unread(bytes(conn.data))
        asked = _NEWER.match(conn.data)
        conn.data = bytearray()
        if asked is not None and self._may_park(conn):
            name = asked[1].decode()
            if self.lectures.nothing_new(name, int(asked[2])):
                self._park(conn, name)
                return
        self._start(conn)

    def _start(self, conn: Connection) -> None:
        """Give a request a thread, or hold it until its peer has a free one."""
        if self.busy[conn.peer] >= self.peer_threads:
            self.held.setdefault(conn.peer, deque()).append(conn)
            return
        self.busy[conn.peer] += 1
        conn.until = time.monotonic() + ANSWER_SECONDS
        self.answering[conn] = None
        super().enqueue_req(conn)

    def finish_request(self, conn: Connection, done: Any) -> None:
        """Continue with a connection whose request was answered."""
        del self.answering[conn]
        self._lighten(conn)
        self.busy[conn.peer] -= 1
        if not self.busy[conn.peer]:
            del self.busy[conn.peer]
        super().finish_request(conn, done)
        if conn.peer in self.held:
            waiting = self.held[conn.peer]
            following = waiting.popleft()
            if not waiting:
                del self.held[conn.peer]
            self._start(following)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """Answer parse errors and failures of Gunicorn in the error shape."""
        theirs = isinstance(exc, ParseException)
        status = (
            _STATUS.get(type(exc), "400 Bad Request") if theirs else "500 Internal Server Error"
        )
        message = f"The request is malformed: {exc}"[:300] if theirs else BROKEN
        if theirs:
            self.log.warning("a request that cannot be read: %s", type(exc).__name__)
        else:
            self.log.exception("an error outside of the application")
        with suppress(OSError):
            client.send(_refusal(status, "usage" if theirs else "internal", message))

    # --- followers who wait --------------------------------------------------------------------

    def _may_park(self, conn: Connection) -> bool:
        peers = sum(one.peer == conn.peer for one in self.parked)
        return self.alive and len(self.parked) < PARKED_LIMIT and peers < self.peer_parked

    def _park(self, conn: Connection, name: str) -> None:
        conn.until = time.monotonic() + PARK_SECONDS
        conn.sock.setblocking(False)
        self.parked[conn] = name
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._stirred, conn))

    def _unpark(self, conn: Connection) -> None:
        del self.parked[conn]
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)

    def _stirred(self, conn: Connection, sock: socket.socket) -> None:
        """Handle a parked connection that has closed, or sent more."""
        if conn not in self.parked:
            return
        self._unpark(conn)
        try:
            left = not sock.recv(1, socket.MSG_PEEK)
        except OSError:
            left = True
        if left:
            self.nr_conns -= 1
            conn.close()
        else:
            self._start(conn)

    def _wake(self, name: str) -> None:
        """Answer all who wait for news of a lecture."""
        for conn in [one for one, lecture in self.parked.items() if lecture == name]:
            self._unpark(conn)
            self._start(conn)

    # --- the clock ---------------------------------------------------------------------------

    def murder_pending(self) -> None:
        """Handle all connections past their deadline."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [one for one in self.incoming if one.until < now]:
            if conn.data:
                self._refuse(conn, "408 Request Timeout", "The request did not arrive in time.")
            else:
                self._drop(conn)
        for conn in [one for one in self.parked if one.until < now or not self.alive]:
            self._unpark(conn)
            self._start(conn)
        for conn in [one for one in self.lingering if one.until < now]:
            self._linger_no_more(conn)
        for conn in [one for one in self.answering if one.until < now]:
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RDWR)

    def linger(self, conn: Connection) -> None:
        """Close the sending side, and read until the client closes as well."""
        conn.until = time.monotonic() + LINGER_SECONDS
        self.lingering[conn] = None
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._discard, conn))
        except (OSError, ValueError):
            self._linger_no_more(conn)
        if len(self.lingering) > LINGER_LIMIT:
            self._linger_no_more(next(iter(self.lingering)))

    def _discard(self, conn: Connection, sock: socket.socket) -> None:
        try:
            if sock.recv(1 << 16):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._linger_no_more(conn)

    def _linger_no_more(self, conn: Connection) -> None:
        del self.lingering[conn]
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        with suppress(OSError):
            conn.sock.close()
