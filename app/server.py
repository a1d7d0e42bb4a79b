"""Start gunicorn with this application, as `stridescope serve` does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from app.context import EXTENSION
from app.factory import create_app
from app.intake import CONNECTIONS, Intake
from app.settings import PREFIX, from_environment, public_address, request_threads
from compiler.protocol.kinds import Json
from compiler.sandbox import kernel, scratch, walls

EVERYWHERE = ("0.0.0.0", "::", "")

GRACE = 2.0
"""Seconds for running jobs when the server is told to stop."""


class Serving(Intake):
    """The serving process. When told to stop, it ends its jobs, which may not end by themselves."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Handle SIGTERM: short jobs may end."""
        self._close(GRACE)
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Handle SIGINT or SIGQUIT."""
        self._close(0.0).join(GRACE)
        super().handle_quit(sig, frame)

    def _close(self, grace: float) -> threading.Thread:
        """Close in a thread, because the interrupted one may hold a pool's lock."""
        close = self.wsgi.extensions[EXTENSION].close
        thread = threading.Thread(target=close, args=(grace,))
        thread.start()
        return thread


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn, configured from here instead of its command line.

    One process: the worker pools belong to it; compiling happens in the workers, not here.
    """

    def __init__(self, options: Json, config: Json) -> None:
        self._options = options
        self._config = config
        super().__init__()

    def load_config(self) -> None:
        """Pass the options to gunicorn."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application in the serving process, after removing leftovers of a killed one."""
        scratch.sweep()
        with suppress(OSError):
            kernel.give_back_memory()
        return create_app(self._config)


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    quiet: bool = False,
    config: Mapping[str, Any] | None = None,
) -> None:
    """Serve until interrupted. The address that it listens on counts as a name of the server.

    `config` changes settings, as it does for `create_app`.
    """
    settings = {**from_environment(), **(config or {})}
    listens = f"[{host}]" if ":" in host else host
    if host in EVERYWHERE and not settings["HOSTS"]:
        names = "127.0.0.1 and localhost alone"
        print(f"It answers to {names}: {PREFIX}HOSTS names others.", flush=True)  # noqa: T201
    if not quiet:
        print(f"Stridescope is at http://{listens}:{port}", flush=True)  # noqa: T201
    for words in walls.state().missing:
        print(f"Not confined as it should be: {words}", flush=True)  # noqa: T201
    Server(
        {
            "bind": f"{listens}:{port}",
            "worker_class": Serving,
            "workers": 1,
            "threads": request_threads(settings),
            "worker_connections": CONNECTIONS,
            "timeout": 120,
            "graceful_timeout": int(GRACE) + 2,
            "loglevel": "warning",
            "forwarder_headers": "",  # no client says below which path this server lies
            "proc_name": "stridescope",
        },
        {
            **(config or {}),
            "HOSTS": f"{settings['HOSTS']},{listens}",
            "ADDRESS": public_address(settings, f"{listens}:{port}"),
        },
    ).run()
