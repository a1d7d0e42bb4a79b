"""Rate limits per address, one for each class of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

CLASSES = {"run": "LIMIT_RUN", "validity": "LIMIT_RUN", "share": "LIMIT_SHARE"}


class Limits:
    """The limiter, set up from the application's settings."""

    def __init__(self, app: Flask) -> None:
        self._limiter = Limiter(
            get_remote_address,
            app=app,
            storage_uri="memory://",
            enabled=app.config["RATELIMIT"],
            headers_enabled=True,
        )
        self._checks: dict[str, Callable[[], Any]] = {
            name: self._limiter.shared_limit(app.config[name], scope=name)(_nothing)
            for name in ("LIMIT_COMPILE", "LIMIT_RUN", "LIMIT_SHARE")
        }

    def check(self, op: str) -> None:
        """Count one request; raises 429 beyond the limit."""
        self._checks[CLASSES.get(op, "LIMIT_COMPILE")]()


def _nothing() -> None:
    """What the limiter guards: the counting itself is the point."""
