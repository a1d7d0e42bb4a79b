"""Starts gunicorn (gthread) with this application, as `stridescope serve` does."""

from __future__ import annotations

from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from app import create_app
from app.settings import from_environment


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn with settings from here instead of its command line.

    One process: the worker pools belong to it; compiling happens in the workers, not here.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        """Hand the options to gunicorn."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application, in the serving process."""
        return create_app()


def serve(host: str = "127.0.0.1", port: int = 8000, quiet: bool = False) -> None:
    """Serve until interrupted."""
    settings = from_environment()
    if not quiet:
        print(f"Stridescope is at http://{host}:{port}", flush=True)  # noqa: T201
    Server(
        {
            "bind": f"{host}:{port}",
            "worker_class": "gthread",
            "workers": 1,
            "threads": int(settings["THREADS"]),
            "timeout": 120,
            "graceful_timeout": 3,
            "loglevel": "warning",
            "proc_name": "stridescope",
        }
    ).run()
