"""Identify clients by address and token or connection.

An IPv6 address counts by its /64, which belongs to one household or one machine. The token is a
random number that a page makes for itself and forgets when it is closed: it distinguishes the
people behind one address, and says nothing else about them. A script without a token is
distinguished by its connection. Both cost nothing to make, so every limit by client needs a limit
by address as well.

A client with a key from the server's owner counts as an address of its own: a grader has what it
needs, and takes nothing from its neighbours.
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
    """Return the client of a request: its page, or else its connection."""
    page = page_key(request)
    connection = request.environ.get("REMOTE_PORT")
    return page if " " in page or not connection else f"{page} :{connection}"


def page_of(client: str) -> str:
    """The page of a client: a connection is of the page of its address."""
    return client.partition(" :")[0]


def page_key(request: Request) -> str:
    """Return the page of a request: its address's key, and its token if it has one."""
    token = request.headers.get(TOKEN_HEADER, "")
    address = address_key(request)
    return f"{address} {token}" if _TOKEN.fullmatch(token) else address


def key_of(request: Request) -> str:
    """Return the server's key in a request; "" for none. AppError for an unknown one."""
    given = request.headers.get(KEY_HEADER, "")
    if not given:
        return ""
    known = [key.strip() for key in str(current_app.config["KEYS"]).split(",") if key.strip()]
    if not any(hmac.compare_digest(given.encode(), key.encode()) for key in known):
        message = f"The key in `{KEY_HEADER}` is not a key of this server."
        raise AppError("usage", message, 403, "Ask the operator of the server for a key.")
    return given


def address_key(request: Request) -> str:
    """Return the address of a request, an IPv6 one as its /64; `-` where there is none.

    A client with a key has a hash of that as its address. AppError as `key_of`.
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
    """Return True if a request comes from this machine itself, and through no proxy.

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
    """Return the requested host name, in lower case and without its port."""
    return _PORT.sub("", request.headers.get("Host", "").lower()).removesuffix(".")
