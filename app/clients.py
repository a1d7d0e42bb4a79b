"""Who asks: a client is an address, with the page's anonymous token or the connection.

An IPv6 address counts by its /64, which one household or one machine has all of. The token is a
random number that a page makes for itself and forgets when it is closed: it tells the people
behind one address apart, and says nothing else about them. A script that sends none is told apart
by its connection. Both cost nothing to make, so that what counts by client must be bounded by
address as well.

Who sends a key that the server's owner has given out is at an address of its own, wherever it is: a
grader has what it needs, and takes nothing from those around it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from ipaddress import IPv6Address, ip_address, ip_network

from flask import Request, current_app

from app.errors import AppError

TOKEN_HEADER = "X-Stridescope-Page"
KEY_HEADER = "X-Stridescope-Key"
FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-Ip")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
_PORT = re.compile(r":\d*$")


def client_key(request: Request) -> str:
    """The client that sent a request: its page, or else its connection."""
    page = page_key(request)
    connection = request.environ.get("REMOTE_PORT")
    return page if " " in page or not connection else f"{page} :{connection}"


def page_key(request: Request) -> str:
    """The page that sent a request: its address's key, and its token if it has one."""
    token = request.headers.get(TOKEN_HEADER, "")
    address = address_key(request)
    return f"{address} {token}" if _TOKEN.fullmatch(token) else address


def key_of(request: Request) -> str:
    """The server's key that a request has; "" for none. AppError for one that is not known."""
    given = request.headers.get(KEY_HEADER, "")
    if not given:
        return ""
    known = [key.strip() for key in str(current_app.config["KEYS"]).split(",") if key.strip()]
    if not any(hmac.compare_digest(given.encode(), key.encode()) for key in known):
        message = f"The key in `{KEY_HEADER}` is none of this server's."
        raise AppError("usage", message, 403, "Whoever runs the server gives keys out.")
    return given


def address_key(request: Request) -> str:
    """The address that a request came from, an IPv6 one as its /64; `-` where there is none.

    Of who has a key that, without its secret. AppError as `key_of`.
    """
    if key := key_of(request):
        return f"key-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return "-"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(ip_network((int(address), 64), strict=False))
    return str(address)


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine itself, and through no proxy.

    A proxy's own requests come from this machine as well; the headers that it adds, and the name
    that its users asked for, tell them apart.
    """
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    forwarded = any(name in request.headers for name in FORWARDED)
    return address.is_loopback and not forwarded and host_name(request) in LOOPBACK_NAMES


def host_name(request: Request) -> str:
    """The name that the client asked for, in lower case and without its port."""
    return _PORT.sub("", request.headers.get("Host", "").lower()).removesuffix(".")
