"""Detect whether the client of a request is still there."""

from __future__ import annotations

import select
from collections.abc import Callable

from compiler.protocol.kinds import Json

SOCKETS = ("gunicorn.socket", "werkzeug.socket")
"""Keys under which servers expose a request's connection."""
_HALF = getattr(select, "POLLRDHUP", 0)


def left(environ: Json) -> Callable[[], bool]:
    """Return a thread-safe test whether the client has closed its connection or its half of it.

    A client that has closed its sending side counts as gone, as for reverse proxies. If the server
    does not expose the connection, clients never count as gone.
    """
    connection = next((environ[name] for name in SOCKETS if name in environ), None)
    if connection is None or not hasattr(select, "poll"):
        return lambda: False

    def gone() -> bool:
        number = connection.fileno()
        if number < 0:
            return True  # it is closed here, and that number may be another connection's
        poll = select.poll()  # which one thread at a time may use: each call has its own
        poll.register(number, _HALF)  # errors and a closed connection are told in any case
        return bool(poll.poll(0))

    return gone
