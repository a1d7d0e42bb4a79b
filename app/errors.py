"""The JSON error shape, and the exception that carries one; `error_pages.py` answers with it.

    {"ok": false, "error": {"kind": "...", "message": "...", "hint": "...", "span": [..] | null}}

Kinds are those of the worker protocol, and `busy` for a full queue or too many requests, `usage`
for an invalid request, `unavailable` for a missing service, `gone` where nobody waits any more. An
error in a program is an ordinary answer (status 200); errors of a request or of the server have
other statuses.
"""

from __future__ import annotations

from typing import Any

from compiler.protocol.kinds import Json

STATUS = {"gone": 499, "busy": 503, "timeout": 504, "internal": 500}
"""HTTP statuses of failed answers; every other kind is 200."""
MISDIRECTED = 421
"""The status for a host name that is not the server's."""
BROKEN = "The cause is a defect of Stridescope, not your program."


class AppError(Exception):
    """A request that is answered by an error."""

    def __init__(
        self, kind: str, message: str, status: int = 400, hint: str = "", **more: Any
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.hint = hint
        self.more = more
        self.headers: dict[str, str] = {}

    def shape(self) -> Json:
        """Return the JSON error shape."""
        return failure(self.kind, self.message, self.hint, **self.more)


def failure(kind: str, message: str, hint: str = "", **more: Any) -> Json:
    """Return the JSON error shape of one error."""
    error = {"kind": kind, "message": message, "hint": hint, "span": None, **more}
    return {"ok": False, "error": error}


def status_of(answer: Json) -> int:
    """Return the HTTP status of a worker's answer."""
    if answer.get("ok"):
        return 200
    return STATUS.get(str(answer.get("error", {}).get("kind")), 200)
