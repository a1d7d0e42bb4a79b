"""An application with the fake worker, for all tests of the server."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.context import EXTENSION, Parts
from app.worker import COMMAND
from tests.app.fake_worker import MANIFEST

FAKE = Path(__file__).parent / "fake_worker.py"
SOURCE = "-- A test\nentry main (xs: []i64) = map (+1) xs\n"

MakeApp = Callable[..., Flask]


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[MakeApp]:
    """Makes applications with settings of their own, and stops their workers."""
    made: list[Flask] = []

    def make(**config: Any) -> Flask:
        settings = {
            "DATA": str(tmp_path / "data"),
            "WORKER_COMMAND": [sys.executable, str(FAKE)],
            "MANIFEST": MANIFEST,
            "COMPILE_WORKERS": 1,
            "WARM": False,
            "RATELIMIT": False,
            "COMPILE_SECONDS": 20.0,
            **config,
        }
        app = create_app(settings)
        made.append(app)
        return app

    yield make
    for app in made:
        parts: Parts = app.extensions[EXTENSION]
        parts.jobs.close()


@pytest.fixture
def real_app(make_app: MakeApp) -> Flask:
    """An application whose workers are the compiler."""
    app = make_app(WORKER_COMMAND=COMMAND, WARM=True, COMPILE_SECONDS=60.0)
    app.config["MANIFEST"] = None
    return app


@pytest.fixture
def client(make_app: MakeApp) -> FlaskClient:
    """A client of an application with ordinary settings."""
    return make_app().test_client()
