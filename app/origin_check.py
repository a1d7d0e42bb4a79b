"""Check host names and origins: only the server's own page may make it work.

A browser sends requests on behalf of every page that it shows. A page of another site may post to a
server on the reader's own machine (and cannot read the answer), and a name that its owner points at
127.0.0.1 makes the server part of that page's own origin (and then it can). So the requested name
must be one of the server's, and requests for work must be JSON, which no page can send to another
site without a preflight, and must not come from another origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Request, request

from app.clients import LOOPBACK_NAMES, host_name, key_of
from app.errors import MISDIRECTED, AppError
from compiler.protocol.kinds import Operation

READING = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITES = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site` for the server's own page, and for the address bar."""
OF_ONES_OWN = {
    "unsafe": "it removes the checks that keep a program inside its arrays",
    "sanitize": "a program under sanitisers runs without a sandbox",
}
"""Options for one's own machine, with the reason why a server refuses them."""
INTERPRETED = frozenset({"flow", "listing", "validity"})
"""Operations that count as runs, but start no program of the user's."""
FORMS = frozenset({"links.forget"})
"""Routes for forms of pages without JavaScript: no other site's page knows the key in them."""
PIECES = frozenset({"uploads.add", "uploads.forget"})
"""Routes that take no JSON, by methods for which a browser asks first, as for JSON."""
PORTS = {"http": 80, "https": 443}


def install(app: Flask) -> None:
    """Check every request before it is answered."""
    known = answers_to(app.config["HOSTS"].split(","))

    @app.before_request
    def check() -> None:
        if not known(host_name(request)):
            raise AppError(
                "usage",
                f"This server does not answer to the name `{host_name(request)[:100]}`.",
                MISDIRECTED,
                "Its operator lists its names in STRIDESCOPE_HOSTS.",
            )
        if request.method not in READING:
            check_origin(request)
        key_of(request)


def answers_to(names: Iterable[str]) -> Callable[[str], bool]:
    """Return a test for the server's names: one of these, below a `.name`, or this machine's."""
    given = {name.strip().lower().removesuffix(".") for name in names} - {""}
    suffixes = tuple(name for name in given if name.startswith("."))
    exact = {*given, *LOOPBACK_NAMES}.difference(suffixes)
    return lambda host: host in exact or (host.endswith(suffixes) and not host.startswith("."))


def check_origin(request: Request) -> None:
    """Raise AppError if a request for work was sent by another site's page."""
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    origin = request.headers.get("Origin")
    if site not in OWN_SITES or (origin is not None and not _is_own(origin, request)):
        raise AppError(
            "usage",
            "A page of another site sent this request, so the server refused it.",
            403,
            "If the server is behind a proxy, the proxy must forward the `Host` header unchanged.",
        )
    if request.endpoint not in FORMS | PIECES and request.mimetype != "application/json":
        message = "The request's Content-Type must be application/json."
        raise AppError("usage", message, 415)


def _is_own(origin: str, request: Request) -> bool:
    """Return True if the page's origin is the server, ignoring the scheme.

    Its scheme is left to `Sec-Fetch-Site`.

    A proxy in front, which terminates https, hides the scheme. `Sec-Fetch-Site` covers it.
    """
    try:
        page = urlsplit(origin)
        port = page.port or PORTS[page.scheme]
        own = urlsplit(f"{page.scheme}://{request.headers.get('Host', '')}")
        return (page.hostname, port) == (own.hostname, own.port or PORTS[page.scheme])
    except (ValueError, KeyError):
        return False


def refuse_native(op: Operation[Any], fields: Mapping[str, Any]) -> None:
    """Raise AppError for a native run of an edited stage; interpreters may run it.

    Its checks may be missing, as with `unsafe`.
    """
    edited = fields.get("options", {}).get("edited")
    if not edited or not op.runs or op.id in INTERPRETED:
        return
    if fields.get("backend", getattr(op.request, "backend", None)) != "ref":
        raise AppError(
            "usage",
            "On this server only the reference interpreter runs an edited stage: the "
            "edit may have removed the checks that keep a program inside its arrays.",
            403,
            "Choose the reference interpreter, or use `stridescope run --from-stage` "
            "on your own machine.",
        )


def refuse_unsafe(options: Mapping[str, Any]) -> None:
    """Raise AppError for an option that drops checks or walls."""
    for name, why in OF_ONES_OWN.items():
        if options.get(name):
            raise AppError(
                "usage",
                f"This server refuses the option `{name}`: {why}.",
                403,
                f"Use `stridescope run --{name}` on your own machine.",
            )
